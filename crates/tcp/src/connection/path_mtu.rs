//! Path MTU discovery: by reports of routers (RFC 1191, RFC 8201), if they are credible (RFC 5927 §7.2), and by probes
//! if routers send no reports (RFC 4821, RFC 8899).
//!
//! The MTU of the first link is known. The path MTU is at most as large, and it may change. There are three signs of
//! the path MTU:
//!
//! - **Packet Too Big.** A router drops the packet and reports the MTU of its next link. The quoted
//!   sequence number must be in flight, and the MTU must be smaller than a packet that was sent, but not
//!   smaller than the MTU of any real link. If packets of that length were acknowledged before, the
//!   message may be forged: it takes effect only when the segment times out, and is discarded if the
//!   segment is acknowledged.
//! - **A black hole.** Consecutive timeouts occur without any report (RFC 4821 §7.7). The segment size is
//!   reduced to a base that most paths can carry, and then to half of the base.
//! - **A probe.** If a probe is delivered, the segment size is increased. If only the probe is lost, its
//!   size is an upper bound for the search.
//!
//! ```text
//! search_low ≤ segment size ≤ search_high          probe = midpoint, until 8 bytes remain
//! ```
//!
//! A router's report is valid for ten minutes (RFC 1191 §6.3). Sizes in this file are segment sizes: the MTU minus the
//! headers and the options that every segment carries.

use alloc::boxed::Box;

use super::engine::Engine;
use super::icmp::PathCounters;
use super::{Connection, MIN_SEND_MSS};
use crate::recovery::Phase;
use crate::sender::{CutRule, ProbeAttempt, ProbeOutcome, Transmit};
use crate::time::{Duration, Instant};

/// IPv4 and TCP headers without options, in bytes.
pub const HEADERS_IPV4: u16 = 40;

/// IPv6 and TCP headers without options, in bytes.
pub const HEADERS_IPV6: u16 = 60;

/// Minimum MTU of every IPv6 link (RFC 8200 §5).
pub const LEAST_MTU_IPV6: u16 = 1280;

/// Minimum window for a probe, in segments (Linux, `tcp_mtu_probe`), so that enough segments follow the probe to show
/// its loss.
const PROBE_WINDOW_SEGMENTS: u32 = 11;

/// Factor by which the wait is longer after a probe that timed out than after a lost probe (RFC 4821 §7.6.3).
const TIMED_OUT_FACTOR: u64 = 5;

/// Parameters of path MTU discovery. [`PathMtuConfig::IPV4`] and [`PathMtuConfig::IPV6`] have the values of the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathMtuConfig {
    /// Size of the IP and TCP headers without options, in bytes.
    pub headers: u16,
    /// Rule for accepting Packet Too Big messages.
    pub too_big: TooBigRule,
    /// Minimum reported MTU that is accepted, in bytes. Smaller reports may be correct, but segments would then have
    /// more headers than data, and many such messages are forged (RFC 5927 §7.1). The value for IPv4 is that of Linux
    /// (`net.ipv4.route.min_pmtu`, 552); IPv6 links have at least 1280.
    pub least_believed: u16,
    /// Retransmission of segments that were too long.
    pub cut: CutRule,
    /// Lifetime of a router's report (RFC 1191 §6.3: 10 min).
    pub lifetime: Duration,
    /// MTU that is known from an earlier connection.
    pub known: Option<KnownMtu>,
    /// Rule for probing the path.
    pub probing: ProbingRule,
    /// MTU that is assumed to be safe, in bytes: the initial `search_low` (RFC 4821 §7.2: 1024; RFC 8899 §5.1.2:
    /// BASE_PLPMTU).
    pub base: u16,
    /// Minimum MTU after consecutive timeouts, in bytes (RFC 4821 §7.7: 68, and 1280 for IPv6).
    pub least: u16,
    /// Width of the search range, in bytes, below which the search ends (Linux, `tcp_probe_threshold`: 8).
    pub converged: u16,
    /// Time after the end of a search until the next one (RFC 4821 §7.3: 10 min; RFC 8899 §5.1.1: PMTU_RAISE_TIMER).
    pub raise_after: Duration,
    /// Number of consecutive timeouts that are treated as a black hole: R1 of RFC 1122 §4.2.3.5, at least three.
    pub black_hole_timeouts: u32,
    /// Minimum time from the first of these timeouts to the last (Linux uses only this time, `retransmits_timed_out`).
    pub black_hole_after: Duration,
}

/// Rule for accepting a Packet Too Big message that quotes a segment in flight and reports a plausible MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooBigRule {
    /// The message is ignored.
    Never,
    /// The message takes effect at once (RFC 1191; Linux, `tcp_v4_mtu_reduced`).
    AtOnce,
    /// The message takes effect at once if no longer packet was acknowledged before; otherwise, when the quoted segment
    /// times out (RFC 5927 §7.2, with MAXSEGRTO = 1).
    Guarded,
}

/// Rule for probing the path for a larger MTU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbingRule {
    /// The path is never probed, and consecutive timeouts have no effect (Linux's default: `tcp_mtu_probing` 0).
    #[default]
    Off,
    /// Probes are sent once consecutive timeouts show a black hole (`tcp_mtu_probing` 1).
    BlackHole,
    /// Probes are sent from the start, and the segment size starts at the base MTU (`tcp_mtu_probing` 2).
    Always,
}

/// Path MTU and its time of validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownMtu {
    /// MTU in bytes.
    pub mtu: u16,
    /// Time until which the MTU is valid.
    pub until: Instant,
}

impl PathMtuConfig {
    /// Values of the RFCs for IPv4.
    pub const IPV4: Self = Self {
        headers: HEADERS_IPV4,
        too_big: TooBigRule::Guarded,
        least_believed: 552,
        cut: CutRule::SlowStart,
        lifetime: Duration::from_secs(600),
        known: None,
        probing: ProbingRule::BlackHole,
        base: 1024,
        least: 68,
        converged: 8,
        raise_after: Duration::from_secs(600),
        black_hole_timeouts: 3,
        black_hole_after: Duration::ZERO,
    };

    /// Values of the RFCs for IPv6.
    pub const IPV6: Self = Self::IPV4.over_ipv6();

    /// Returns these values for IPv6, whose links have an MTU of at least 1280 bytes.
    #[must_use]
    pub const fn over_ipv6(self) -> Self {
        Self {
            headers: HEADERS_IPV6,
            least_believed: LEAST_MTU_IPV6,
            base: if self.base < LEAST_MTU_IPV6 {
                LEAST_MTU_IPV6
            } else {
                self.base
            },
            least: LEAST_MTU_IPV6,
            ..self
        }
    }
}

/// State of path MTU discovery.
#[derive(Clone, Debug)]
pub(super) struct PathMtu {
    /// Largest segment that the link and the peer permit, in bytes.
    most: u32,
    /// Size of the headers of every segment, in bytes.
    headers: u32,
    /// Size of the options of every segment, in bytes.
    options: u32,
    /// Segment size that a router has reported, and the time until which it is valid.
    told: Option<(u32, Instant)>,
    /// Length of the longest segment sent, and the offset of its end.
    sent: (u32, u64),
    /// Length of the longest segment that is known to be acknowledged (RFC 5927 §7.2: maxsizeacked).
    acked: u32,
    /// Message that has not yet taken effect.
    pending: Option<Pending>,
    /// Number of retransmission timeouts that were already examined.
    timeouts: u64,
    /// Time of the first of the consecutive timeouts.
    timeouts_since: Instant,
    /// Search; `None` if the path is not probed.
    search: Option<Box<Search>>,
}

/// Pending Packet Too Big message (RFC 5927 §7.2).
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Segment size according to the message.
    len: u32,
    /// Offset of the quoted byte.
    offset: u64,
}

/// Search for the largest segment that the path can carry (RFC 4821 §7.1 and §7.3).
#[derive(Clone, Copy, Debug)]
struct Search {
    low: u32,
    high: u32,
    /// Length of the last probe.
    probe: u32,
    /// Time before which no probe is sent (§7.6.2).
    not_before: Instant,
    /// Time since which the search is over.
    converged_at: Option<Instant>,
}

/// Action to take instead of the sender's next transmission.
#[derive(Clone, Copy, Debug)]
pub(super) enum PathTurn {
    /// No action.
    None,
    /// Send this probe.
    Probe(Transmit),
    /// Send no new data, so that the window soon permits a probe.
    Wait,
}

impl PathMtu {
    /// Returns the state for segments of at most `most` bytes with `options` bytes of options.
    pub(super) fn new(config: &PathMtuConfig, most: u32, options: u32) -> Self {
        Self {
            most,
            headers: u32::from(config.headers),
            options,
            told: None,
            sent: (0, 0),
            acked: 0,
            pending: None,
            timeouts: 0,
            timeouts_since: Instant::ZERO,
            search: None,
        }
    }

    /// Returns the segment size for an MTU, within the limits of link and peer. The minimum applies to segments
    /// including their options (Linux, `tcp_mtu_to_mss`).
    fn segment(&self, mtu: u32) -> u32 {
        mtu.saturating_sub(self.headers)
            .max(u32::from(MIN_SEND_MSS))
            .saturating_sub(self.options)
            .min(self.most)
    }

    /// Returns the size of headers and options, in bytes.
    const fn overhead(&self) -> u32 {
        self.headers + self.options
    }

    /// Records a transmission (RFC 5927 §7.2: maxsizesent).
    #[inline]
    pub(super) fn note_sent(&mut self, len: u32, end: u64, una: u64) {
        if len > self.sent.0 {
            self.acked = self.acked_by(una);
            self.sent = (len, end);
        }
    }

    /// Returns the length of the longest segment that is known to be acknowledged.
    fn acked_by(&self, una: u64) -> u32 {
        let (len, end) = self.sent;
        match una >= end {
            true => self.acked.max(len),
            false => self.acked,
        }
    }

    /// Returns `true` if an acknowledgment may have an effect.
    pub(super) const fn awaits_ack(&self) -> bool {
        self.pending.is_some()
    }

    /// Returns `true` if [`Engine::path_turn`] may have an effect.
    pub(super) const fn is_busy(&self) -> bool {
        self.told.is_some() || self.search.is_some()
    }
}

impl Search {
    /// Returns a search between the sizes `low` and `high`.
    const fn between(low: u32, high: u32, now: Instant) -> Self {
        Self {
            low,
            high,
            probe: 0,
            not_before: now,
            converged_at: None,
        }
    }

    /// Returns the length of the next probe, if a probe is due.
    fn next(&mut self, now: Instant, most: u32, config: &PathMtuConfig) -> Option<u32> {
        if self.high < self.low + u32::from(config.converged).max(1) {
            let since = *self.converged_at.get_or_insert(now);
            if now < since + config.raise_after || most <= self.high {
                return None;
            }
            self.high = most;
            self.converged_at = None;
        }
        (now >= self.not_before).then(|| self.low + (self.high - self.low).div_ceil(2))
    }
}

impl Engine {
    /// Sets the segment size of a new connection, from the known MTU or to the start of a search. Every segment has
    /// `reserved` bytes of options in addition to timestamps.
    pub(super) fn open_path(&mut self, now: Instant, reserved: u32, config: &PathMtuConfig) {
        self.path.options += reserved;
        let known = config.known.filter(|known| known.until > now);
        if let Some(KnownMtu { mtu, until }) = known {
            let len = self.path.segment(u32::from(mtu));
            if mtu >= config.least_believed && len < self.path.most {
                self.path.told = Some((len, until));
                self.sender.set_segment_size(now, len, config.cut);
            }
        }
        if config.probing == ProbingRule::Always {
            let high = self.sender.config().smss;
            let low = self.path.segment(u32::from(config.base)).min(high);
            self.path.search = Some(Box::new(Search::between(low, high, now)));
            self.sender.set_segment_size(now, low, config.cut);
        }
    }

    /// Processes a router's report that the packet of a segment in flight, which begins at `offset`, is longer than
    /// `mtu`. Returns `false` if the report is ignored.
    pub(super) fn packet_too_big(
        &mut self,
        now: Instant,
        mtu: u32,
        offset: u64,
        config: &PathMtuConfig,
        counters: &mut PathCounters,
    ) -> bool {
        let len = self.path.segment(mtu);
        let smss = self.sender.config().smss;
        if config.too_big == TooBigRule::Never || mtu < u32::from(config.least_believed) {
            return false;
        }
        if len >= smss {
            let again = self.path.told.is_some_and(|(told, _)| told == len);
            return again || self.probe_too_big(len);
        }
        if len >= self.path.sent.0 {
            // No segment of that length was sent (RFC 5927 §7.2).
            return false;
        }
        if config.too_big == TooBigRule::Guarded && len < self.path.acked_by(self.una()) {
            self.path.pending = Some(Pending { len, offset });
            counters.too_big_delayed += 1;
            return true;
        }
        counters.too_big += 1;
        self.shrink(now, len, config.cut, config);
        true
    }

    /// Processes a report that may be about a probe. Only a probe can be longer than the current segment size.
    fn probe_too_big(&mut self, len: u32) -> bool {
        match &mut self.path.search {
            Some(search) if self.sender.is_probing_path() && len < search.probe => {
                search.high = search.high.min(len.max(search.low));
                true
            }
            _ => false,
        }
    }

    /// Reduces the segment size to `len`.
    fn shrink(&mut self, now: Instant, len: u32, cut: CutRule, config: &PathMtuConfig) {
        let path = &mut self.path;
        path.told = Some((len, now + config.lifetime));
        path.sent = (0, 0);
        path.acked = len;
        path.pending = None;
        if let Some(search) = &mut path.search {
            search.high = len;
            search.low = search.low.min(len);
        }
        self.sender.set_segment_size(now, len, cut);
    }

    /// Processes an acknowledgment.
    pub(super) fn path_acknowledged(&mut self, now: Instant, counters: &mut PathCounters) {
        let una = self.una();
        if self
            .path
            .pending
            .is_some_and(|pending| una > pending.offset)
        {
            // The segment that was reported as too long has arrived.
            self.path.pending = None;
            counters.too_big_refuted += 1;
        }
        if self.sender.is_probing_path()
            && let Some(outcome) = self.sender.take_probe_outcome()
        {
            self.probe_ended(now, outcome, counters);
        }
    }

    /// Processes the outcome of a probe (RFC 4821 §7.6).
    fn probe_ended(&mut self, now: Instant, outcome: ProbeOutcome, counters: &mut PathCounters) {
        let smss = self.sender.config().smss;
        let flight = self.sender.scoreboard().flight_size();
        let window = flight.min(self.sender.window().whole_bytes());
        let rounds = window / u64::from(smss);
        let Some(search) = &mut self.path.search else {
            return;
        };
        // Simple estimate of the time until the next loss (§7.6.2): one round trip for each segment of the used window.
        let wait = self.sender.rtt().srtt().unwrap_or_default() * rounds.max(1);
        match outcome {
            ProbeOutcome::Delivered => {
                counters.probes_delivered += 1;
                let len = search.probe;
                search.low = len;
                search.high = search.high.max(len);
                self.sender.set_segment_size(now, len, CutRule::Window);
            }
            ProbeOutcome::Lost | ProbeOutcome::TimedOut => {
                counters.probes_lost += 1;
                search.high = search.high.min((search.probe - 1).max(search.low));
                search.not_before = now
                    + match outcome {
                        ProbeOutcome::Lost => wait,
                        _ => wait * TIMED_OUT_FACTOR,
                    };
            }
            ProbeOutcome::Inconclusive => {}
        }
    }

    /// Processes a retransmission timeout, if one occurred since the last call.
    pub(super) fn path_timed_out(
        &mut self,
        now: Instant,
        config: &PathMtuConfig,
        counters: &mut PathCounters,
    ) {
        let timeouts = self.sender.stats().timeouts;
        if timeouts == self.path.timeouts {
            return;
        }
        self.path.timeouts = timeouts;
        let in_a_row = self.sender.rtt().backoff();
        if in_a_row <= 1 {
            self.path.timeouts_since = now;
        }
        self.path_acknowledged(now, counters);
        if self.is_shut_out() && self.heard_at >= self.path.timeouts_since {
            // The peer responded with a closed window, so the segment has arrived.
            return;
        }
        if let Some(pending) = self.path.pending {
            // The quoted segment is not acknowledged, so the message takes effect (RFC 5927 §7.2).
            counters.too_big += 1;
            self.shrink(now, pending.len, CutRule::Window, config);
        } else if config.probing != ProbingRule::Off
            && in_a_row >= config.black_hole_timeouts
            && now.since(self.path.timeouts_since) >= config.black_hole_after
        {
            self.escape_black_hole(now, config, counters);
        }
    }

    /// Reduces the segment size, because segments of the current size are lost without a report (RFC 4821 §7.7; Linux,
    /// `tcp_mtu_probing`).
    fn escape_black_hole(
        &mut self,
        now: Instant,
        config: &PathMtuConfig,
        counters: &mut PathCounters,
    ) {
        counters.black_holes += 1;
        let smss = self.sender.config().smss;
        let base = self.path.segment(u32::from(config.base));
        let least = self.path.segment(u32::from(config.least));
        let high = self.path.told.map_or(self.path.most, |(len, _)| len);
        let low = match self.path.search.as_deref() {
            // The size is reduced to the size that is known to be safe, then to the base, which is assumed to be safe,
            // and then to half of the former size.
            Some(search) if smss > search.low => search.low,
            Some(search) if search.low <= base => (search.low / 2).max(least),
            _ => base,
        };
        let low = low.min(smss);
        self.path.search = Some(Box::new(Search::between(low, high.max(low), now)));
        self.path.sent = (0, 0);
        self.path.acked = 0;
        self.sender.set_segment_size(now, low, CutRule::Window);
    }

    /// Returns the action to take instead of the sender's next transmission. Discards an expired report of a router,
    /// and sends probes.
    pub(super) fn path_turn(
        &mut self,
        now: Instant,
        config: &PathMtuConfig,
        counters: &mut PathCounters,
    ) -> PathTurn {
        let most = self.path.most;
        if self.path.told.is_some_and(|(_, until)| until <= now) {
            self.path.told = None;
            if self.path.search.is_none() {
                self.sender.set_segment_size(now, most, CutRule::Window);
            }
        }
        let high = self.path.told.map_or(most, |(len, _)| len);
        if self.sender.is_probing_path() || !self.may_probe() {
            return PathTurn::None;
        }
        let Some(search) = &mut self.path.search else {
            return PathTurn::None;
        };
        let Some(len) = search.next(now, high, config) else {
            return PathTurn::None;
        };
        let smss = self.sender.config().smss;
        let after = (self.sender.stats().reordering() + 1) * smss;
        match self.sender.poll_probe(now, len, after) {
            ProbeAttempt::Sent(probe) => {
                search.probe = len;
                counters.probes += 1;
                PathTurn::Probe(probe)
            }
            ProbeAttempt::Waits => PathTurn::Wait,
            ProbeAttempt::Impossible => PathTurn::None,
        }
    }

    /// Returns `true` if the conditions of RFC 4821 §7.4 that do not depend on the probe hold: there is no sign of
    /// loss, and the window permits enough segments after the probe to show its loss at once. The receiver must not
    /// have gaps, because SACK blocks would change the segment size.
    fn may_probe(&self) -> bool {
        let sender = &self.sender;
        let calm = matches!(sender.phase(), Some(Phase::Open) | None)
            && sender.scoreboard().sacked_segments() == 0
            && sender.rtt().backoff() == 0;
        let least = f64::from(PROBE_WINDOW_SEGMENTS * sender.config().smss);
        calm && self.receiver.out_of_order_ranges() == 0 && sender.window().cwnd >= least
    }
}

impl Connection {
    /// Path MTU according to a router's report, for the next connection to the same host (RFC 1191 §6.3).
    #[must_use]
    pub fn path_mtu(&self) -> Option<KnownMtu> {
        let path = &self.engine.as_ref()?.path;
        let (len, until) = path.told?;
        Some(KnownMtu {
            mtu: u16::try_from(len + path.overhead()).unwrap_or(u16::MAX),
            until,
        })
    }
}
