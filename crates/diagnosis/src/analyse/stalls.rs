//! Stalls: times without packets, and their causes.
//!
//! TAPO (Zhou et al., CoNEXT 2015; IEEE/ACM ToN 2019) defines a stall as a gap of more than `min(2·SRTT, RTO)` between
//! two consecutive packets at the sender, in either direction. TAPO derives the kind from the packet that ended the
//! stall (a packet of the peer, new data, or a retransmission) and from the outstanding data. This module does the
//! same, with two differences: it uses the causes of retransmissions that [`explain`](super::explain) determines, and
//! it corrects the kind of a stall if the retransmission that ended it is later found to be spurious.

mod arrivals;
mod kind;
mod list;
mod shut;
#[cfg(test)]
mod tests;
mod unseen;

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::View;
use dupack_tcp::options::Sack;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::scoreboard::Reported;
use dupack_tcp::segment::MAX_SACK_BLOCKS;
use dupack_tcp::time::{Duration, Instant};

pub use kind::{Culprit, Remedy, StallKind, WaitedFor};
pub use list::{KindTotal, LISTED_MAX, StallList};

use self::arrivals::Came;
use self::shut::Shut;
use self::unseen::Unseen;
use crate::analyse::cause::{Cause, Retransmission};
use crate::path::one_way::OneWay;
use crate::read::moment::{Analysis, Arrival, Departure, Explained, Stage};
use crate::read::vantage::Place;

/// Maximum number of recent retransmissions that are stored with their stalls, because they may be found to be
/// spurious, or may be followed by another retransmission. Our choice: a DSACK arrives one round trip after the
/// retransmission.
const RECENT_MAX: usize = 2 * MAX_SACK_BLOCKS;

/// Number of smoothed round-trip times that a stall must exceed (TAPO's τ).
const ROUND_TRIPS: u64 = 2;

/// Number of segments in flight below which a loss cannot cause three duplicate ACKs (RFC 5681 §3.2).
const SMALL_FLIGHT: u64 = 4;

/// Number of segments beyond a hole that trigger a fast retransmit (RFC 5681 §3.2).
const DUP_THRESHOLD: u64 = 3;

/// Maximum time by which a receiver may delay the ACK of a single outstanding segment (RFC 8985 §7.2: WCDelAckT).
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// Time from the capture of an ACK to its arrival at the sender above which the capture point is away from the sender
/// (our choice).
const AT_ONCE: Duration = Duration::from_millis(1);

/// Inverse of a fraction of the round-trip time. RACK waits for this fraction, in addition to one round trip, before it
/// considers a segment lost (RFC 8985 §6.2).
const REORDERING_PART: u64 = 4;

/// Time without packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Time of the packet before the stall.
    pub from: Instant,
    /// Time of the packet after the stall.
    pub to: Instant,
    /// Kind of the stall.
    pub kind: StallKind,
    /// Stage of the sender during the stall.
    pub stage: Stage,
    /// Capture number of the packet before the stall.
    pub before: u64,
    /// Capture number of the packet after the stall.
    pub after: u64,
    /// Event for which the sender waited.
    pub waited_for: WaitedFor,
    /// Number of outstanding bytes.
    pub flight: u64,
    /// Number of segments that were outstanding and not reported as arrived.
    pub missing: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Mechanism that would have made the stall shorter.
    pub remedy: Remedy,
}

impl Stall {
    /// Returns the duration.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// State of the connection after a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    at: Instant,
    packet: u64,
    stage: Stage,
    flight: u64,
    /// Number of outstanding segments, and the number of those that were not reported as arrived.
    segments: u64,
    missing: u64,
    /// Number of segments that arrived after a hole, according to SACK or to duplicate ACKs.
    heard: u64,
    srtt: Option<Duration>,
    /// Minimum round-trip time.
    least: Option<Duration>,
    rto: Duration,
    window_left: Option<u64>,
    window: Option<u64>,
}

impl Before {
    fn of(at: Instant, packet: u64, stage: Stage, view: &View<'_>) -> Self {
        let board = view.scoreboard;
        let segments = board.len() as u64;
        Self {
            at,
            packet,
            stage,
            flight: board.flight_size(),
            segments,
            heard: board.sacked_segments(),
            missing: segments.saturating_sub(board.sacked_segments()),
            srtt: view.rtt.srtt(),
            least: view.rtt.min(),
            rto: view.rtt.rto(),
            window_left: None,
            window: None,
        }
    }

    /// Returns the duration that a gap must exceed to be a stall.
    fn threshold(&self) -> Duration {
        self.srtt
            .map_or(self.rto, |srtt| (srtt * ROUND_TRIPS).min(self.rto))
    }
}

/// Retransmission whose outcome is not known.
#[derive(Clone, Copy, Debug)]
struct Repair {
    start: u64,
    end: u64,
    by: Timer,
    stall: Option<Stall>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Expired,
    Not,
}

/// State of the application's message after the last departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Message {
    #[default]
    NotBegun,
    UnderWay,
    Ended,
}

/// Detector of the stalls of one stream.
#[derive(Clone, Debug)]
pub struct Stalls {
    sack: Sack,
    before: Option<Before>,
    message: Message,
    mss: u64,
    /// Number of data bytes in a full segment, as announced.
    smss: u64,
    /// Time of the last departure of data.
    left_at: Instant,
    window: Option<u64>,
    window_left: Option<u64>,
    /// Number of consecutive duplicate ACKs.
    dup_acks: u64,
    /// Number of ACKs whose SACK blocks contain bytes that were never sent, since the last advance of the cumulative
    /// ACK.
    foreign_acks: u64,
    recent: Vec<Repair>,
    /// Possibility of losses between the sender and the capture point.
    distance: Distance,
    /// Timeout for segments that never reached the capture point, stored until their number is known.
    unseen: Option<Unseen>,
    found: StallList,
    /// Stall that ended with an ACK. The next departure shows whether a segment had waited for this ACK.
    held: Option<Stall>,
    /// Number of ACKs sent because a timer of the receiver expired.
    delays: u64,
    /// State of the receive window while it is closed.
    shut: Option<Shut>,
    /// Stall that a closed window caused, if the window has opened since the last departure.
    opened: Option<Stall>,
    /// Estimator of the delay of segments to the capture point; `None` unless the capture was taken at the receiver.
    one_way: Option<OneWay>,
    /// Waits for requests since the last data. They belong to the transfer only if more data follows.
    idle: StallList,
}

/// Distance of the capture point from the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Distance {
    #[default]
    AtSender,
    Away,
}

impl Stalls {
    /// Creates a detector without events. If `sack` is absent, only duplicate ACKs report arrivals after a hole, and
    /// RACK and its probes were not available.
    #[must_use]
    pub fn new(sack: Sack) -> Self {
        Self {
            sack,
            before: None,
            message: Message::NotBegun,
            mss: 1,
            smss: 1,
            left_at: Instant::ZERO,
            window: None,
            window_left: None,
            dup_acks: 0,
            foreign_acks: 0,
            recent: Vec::new(),
            distance: Distance::AtSender,
            unseen: None,
            found: StallList::default(),
            held: None,
            delays: 0,
            shut: None,
            opened: None,
            one_way: None,
            idle: StallList::default(),
        }
    }

    /// Sets the capture point.
    pub fn seen_from(&mut self, place: Place) {
        self.one_way = (place == Place::Receiver).then(OneWay::default);
    }

    /// Records that the next ACK has SACK blocks with bytes that were never sent.
    pub const fn foreign_sack(&mut self) {
        self.foreign_acks += 1;
    }

    /// Sets the number of data bytes in a full segment, as announced.
    pub fn sized(&mut self, smss: u32) {
        self.smss = u64::from(smss);
    }

    /// `true` if a segment was delayed on the path: according to its timestamp, it was sent in the first half of the
    /// period without packets that it ended.
    fn is_late(&mut self, departure: &Departure<'_>) -> bool {
        let Some((one_way, stamps)) = self.one_way.as_mut().zip(departure.timestamps) else {
            return false;
        };
        let late = one_way.sure_wait(departure.at, stamps.value);
        let since = self.before.map_or(departure.at, |before| before.at);
        late.is_some_and(|late| late.saturating_mul(2) > departure.at.since(since))
    }

    /// Records the end of the handshake. The next gap is measured from this time.
    pub fn opened(&mut self, at: Instant, packet: u64) {
        self.before = Some(Before {
            at,
            packet,
            rto: Duration::from_secs(1),
            ..Before::default()
        });
    }

    /// Returns the stalls.
    #[must_use]
    pub fn finish(mut self) -> StallList {
        self.tell_unseen();
        self.settle_held();
        self.settle_shut();
        for repair in core::mem::take(&mut self.recent) {
            self.settle(&repair);
        }
        self.doubt_delayed_acks();
        self.found.longest.sort_by_key(|stall| stall.from);
        self.found
    }

    fn settle(&mut self, repair: &Repair) {
        if let Some(stall) = repair.stall {
            self.found.add(stall);
        }
    }

    /// Returns the last packet and the stall between it and this packet; `None` if the gap is too short.
    fn gap(&self, at: Instant, packet: u64) -> Option<(Before, Stall)> {
        let before = self.before?;
        if at.since(before.at) <= before.threshold() {
            return None;
        }
        let stall = Stall {
            from: before.at,
            to: at,
            kind: StallKind::Undetermined,
            stage: before.stage,
            before: before.packet,
            after: packet,
            waited_for: WaitedFor::RetransmissionTimer,
            flight: before.flight,
            missing: before.missing,
            srtt: before.srtt,
            remedy: Remedy::None,
        };
        Some((before, stall))
    }

    /// Returns the time after which a tail loss probe would have been sent (RFC 8985 §7.2); `None` if the endpoints
    /// could not have used one, or if it would not have been sooner. In the RFC, the retransmission timeout limits this
    /// time; here, the duration of the stall limits it.
    fn probe(&self, before: &Before, waited: Duration) -> Option<Duration> {
        if !self.sack.is_on() {
            return None;
        }
        let pto = before.srtt? * 2;
        let pto = if before.segments <= 1 {
            pto + DELAYED_ACK
        } else {
            pto
        };
        Some(pto).filter(|pto| *pto < waited)
    }

    /// Classifies a stall that ended with new data.
    fn by_new_data(&self, before: &Before) -> (StallKind, WaitedFor, Remedy) {
        if self.is_shut(before) {
            return (StallKind::ZeroWindow, WaitedFor::Window, Remedy::Reading);
        }
        let kind = match self.message {
            Message::NotBegun | Message::Ended => StallKind::DataUnavailable,
            Message::UnderWay => StallKind::ResourceConstraint,
        };
        (kind, WaitedFor::Data, Remedy::Application)
    }

    /// Classifies a stall that ended with a retransmission.
    fn by_repair(&self, before: &Before, again: &Retransmission) -> (StallKind, WaitedFor, Remedy) {
        let waited_for = match again.cause {
            Cause::KeepAlive => return (StallKind::ClientIdle, WaitedFor::Request, Remedy::None),
            Cause::WindowProbe => {
                return (StallKind::ZeroWindow, WaitedFor::Window, Remedy::Reading);
            }
            Cause::TailLossProbe => WaitedFor::ProbeTimer,
            Cause::Timeout { .. } | Cause::Unknown => WaitedFor::RetransmissionTimer,
            // The retransmission was triggered by an ACK that arrived just before.
            _ => return (StallKind::PacketDelay, WaitedFor::Ack, Remedy::None),
        };
        let kind = self.timer_kind(before, again);
        let waited = again.at.since(before.at);
        (kind, waited_for, self.remedy(kind, before, waited))
    }

    fn timer_kind(&self, before: &Before, again: &Retransmission) -> StallKind {
        if again.need.is_needless() {
            return StallKind::AckDelayOrLoss;
        }
        let expired_before = matches!(again.cause, Cause::Timeout { expiry } if expiry > 1);
        let first = self.repair_of(again);
        if expired_before || first == Some(Timer::Expired) {
            return StallKind::TimeoutDouble;
        }
        if first == Some(Timer::Not) || again.transmission > 2 {
            return StallKind::FastDouble;
        }
        if self.foreign_acks >= DUP_THRESHOLD {
            return StallKind::ForeignSack;
        }
        if before.segments == 0 {
            // The lost segments did not reach the capture point.
            return StallKind::Undetermined;
        }
        let few = before.missing < SMALL_FLIGHT;
        // Too few segments arrived after the hole for a fast retransmit, because the sender had no more segments to
        // send.
        let tail = few || (1..DUP_THRESHOLD).contains(&before.heard);
        let ended = self.message == Message::Ended;
        match before.stage {
            Stage::Recovery | Stage::Loss if tail && ended => StallKind::TailRecovery,
            _ if tail && ended => StallKind::TailOpen,
            _ if before.segments < SMALL_FLIGHT => self.small_window(before),
            _ if before.missing == before.segments => StallKind::ContinuousLoss,
            // The fast retransmit was lost before the capture point.
            _ if before.heard >= DUP_THRESHOLD && self.distance == Distance::Away => {
                StallKind::FastDouble
            }
            _ if before.heard >= DUP_THRESHOLD => StallKind::Undetermined,
            _ if before.missing * 2 > before.segments => StallKind::ContinuousLoss,
            _ => self.small_window(before),
        }
    }

    /// Returns the kind of stall that corresponds to the window that kept the flight small.
    fn small_window(&self, before: &Before) -> StallKind {
        if before.window_left.is_some_and(|left| left < self.mss) {
            StallKind::SmallReceiveWindow
        } else {
            StallKind::SmallCongestionWindow
        }
    }

    fn remedy(&self, kind: StallKind, before: &Before, waited: Duration) -> Remedy {
        let probe = self.probe(before, waited);
        match kind {
            StallKind::TailOpen | StallKind::TailRecovery | StallKind::ContinuousLoss => {
                probe.map_or(Remedy::None, Remedy::TailLossProbe)
            }
            StallKind::FastDouble => match before.srtt {
                Some(srtt) if self.sack.is_on() => Remedy::Rack(srtt + srtt / REORDERING_PART),
                _ => Remedy::None,
            },
            StallKind::SmallCongestionWindow => probe.map_or(Remedy::None, Remedy::EarlyRetransmit),
            StallKind::SmallReceiveWindow => Remedy::ReceiveWindow,
            StallKind::AckDelayOrLoss => Remedy::SpuriousTimeout,
            _ => Remedy::None,
        }
    }

    /// Returns the cause of a recent earlier retransmission of these bytes; `None` if there was none.
    fn repair_of(&self, again: &Retransmission) -> Option<Timer> {
        let earlier = self.recent.iter().rev();
        earlier
            .filter(|repair| repair.start < again.end && again.start < repair.end)
            .map(|repair| repair.by)
            .next()
    }

    fn remember(&mut self, again: &Retransmission, stall: Option<Stall>) {
        if self.recent.len() >= RECENT_MAX {
            let oldest = self.recent.remove(0);
            self.settle(&oldest);
        }
        let by = match again.cause {
            Cause::Timeout { .. } | Cause::AfterTimeout | Cause::TailLossProbe => Timer::Expired,
            _ => Timer::Not,
        };
        self.recent.push(Repair {
            start: again.start,
            end: again.end,
            by,
            stall,
        });
    }

    /// Corrects the kind of all stalls that ended with retransmissions of data whose first transmission had arrived.
    /// The timers expired too early, or the ACK was too late.
    fn all_were_needless(&mut self, start: u64, end: u64) {
        for repair in &mut self.recent {
            let stall = repair.stall.as_mut();
            let Some(stall) = stall.filter(|stall| stall.kind.ends_by_timer()) else {
                continue;
            };
            if repair.start < end && start < repair.end {
                stall.kind = StallKind::AckDelayOrLoss;
                stall.remedy = Remedy::SpuriousTimeout;
            }
        }
    }

    /// Corrects the kind of the last stall that ended with a retransmission of data that had arrived. The timer expired
    /// too early, or the ACK was too late.
    fn was_needless(&mut self, start: u64, end: u64) {
        let latest = self.recent.iter_mut().rev();
        let stalls = latest.filter(|repair| repair.start < end && start < repair.end);
        // Each DSACK reports one copy of the bytes.
        let mut stalls = stalls.filter_map(|repair| repair.stall.as_mut());
        let untold = |stall: &&mut Stall| {
            stall.kind.ends_by_timer() && stall.kind != StallKind::AckDelayOrLoss
        };
        if let Some(stall) = stalls.find(untold) {
            stall.kind = StallKind::AckDelayOrLoss;
            stall.remedy = Remedy::SpuriousTimeout;
        }
    }

    /// Corrects the kind of stalls, because a segment that was sent before them at `sent_at` arrived without a
    /// retransmission. Therefore, not all segments were lost; ACKs were lost. It is unknown whether the retransmitted
    /// segments were lost.
    fn had_arrived(&mut self, sent_at: Instant) {
        let stalls = self
            .recent
            .iter_mut()
            .filter_map(|repair| repair.stall.as_mut());
        for stall in stalls.filter(|stall| stall.kind == StallKind::ContinuousLoss) {
            if sent_at <= stall.from {
                stall.kind = StallKind::AckDelayOrLoss;
                stall.remedy = Remedy::None;
            }
        }
    }

    fn follow(&mut self, at: Instant, packet: u64, stage: Stage, view: &View<'_>) {
        let at = self.before.map_or(at, |before| before.at.max(at));
        let seen = Before::of(at, packet, stage, view);
        // If SACK blocks were rewritten on the path, only duplicate ACKs show arrivals.
        let by_dup_acks = self.dup_acks.min(seen.segments.saturating_sub(1));
        let heard = if self.sack.is_on() && seen.heard > 0 {
            seen.heard
        } else {
            by_dup_acks
        };
        self.before = Some(Before {
            window: self.window,
            window_left: self.window_left,
            heard,
            missing: seen.segments.saturating_sub(heard),
            ..seen
        });
    }
}

impl Analysis for Stalls {
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
        if !self.idle.is_empty() {
            let idle = core::mem::take(&mut self.idle);
            self.found.absorb(idle);
        }
        self.settle_held();
        let gap = self.gap(departure.at, departure.packet);
        let late = self.is_late(departure);
        let made = |(before, stall): (Before, Stall), told: (StallKind, WaitedFor, Remedy)| {
            let (kind, waited_for, remedy) = told;
            let stall = Stall {
                kind,
                waited_for,
                remedy,
                ..stall
            };
            (before, stall)
        };
        if let Some(again) = explained.retransmission {
            self.note_unseen(departure, again, gap.map(|(before, _)| before));
            let stall = gap.map(|gap| made(gap, self.by_repair(&gap.0, again)).1);
            let stall = stall.and_then(|stall| self.while_open(stall));
            self.remember(again, stall);
        } else if let Some(gap) = gap {
            let told = match late {
                true => (StallKind::PacketDelay, WaitedFor::Ack, Remedy::None),
                false => self.by_new_data(&gap.0),
            };
            let (_, stall) = made(gap, told);
            if let Some(stall) = self.while_open(stall) {
                self.found.add(stall);
            }
        }
        let last = departure.sent.last();
        let last = last.map_or(0, |sent| u64::from(sent.segment.len));
        self.mss = self.mss.max(last);
        self.left_at = departure.at;
        if matches!(departure.kind, SendingKind::First | SendingKind::Both) {
            let flags = departure.flags;
            let pushed = flags.contains(Flags::PSH) || flags.contains(Flags::FIN);
            // Not every sender sets PSH, and PSH does not always mark the end of a message, but a short segment does.
            let ends = pushed || last < self.mss;
            self.message = if ends {
                Message::Ended
            } else {
                Message::UnderWay
            };
        }
        if !matches!(
            departure.kind,
            SendingKind::Repeat | SendingKind::Acknowledged
        ) {
            self.window_left = departure.window_left;
        }
        self.follow(
            departure.at,
            departure.packet,
            explained.stage,
            &departure.view,
        );
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
        self.settle_held();
        let came = Came {
            rest: (arrival.view.flight_size() == 0).then_some(arrival.facts.acked_bytes),
            carries: arrival.carried > 0,
        };
        self.count_delay(arrival.at, came);
        self.end_by_arrival(arrival.at, arrival.packet, came);
        if arrival.at.since(arrival.captured) > AT_ONCE {
            self.distance = Distance::Away;
        }
        if explained.stage == Stage::Open {
            self.tell_unseen();
        }
        if let Some((start, end)) = explained.needless {
            self.all_were_needless(start, end);
        }
        if let Some(needless) = arrival.needless {
            self.was_needless(needless.start, needless.end);
        }
        for delivered in arrival.facts.delivered {
            let segment = &delivered.segment;
            if segment.transmissions == 1 && segment.reported == Reported::Missing {
                self.had_arrived(segment.sent_at);
            }
        }
        self.window = arrival.window;
        self.window_left = arrival.window_left;
        self.dup_acks = u64::from(arrival.facts.dup_acks);
        if arrival.facts.acked_bytes > 0 {
            self.foreign_acks = 0;
        }
        self.follow(arrival.at, arrival.packet, explained.stage, &arrival.view);
    }
}
