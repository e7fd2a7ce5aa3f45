//! What the plug-ins are told: one struct per event, and a read-only view of the sender.
//!
//! A new signal is a new field here and changes no signature. Tests make these structs by
//! `tcp::testing`, with the feature `testing`.

use core::fmt;
use core::hash::{Hash, Hasher};

use crate::rtt::RttEstimator;
use crate::scoreboard::{Delivered, Scoreboard, Segment, SegmentId};
use crate::segment::Bit;
use crate::time::{Duration, Instant};
use crate::window::Window;

/// Everything that one ACK told the sender.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AckFacts<'a> {
    /// When it arrived.
    pub now: Instant,
    /// The cumulative acknowledgment after it (SND.UNA), as a stream offset.
    pub una: u64,
    /// Bytes by which it advanced the cumulative acknowledgment.
    pub acked_bytes: u64,
    /// Bytes that it reported for the first time, cumulatively or by SACK (PRR's DeliveredData).
    pub delivered_bytes: u64,
    /// Bytes that it reported for the first time by SACK.
    pub sacked_bytes: u64,
    /// Every segment that it reported for the first time.
    pub delivered: &'a [Delivered],
    /// What it is in the sense of RFC 5681 §2.
    pub kind: AckKind,
    /// Duplicate ACKs in a row, this one included; 0 after an advance.
    pub dup_acks: u32,
    /// The range that a DSACK reported as received twice (RFC 2883).
    pub dsack: Option<(u64, u64)>,
    /// FlightSize before the ACK.
    pub prior_flight: u64,
    /// FlightSize before the ACK without what limited transmit has sent since the cumulative
    /// acknowledgment last advanced (RFC 5681 §3.2 step 2 wants it left out).
    pub prior_flight_unlimited: u64,
    /// Bytes in flight as the recovery counted them before the ACK; only for a control that
    /// governs by a model ([`Governance::Model`](crate::congestion::Governance::Model)).
    pub prior_in_flight: Option<u64>,
    /// Round-trip sample of the most recently sent segment that it reported and that was sent
    /// once.
    pub rtt: Option<Duration>,
    /// TSecr, if the connection uses timestamps.
    pub timestamp_echo: Option<u32>,
    /// The transmission that caused the ACK, if the receiver echoes the order (LE §4.2).
    pub order_echo: Option<u64>,
    /// What stopped the sender when it last stopped sending.
    pub limited_by: LimitedBy,
    /// Whether the receiver tells of a mark of congestion, if the connection uses ECN: again with every
    /// ACK until CWR has reached it (RFC 3168), or once (RFC 9768).
    pub ecn_echo: Bit,
    /// Packets of which it is the first to tell that they came marked; `None` if the receiver does
    /// not count them, that is without Accurate ECN (RFC 9768).
    pub marked_packets: Option<u64>,
    /// How far the window was used in the last flight.
    pub window_use: WindowUse,
}

/// What an ACK is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// It advances the cumulative acknowledgment.
    Advance,
    /// A duplicate acknowledgment.
    Duplicate,
    /// Neither: a window update, an old ACK, or an answer to a probe.
    Other,
}

/// Why the sender sent no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// The congestion window (or the recovery) was full.
    Congestion,
    /// The peer's receive window was full.
    ReceiveWindow,
    /// The application had no more to send.
    Application,
    /// It is not yet time for the next segment: the control paces.
    Pacing,
}

/// How far the congestion window was used in a flight: from when the flight before it was
/// acknowledged until this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUse {
    /// At least once what was in flight left no room for a full segment.
    Filled,
    /// There was room for a full segment whenever the sender stopped.
    Partly {
        /// The most that was outstanding (FlightSize) when it stopped, in bytes.
        flight_max: u64,
    },
}

/// A read-only view of the sender.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct View<'a> {
    /// The time of the event.
    pub now: Instant,
    /// Outstanding segments.
    pub scoreboard: &'a Scoreboard,
    /// The window in force.
    pub window: Window,
    /// Round-trip time.
    pub rtt: &'a RttEstimator,
    /// When the retransmission timer expires, if it runs. What the answer to this event makes of
    /// the timer is not in it yet.
    pub rto_at: Option<Instant>,
    /// Length of the new segment that the application and the peer's window permit now; 0 if
    /// they permit none.
    pub new_len: u32,
}

impl View<'_> {
    /// FlightSize (RFC 5681 §2).
    #[must_use]
    pub fn flight_size(&self) -> u64 {
        self.scoreboard.flight_size()
    }
}

/// A segment has just been sent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// Which one.
    pub id: SegmentId,
    /// As it stands now, this transmission included.
    pub segment: Segment,
    /// TSval of this transmission, if the connection uses timestamps.
    pub timestamp: Option<u32>,
    /// Why it was sent.
    pub why: SendReason,
}

/// What a control that sees transmissions is told beside [`Sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// Bytes in flight as the recovery counts them, the segment included.
    pub in_flight: u64,
    /// Bytes of transmissions judged lost since the connection began.
    pub lost_bytes: u64,
    /// What had stopped the sender when it last stopped sending.
    pub limited_by: LimitedBy,
}

/// By which rule a segment was judged lost.
///
/// The set is open: a recovery declares its rules beside its code, and nobody else need know them.
///
/// ```
/// use dupack_tcp::facts::{LossRule, RuleWords};
///
/// /// Nothing came for a whole second.
/// pub const SILENCE: LossRule = LossRule::new(&RuleWords {
///     name: "silence",
///     meaning: "a second without an ACK",
/// });
/// assert_eq!(SILENCE.to_string(), "a second without an ACK");
/// assert_ne!(SILENCE, LossRule::TIMEOUT);
/// ```
///
/// Two rules are the same if their names are.
///
/// Packed, as a simulation's packets carry their [`SendReason`]: an aligned pointer would cost each
/// of them eight bytes.
#[derive(Clone, Copy)]
#[repr(Rust, packed)]
pub struct LossRule(&'static RuleWords);

/// What a [`LossRule`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleWords {
    /// One short word, which tells the rule from all others: timelines print it.
    pub name: &'static str,
    /// What was seen, for people: traces, figures and captures print it.
    pub meaning: &'static str,
}

impl LossRule {
    /// The retransmission timer expired (RFC 6298 §5.4).
    pub const TIMEOUT: Self = Self::new(&RuleWords {
        name: "rto",
        meaning: "timeout",
    });
    /// A DSACK did not come for a tail loss probe, so that the probe repaired a loss
    /// (RFC 8985 §7.4).
    pub const PROBE: Self = Self::new(&RuleWords {
        name: "tlp-loss",
        meaning: "no DSACK for the probe",
    });

    /// Nothing was lost: a packet was marked, and the receiver echoed it (RFC 3168 §6.1.2).
    pub const MARK: Self = Self::new(&RuleWords {
        name: "ecn",
        meaning: "mark of congestion (ECN)",
    });

    /// The rule that goes by these words.
    #[must_use]
    pub const fn new(words: &'static RuleWords) -> Self {
        Self(words)
    }

    /// The word that tells it from all others.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for LossRule {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.0, other.0);
        // A constant may have several addresses, so that another address proves nothing.
        core::ptr::eq(one, other) || one.name == other.name
    }
}

impl Eq for LossRule {}

impl Hash for LossRule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for LossRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LossRule({})", self.name())
    }
}

impl fmt::Display for LossRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.meaning)
    }
}

/// Why a segment was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SendReason {
    /// New data within the window.
    NewData,
    /// New data for one of the first two duplicate ACKs (RFC 3042).
    LimitedTransmit,
    /// A segment judged lost.
    Retransmit(LossRule),
    /// A hole not yet judged lost, as there was no new data (RFC 6675 §4, `NextSeg` rule 3).
    HoleFill,
    /// The highest unsacked segment, to keep the ACK clock (RFC 6675 §4, `NextSeg` rule 4).
    Rescue,
    /// Tail loss probe (RFC 8985 §7.3).
    TailLossProbe,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// New data in a packet longer than a full segment's: whether the path carries it (RFC 4821
    /// §7.5).
    PathProbe,
}

impl fmt::Display for SendReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewData => f.write_str("new data"),
            Self::LimitedTransmit => f.write_str("limited transmit"),
            Self::Retransmit(rule) => write!(f, "retransmission: {rule}"),
            Self::HoleFill => f.write_str("retransmission: hole, nothing new to send"),
            Self::Rescue => f.write_str("retransmission: rescue"),
            Self::TailLossProbe => f.write_str("tail loss probe"),
            Self::WindowProbe => f.write_str("window probe"),
            Self::PathProbe => f.write_str("probe of the path's MTU"),
        }
    }
}

/// What the sender believes caused a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// A full queue: slow down.
    Congestion,
    /// The link: nothing to slow down for.
    Wireless,
}

/// A loss event, as it is put to the loss differentiation, the control and the response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LossFacts {
    /// When it was found.
    pub now: Instant,
    /// The first segment judged lost; of a mark, the first that its echo reports, or that is
    /// outstanding.
    pub segment: Segment,
    /// By which rule.
    pub rule: LossRule,
    /// FlightSize when the loss was found, without what limited transmit sent.
    pub flight_size: u64,
    /// The window before the event.
    pub window: Window,
    /// Timeouts in a row, this one included; 0 for a loss found without one.
    pub timeouts: u32,
    /// Smoothed, least and latest round-trip time, once there are samples.
    pub srtt: Option<Duration>,
    /// The least round-trip time so far.
    pub rtt_min: Option<Duration>,
    /// The last round-trip time.
    pub rtt_latest: Option<Duration>,
    /// Segments missing in a row, the lost one the first, before the next that is sacked; 1 if
    /// nothing is sacked, as then nobody can tell.
    pub hole: u32,
    /// When the window was last reduced for congestion: at a loss event judged so, or a timeout.
    pub reduced_at: Option<Instant>,
    /// What really happened, if anybody knows. A sender never does; a simulation may tell the loss
    /// differentiation, and nobody else.
    pub truth: Option<LossCause>,
}

impl LossFacts {
    /// The loss of `segment` by `rule`, found without a timeout, as somebody sees it who looks on by the
    /// sender's packets ([`Replay`](crate::replay::Replay)). The window is not in them: what is outstanding
    /// stands for it.
    #[must_use]
    pub fn seen(view: &View<'_>, segment: Segment, rule: LossRule) -> Self {
        let flight_size = view.flight_size();
        Self {
            now: view.now,
            segment,
            rule,
            flight_size,
            window: Window {
                cwnd: flight_size as f64,
                ssthresh: f64::INFINITY,
            },
            timeouts: 0,
            srtt: view.rtt.srtt(),
            rtt_min: view.rtt.min(),
            rtt_latest: view.rtt.latest(),
            hole: view.scoreboard.hole(segment.start),
            reduced_at: None,
            truth: None,
        }
    }

    /// FlightSize, but no more than the window in bytes: what RFC 5681 §3.1 halves.
    ///
    /// While a hole keeps SND.UNA where it is, and recoveries send new data beyond it,
    /// SND.NXT − SND.UNA grows to several windows; that much never was in the network at once.
    /// RFC 5681 prefers FlightSize to `cwnd` because the latter may exceed what is in flight, so
    /// the lesser of the two is what it means.
    #[must_use]
    pub fn flight_within_window(&self) -> f64 {
        (self.flight_size as f64).min(self.window.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn rules_are_the_same_by_their_name() {
        const WORDS: RuleWords = RuleWords {
            name: "third",
            meaning: "three duplicate ACKs",
        };
        // Two addresses, one rule.
        let (one, other) = (LossRule::new(&WORDS), LossRule::new(&const { WORDS }));
        assert_eq!(one, other);
        assert_ne!(one, LossRule::TIMEOUT);
        assert_eq!(one.name(), "third");
        assert_eq!(one.to_string(), "three duplicate ACKs");
        let why = SendReason::Retransmit(one).to_string();
        assert_eq!(why, "retransmission: three duplicate ACKs");
    }

    #[test]
    fn what_is_outstanding_counts_as_far_as_the_window_goes() {
        let mut loss = crate::testing::loss_facts(
            crate::testing::segment(0, Instant::ZERO),
            LossRule::TIMEOUT,
            5000,
        );
        loss.window.cwnd = 4000.5;
        assert_eq!(loss.flight_within_window(), 4000.5);
        loss.window.cwnd = 6000.0;
        assert_eq!(loss.flight_within_window(), 5000.0);
    }
}
