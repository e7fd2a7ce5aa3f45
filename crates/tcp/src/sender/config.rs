//! Parameters of a sender.

use crate::options::{Ecn, OrderEcho, Sack};
use crate::rtt::RttConfig;
use crate::seq::SeqNumber;
use crate::time::Duration;
use crate::window::WindowRounding;

/// Parameters of a sender, apart from its four plug-ins.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SenderConfig {
    /// Sender maximum segment size: payload bytes of a full segment.
    pub smss: u32,
    /// Sequence number of the first byte.
    pub isn: SeqNumber,
    /// Initial congestion window in bytes (RFC 6928: 10 segments). The control may replace it
    /// ([`opening`](crate::congestion::CongestionControl::opening)).
    pub initial_window: f64,
    /// Initial slow start threshold in bytes; infinite for no threshold. The control may replace it.
    pub initial_ssthresh: f64,
    /// Maximum of the congestion window in bytes; infinite for no maximum.
    pub max_window: f64,
    /// Rounding of a window before it is set.
    pub rounding: WindowRounding,
    /// Round-trip estimation and the retransmission timeout.
    pub rtt: RttConfig,
    /// Timestamps (RFC 7323), if both ends agreed on them.
    pub timestamps: Option<TimestampClock>,
    /// Use of SACK blocks, if both ends agreed on them (RFC 2018).
    pub sack: Sack,
    /// Explicit congestion notification, if both ends agreed on it (RFC 3168).
    pub ecn: Ecn,
    /// Interpretation of the count of marks in an ACK, if the count may have wrapped (Accurate ECN only).
    pub wrapped_marks: WrappedMarks,
    /// Treatment of SACK information after a timeout.
    pub sacks_after_timeout: SackMemory,
    /// Use of transmission numbers, which the peer echoes (LE §4.2).
    pub order_echo: OrderEcho,
    /// Definition of a duplicate acknowledgment.
    pub duplicate_ack: DuplicateAckRule,
    /// Bytes of an ACK that count for the growth of the window.
    pub credit: CreditRule,
    /// Effect of an idle period on the window.
    pub idle: IdleRule,
    /// The peer's receive window before its first ACK, in bytes.
    pub peer_window: u32,
    /// Log of window changes for [`Sender::take_window_changes`](crate::Sender).
    pub log: WindowLog,
}

impl SenderConfig {
    /// Returns the defaults of the RFCs for segments of `smss` bytes: the initial window of RFC 6928 §2 and the timeout
    /// of RFC 6298. No options are in use, and the peer's first receive window is 65,535 bytes.
    #[must_use]
    pub fn new(smss: u32) -> Self {
        let smss_bytes = f64::from(smss);
        Self {
            smss,
            isn: SeqNumber(0),
            // RFC 6928 §2: min (10·MSS, max (2·MSS, 14600)).
            initial_window: (10.0 * smss_bytes).min((2.0 * smss_bytes).max(14600.0)),
            initial_ssthresh: f64::INFINITY,
            max_window: f64::INFINITY,
            rounding: WindowRounding::Exact,
            rtt: RttConfig::default(),
            timestamps: None,
            sack: Sack::Absent,
            ecn: Ecn::Absent,
            wrapped_marks: WrappedMarks::Safest,
            sacks_after_timeout: SackMemory::Keep,
            order_echo: OrderEcho::Absent,
            duplicate_ack: DuplicateAckRule::Standard,
            credit: CreditRule::Acknowledged,
            idle: IdleRule::Restart,
            peer_window: 65_535,
            log: WindowLog::Off,
        }
    }
}

/// Clock of TSval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampClock {
    /// Time between two clock values (RFC 7323 §5.4: 1 ms to 1 s; LE needs a shorter time).
    pub tick: Duration,
    /// Uniqueness of the values.
    pub values: TimestampValues,
}

/// Uniqueness of timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampValues {
    /// The value is the reading of the clock, so two transmissions may have the same value.
    Clock,
    /// Every transmission has a different value: the reading of the clock, or the last value plus one if that is
    /// larger. This models a clock that is fine enough to distinguish any two transmissions, as LE §2.2.1 assumes.
    Unique,
}

/// Treatment of SACK information after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackMemory {
    /// The information is kept, unless the sender detects that the receiver reneged (RFC 6675 §5.1).
    Keep,
    /// The information is discarded (RFC 2018 §8; ns-2.35: `ClearScoreBoard` in the `timeout` of `tcp-sack1.cc` and
    /// `tcp-fack.cc`).
    Forget,
}

/// Interpretation of the count of marks in an ACK that reports more packets than the ACE field can count, if no option
/// resolves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrappedMarks {
    /// The largest possible number of marks is assumed, which is the safest case (RFC 9768 §3.2.2.5.2).
    Safest,
    /// Same as `Safest`, unless ACKs report more than four packets each on average. In this case, the path is assumed
    /// to thin ACKs, and the count is assumed not to have wrapped (Linux, `__tcp_accecn_process`: `pkts_acked_ewma`).
    ByUsualAck,
}

/// Definition of a duplicate acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateAckRule {
    /// Without SACK: an ACK with the same ACK number and window while data is outstanding (RFC 5681 §2). With SACK: an
    /// ACK with new SACK information (RFC 6675 §2).
    Standard,
    /// An ACK with the same ACK number while data is outstanding, regardless of the other fields (ns-2, and the logs of
    /// draft-nishida-newreno-modification).
    AckNumberOnly,
}

/// Bytes of an ACK that count for the growth of the window if the ACK advances the cumulative acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditRule {
    /// Bytes that the ACK acknowledges cumulatively, even if they were sacked before (N in RFC 5681 §3.1).
    Acknowledged,
    /// Bytes that the ACK reports for the first time (Linux: `tcp_newly_delivered`). Without SACK, every duplicate ACK
    /// counts as a report of one segment (`tcp_add_reno_sack`).
    Delivered,
}

/// Effect on the window of an idle period longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRule {
    /// The window is reduced to the initial window (RFC 5681 §4.1).
    Restart,
    /// The window does not change.
    Keep,
}

/// Log of window changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowLog {
    /// Changes are not logged.
    Off,
    /// Each change is stored until it is taken.
    On,
}
