//! Facts that plug-ins get: one struct per event, and a read-only view of the sender.
//!
//! A new signal becomes a new field here, so the signatures of the plug-in traits do not change. Tests create these
//! structs with `tcp::testing` (feature `testing`).

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
    /// Number of consecutive duplicate ACKs, including this one; 0 after an advance.
    pub dup_acks: u32,
    /// Range that a DSACK reported as received twice (RFC 2883).
    pub dsack: Option<(u64, u64)>,
    /// FlightSize before the ACK.
    pub prior_flight: u64,
    /// FlightSize before the ACK, without the bytes sent by limited transmit since the last advance of the cumulative
    /// acknowledgment (RFC 5681 §3.2 step 2 excludes these bytes).
    pub prior_flight_unlimited: u64,
    /// Bytes in flight according to the recovery before the ACK. `Some` only for a control that is governed by a model
    /// ([`Governance::Model`](crate::congestion::Governance::Model)).
    pub prior_in_flight: Option<u64>,
    /// Round-trip sample: the age of the last sent of the segments that the ACK reports for the first time and that
    /// were sent only once.
    pub rtt: Option<Duration>,
    /// TSecr, if the connection uses timestamps.
    pub timestamp_echo: Option<u32>,
    /// Number of the transmission that caused the ACK, if the receiver echoes transmission numbers (LE §4.2).
    pub order_echo: Option<u64>,
    /// The reason for which the sender last stopped.
    pub limited_by: LimitedBy,
    /// Set if the receiver reports a congestion mark on a connection with ECN. With classic ECN, every ACK repeats the
    /// report until the receiver gets CWR (RFC 3168). With Accurate ECN, a mark is reported once (RFC 9768).
    pub ecn_echo: Bit,
    /// Number of marked packets that the ACK reports for the first time; `None` without Accurate ECN (RFC 9768),
    /// because the receiver does not count them.
    pub marked_packets: Option<u64>,
    /// Use of the window in the last flight.
    pub window_use: WindowUse,
}

/// Kind of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// The ACK advances the cumulative acknowledgment.
    Advance,
    /// The ACK is a duplicate acknowledgment.
    Duplicate,
    /// Any other ACK: a window update, an old ACK, or the response to a probe.
    Other,
}

/// Reason for which the sender stopped sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// The congestion window was full, or the recovery did not permit a transmission.
    Congestion,
    /// The peer's receive window was full.
    ReceiveWindow,
    /// The application had no more data to send.
    Application,
    /// Pacing delayed the next segment.
    Pacing,
}

/// Use of the congestion window during a flight. A flight begins when the previous flight is acknowledged, and ends
/// when its own data is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUse {
    /// At least once, the data in flight left less than a full segment of the window.
    Filled,
    /// Whenever the sender stopped, the window still permitted a full segment.
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
    /// Time at which the retransmission timer expires, if it runs. The plug-in's decision on this event has not changed
    /// the timer yet.
    pub rto_at: Option<Instant>,
    /// Length in bytes of the new segment that the application's data and the peer's window permit now; 0 if they
    /// permit none.
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
    /// Current state of the segment, including this transmission.
    pub segment: Segment,
    /// TSval of this transmission, if the connection uses timestamps.
    pub timestamp: Option<u32>,
    /// Reason for the transmission.
    pub why: SendReason,
}

/// Facts of a transmission in addition to [`Sent`], for a control that is governed by a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// Bytes in flight according to the recovery, including the segment.
    pub in_flight: u64,
    /// Bytes of transmissions judged lost since the connection started.
    pub lost_bytes: u64,
    /// The reason for which the sender last stopped.
    pub limited_by: LimitedBy,
}

/// Rule by which a segment was judged lost.
///
/// The set is open: a recovery declares its rules next to its code, and no other code needs to know them.
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
/// Two rules are equal if their names are equal.
///
/// The struct is packed because the packets of a simulation contain their [`SendReason`]: an aligned pointer would make
/// each packet eight bytes larger.
#[derive(Clone, Copy)]
#[repr(Rust, packed)]
pub struct LossRule(&'static RuleWords);

/// Name and meaning of a [`LossRule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleWords {
    /// Short, unique word, as printed in timelines.
    pub name: &'static str,
    /// Description for readers, as printed in traces, figures and captures.
    pub meaning: &'static str,
}

impl LossRule {
    /// The retransmission timer expired (RFC 6298 §5.4).
    pub const TIMEOUT: Self = Self::new(&RuleWords {
        name: "rto",
        meaning: "timeout",
    });
    /// No DSACK reported a tail loss probe, so the probe repaired a loss (RFC 8985 §7.4).
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
        // A constant may have several addresses, so the names are compared if the addresses differ.
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
    /// New data, sent for one of the first two duplicate ACKs (RFC 3042).
    LimitedTransmit,
    /// A segment judged lost.
    Retransmit(LossRule),
    /// A missing segment that is not yet judged lost, sent because there was no new data (RFC 6675 §4, `NextSeg` rule
    /// 3).
    HoleFill,
    /// The highest segment that is not sacked, sent to keep the ACK clock (RFC 6675 §4, `NextSeg` rule 4).
    Rescue,
    /// Tail loss probe (RFC 8985 §7.3).
    TailLossProbe,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// New data in a packet longer than a full segment, which tests whether the path can carry this size (RFC 4821
    /// §7.5).
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
    /// A full queue: the sender must reduce its rate.
    Congestion,
    /// The link: the sender need not reduce its rate.
    Wireless,
}

/// Facts of a loss event, for the loss differentiation, the control and the response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LossFacts {
    /// Time of detection.
    pub now: Instant,
    /// First segment judged lost. For a mark, the first segment that the ACK with the echo reports, or else the first
    /// outstanding segment.
    pub segment: Segment,
    /// Rule by which the segment was judged lost.
    pub rule: LossRule,
    /// FlightSize at detection, without the bytes sent by limited transmit.
    pub flight_size: u64,
    /// Window before the event.
    pub window: Window,
    /// Number of consecutive timeouts, including this one; 0 for a loss detected without a timeout.
    pub timeouts: u32,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time so far.
    pub rtt_min: Option<Duration>,
    /// Latest round-trip time.
    pub rtt_latest: Option<Duration>,
    /// Number of consecutive missing segments from the lost one to the next sacked segment; 1 if no later segment is
    /// sacked, because the number is then unknown.
    pub hole: u32,
    /// Time of the last window reduction for congestion: a loss event judged as congestion, or a timeout.
    pub reduced_at: Option<Instant>,
    /// True cause, if known. A real sender does not know it. A simulation may pass it to the loss differentiation, but
    /// not to other plug-ins.
    pub truth: Option<LossCause>,
}

impl LossFacts {
    /// Returns the facts of a loss of `segment`, detected by `rule` without a timeout, for an observer of the sender's
    /// packets ([`Replay`](crate::replay::Replay)). The packets do not show the window, so the window is set to the
    /// amount of outstanding data.
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

    /// Minimum of FlightSize and the window, in bytes: the value that RFC 5681 §3.1 halves.
    ///
    /// While a lost segment keeps SND.UNA from advancing and the recovery sends new data, SND.NXT − SND.UNA grows to
    /// several windows, far more than was ever in flight. RFC 5681 uses FlightSize instead of `cwnd` because `cwnd` may
    /// exceed the data in flight. The intended value is therefore the smaller of the two.
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
        // The same rule at two addresses.
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
