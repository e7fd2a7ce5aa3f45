//! Facts that plug-ins are given: one struct per event, and a read-only view of the sender.
//!
//! A new signal is a new field here and changes no signature. Tests create these structs with `tcp::testing` (feature
//! `testing`).

use core::fmt;
use core::hash::{Hash, Hasher};

use crate::rtt::RttEstimator;
use crate::scoreboard::{Delivered, Scoreboard, Segment, SegmentId};
use crate::segment::Bit;
use crate::time::{Duration, Instant};
use crate::window::Window;

/// Facts of one ACK.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AckFacts<'a> {
    /// Time of arrival.
    pub now: Instant,
    /// Cumulative acknowledgment after the ACK (SND.UNA), as a stream offset.
    pub una: u64,
    /// Bytes by which the ACK advanced the cumulative acknowledgment.
    pub acked_bytes: u64,
    /// Bytes reported for the first time, cumulatively or by SACK (PRR's DeliveredData).
    pub delivered_bytes: u64,
    /// Bytes reported for the first time by SACK.
    pub sacked_bytes: u64,
    /// Segments reported for the first time.
    pub delivered: &'a [Delivered],
    /// Kind of the ACK in the sense of RFC 5681 §2.
    pub kind: AckKind,
    /// Consecutive duplicate ACKs, this one included; 0 after an advance.
    pub dup_acks: u32,
    /// Range that a DSACK reported as received twice (RFC 2883).
    pub dsack: Option<(u64, u64)>,
    /// FlightSize before the ACK.
    pub prior_flight: u64,
    /// FlightSize before the ACK, without the bytes sent by limited transmit since the cumulative acknowledgment last
    /// advanced (RFC 5681 §3.2 step 2 requires leaving them out).
    pub prior_flight_unlimited: u64,
    /// Bytes in flight according to the recovery before the ACK; only for a control that is governed by a model
    /// ([`Governance::Model`](crate::congestion::Governance::Model)).
    pub prior_in_flight: Option<u64>,
    /// Round-trip sample of the most recently sent segment that the ACK reported and that was sent once.
    pub rtt: Option<Duration>,
    /// TSecr, if the connection uses timestamps.
    pub timestamp_echo: Option<u32>,
    /// Transmission that caused the ACK, if the receiver echoes the order (LE §4.2).
    pub order_echo: Option<u64>,
    /// The reason for which the sender last stopped.
    pub limited_by: LimitedBy,
    /// Set if the receiver reports a mark of congestion, on a connection that uses ECN. With classic ECN every ACK
    /// repeats it until CWR has arrived (RFC 3168); with Accurate ECN it is reported once (RFC 9768).
    pub ecn_echo: Bit,
    /// Marked packets that the ACK is the first to report; `None` if the receiver does not count them, that is without
    /// Accurate ECN (RFC 9768).
    pub marked_packets: Option<u64>,
    /// Use of the window in the last flight.
    pub window_use: WindowUse,
}

/// Kind of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// It advances the cumulative acknowledgment.
    Advance,
    /// A duplicate acknowledgment.
    Duplicate,
    /// Neither: a window update, an old ACK, or an answer to a probe.
    Other,
}

/// Reason for which the sender stopped sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// The congestion window (or the recovery) was full.
    Congestion,
    /// The peer's receive window was full.
    ReceiveWindow,
    /// The application had no more to send.
    Application,
    /// The control paces, and the time of the next segment has not come.
    Pacing,
}

/// Use of the congestion window in a flight. A flight lasts from the acknowledgment of the flight before to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUse {
    /// At least once, the data in flight left no room for a full segment.
    Filled,
    /// There was room for a full segment whenever the sender stopped.
    Partly {
        /// Maximum FlightSize in bytes when the sender stopped.
        flight_max: u64,
    },
}

/// Read-only view of the sender.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct View<'a> {
    /// Time of the event.
    pub now: Instant,
    /// Outstanding segments.
    pub scoreboard: &'a Scoreboard,
    /// Current window.
    pub window: Window,
    /// Round-trip time estimator.
    pub rtt: &'a RttEstimator,
    /// Time at which the retransmission timer expires, if it runs, before the plug-in's decision on this event changes
    /// it.
    pub rto_at: Option<Instant>,
    /// Length of the new segment that the application and the peer's window permit now; 0 if they permit none.
    pub new_len: u32,
}

impl View<'_> {
    /// FlightSize (RFC 5681 §2).
    #[must_use]
    pub fn flight_size(&self) -> u64 {
        self.scoreboard.flight_size()
    }
}

/// Transmission that has just taken place.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sent {
    /// Id of the segment.
    pub id: SegmentId,
    /// Current state of the segment, this transmission included.
    pub segment: Segment,
    /// TSval of this transmission, if the connection uses timestamps.
    pub timestamp: Option<u32>,
    /// Reason of the transmission.
    pub why: SendReason,
}

/// Facts of a transmission beside [`Sent`], for a control that is governed by a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// Bytes in flight according to the recovery, the segment included.
    pub in_flight: u64,
    /// Bytes of transmissions judged lost since the connection started.
    pub lost_bytes: u64,
    /// The reason for which the sender last stopped.
    pub limited_by: LimitedBy,
}

/// Rule by which a segment was judged lost.
///
/// The set is open: a recovery declares its rules beside its code, and no other code needs to know them.
///
/// ```
/// use dupack_tcp::facts::{LossRule, RuleWords};
///
/// /// No ACK for a whole second.
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
/// The struct is packed because a simulation's packets carry their [`SendReason`]: an aligned pointer would cost each
/// of them eight bytes.
#[derive(Clone, Copy)]
#[repr(Rust, packed)]
pub struct LossRule(&'static RuleWords);

/// Name and meaning of a [`LossRule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleWords {
    /// Short, unique word, as printed in timelines.
    pub name: &'static str,
    /// Meaning for people, as printed in traces, figures and captures.
    pub meaning: &'static str,
}

impl LossRule {
    /// The retransmission timer expired (RFC 6298 §5.4).
    pub const TIMEOUT: Self = Self::new(&RuleWords {
        name: "rto",
        meaning: "timeout",
    });
    /// A tail loss probe was not reported by a DSACK, so it repaired a loss (RFC 8985 §7.4).
    pub const PROBE: Self = Self::new(&RuleWords {
        name: "tlp-loss",
        meaning: "no DSACK for the probe",
    });

    /// Nothing was lost: a packet was marked, and the receiver echoed the mark (RFC 3168 §6.1.2).
    pub const MARK: Self = Self::new(&RuleWords {
        name: "ecn",
        meaning: "congestion mark (ECN)",
    });

    /// Returns the rule with these words.
    #[must_use]
    pub const fn new(words: &'static RuleWords) -> Self {
        Self(words)
    }

    /// Unique word of the rule.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for LossRule {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.0, other.0);
        // A constant may have several addresses, so different addresses prove nothing.
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

/// Reason for which a segment was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SendReason {
    /// New data within the window.
    NewData,
    /// New data for one of the first two duplicate ACKs (RFC 3042).
    LimitedTransmit,
    /// A segment judged lost.
    Retransmit(LossRule),
    /// A hole not yet judged lost, because there was no new data (RFC 6675 §4, `NextSeg` rule 3).
    HoleFill,
    /// The highest unsacked segment, to keep the ACK clock (RFC 6675 §4, `NextSeg` rule 4).
    Rescue,
    /// Tail loss probe (RFC 8985 §7.3).
    TailLossProbe,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// New data in a packet longer than a full segment, to test whether the path carries it (RFC 4821 §7.5).
    PathProbe,
}

impl fmt::Display for SendReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewData => f.write_str("new data"),
            Self::LimitedTransmit => f.write_str("limited transmit"),
            Self::Retransmit(rule) => write!(f, "retransmission: {rule}"),
            Self::HoleFill => f.write_str("retransmission: hole, no new data to send"),
            Self::Rescue => f.write_str("retransmission: rescue"),
            Self::TailLossProbe => f.write_str("tail loss probe"),
            Self::WindowProbe => f.write_str("window probe"),
            Self::PathProbe => f.write_str("path MTU probe"),
        }
    }
}

/// Cause of a loss, according to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCause {
    /// A full queue: the sender must slow down.
    Congestion,
    /// The link: the sender need not slow down.
    Wireless,
}

/// Facts of a loss event, for the loss differentiation, the control and the response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LossFacts {
    /// Time of detection.
    pub now: Instant,
    /// First segment judged lost. For a mark, the first segment that its echo reports, or that is outstanding.
    pub segment: Segment,
    /// Rule by which it was judged lost.
    pub rule: LossRule,
    /// FlightSize at detection, without the bytes sent by limited transmit.
    pub flight_size: u64,
    /// The window before the event.
    pub window: Window,
    /// Consecutive timeouts, this one included; 0 for a loss detected without one.
    pub timeouts: u32,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time so far.
    pub rtt_min: Option<Duration>,
    /// Latest round-trip time.
    pub rtt_latest: Option<Duration>,
    /// Consecutive missing segments from the lost one to the next that is sacked; 1 if nothing is sacked, because the
    /// number is then unknown.
    pub hole: u32,
    /// Time of the last reduction of the window for congestion: a loss event judged so, or a timeout.
    pub reduced_at: Option<Instant>,
    /// True cause, if known. A sender never knows it; a simulation may pass it to the loss differentiation, but to no
    /// other plug-in.
    pub truth: Option<LossCause>,
}

impl LossFacts {
    /// Returns the facts of the loss of `segment` by `rule`, detected without a timeout, as seen by an observer of the
    /// sender's packets ([`Replay`](crate::replay::Replay)). The packets do not show the window; the outstanding data
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

    /// FlightSize, but no more than the window, in bytes: the value that RFC 5681 §3.1 halves.
    ///
    /// While a hole holds SND.UNA back and a recovery sends new data beyond it, SND.NXT − SND.UNA grows to several
    /// windows, far more than was ever in the network at once. RFC 5681 prefers FlightSize to `cwnd` because `cwnd` may
    /// exceed the data in flight. So it means the smaller of the two.
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
    fn rules_are_equal_if_their_names_are() {
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
    fn flight_size_is_limited_to_the_window() {
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
