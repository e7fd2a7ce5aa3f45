//! The sender's parameters.

use crate::options::{Ecn, OrderEcho, Sack};
use crate::rtt::RttConfig;
use crate::seq::SeqNumber;
use crate::time::Duration;
use crate::window::WindowRounding;

/// Everything about a sender that is not one of its four plug-ins.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SenderConfig {
    /// Sender maximum segment size: payload bytes of a full segment.
    pub smss: u32,
    /// Sequence number of the first byte.
    pub isn: SeqNumber,
    /// Initial congestion window in bytes (RFC 6928: 10 segments), unless the control has its
    /// own ([`opening`](crate::congestion::CongestionControl::opening)).
    pub initial_window: f64,
    /// Initial slow start threshold in bytes; infinite for none. The same holds for it.
    pub initial_ssthresh: f64,
    /// The congestion window never exceeds this many bytes; infinite for no bound.
    pub max_window: f64,
    /// How a window is rounded before it is written.
    pub rounding: WindowRounding,
    /// Round-trip estimation and the retransmission timeout.
    pub rtt: RttConfig,
    /// Timestamps (RFC 7323), if both ends agreed on them.
    pub timestamps: Option<TimestampClock>,
    /// SACK blocks are believed, as both ends agreed on them (RFC 2018).
    pub sack: Sack,
    /// Explicit congestion notification, if both ends agreed on it (RFC 3168).
    pub ecn: Ecn,
    /// With Accurate ECN, what a count of marks means that may have gone round.
    pub wrapped_marks: WrappedMarks,
    /// What a timeout leaves of what is known by SACK.
    pub sacks_after_timeout: SackMemory,
    /// Transmissions carry their order, which the peer echoes (LE §4.2).
    pub order_echo: OrderEcho,
    /// What counts as a duplicate acknowledgment.
    pub duplicate_ack: DuplicateAckRule,
    /// What of an ACK counts for the growth of the window.
    pub credit: CreditRule,
    /// What an idle period does to the window.
    pub idle: IdleRule,
    /// The peer's receive window before its first ACK, in bytes.
    pub peer_window: u32,
    /// Whether window changes are logged for [`Sender::take_window_changes`](crate::Sender).
    pub log: WindowLog,
}

impl SenderConfig {
    /// What the RFCs say, for segments of `smss` bytes and a peer with whom nothing is agreed on
    /// and whose first window is 64 KiB: the initial window of RFC 6928 §2, RFC 6298's timeout.
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

/// The clock behind TSval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampClock {
    /// Time between two values (RFC 7323 §5.4: 1 ms to 1 s; LE wants a fine one).
    pub tick: Duration,
    /// Whether two transmissions may carry the same value.
    pub values: TimestampValues,
}

/// Whether two transmissions may carry the same timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampValues {
    /// The clock's reading, whatever it is.
    Clock,
    /// The clock's reading, or one more than the last value if that is later: a clock fine
    /// enough to tell any two transmissions apart, as LE §2.2.1 takes for granted.
    Unique,
}

/// What a timeout leaves of what is known by SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackMemory {
    /// All of it, unless the receiver turns out to have reneged (RFC 6675 §5.1).
    Keep,
    /// Nothing (RFC 2018 §8; ns-2.35: `ClearScoreBoard` in the `timeout` of `tcp-sack1.cc` and
    /// `tcp-fack.cc`).
    Forget,
}

/// What the count of marks means in an ACK that reports more packets than the ACE field can count, if no
/// option tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrappedMarks {
    /// The safest case: as many marks as there can be (RFC 9768 §3.2.2.5.2).
    Safest,
    /// That, unless ACKs have come to report more than four packets each on average: then the path thins
    /// them out, and the count has not gone round (Linux, `__tcp_accecn_process`: `pkts_acked_ewma`).
    ByUsualAck,
}

/// What counts as a duplicate acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateAckRule {
    /// RFC 5681 §2 without SACK: the same ACK number and window while data is outstanding.
    /// RFC 6675 §2 with SACK: new SACK information.
    Standard,
    /// The same ACK number while data is outstanding, whatever else the ACK says (ns-2, and
    /// the logs of draft-nishida-newreno-modification).
    AckNumberOnly,
}

/// What of an ACK that advances the cumulative acknowledgment counts for the growth of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditRule {
    /// What it acknowledges cumulatively (RFC 5681 §3.1's N), sacked before or not.
    Acknowledged,
    /// What it is the first to report (Linux: `tcp_newly_delivered`). Without SACK every duplicate
    /// ACK has reported a segment (`tcp_add_reno_sack`).
    Delivered,
}

/// What an idle period longer than the retransmission timeout does to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRule {
    /// It is cut to the initial window (RFC 5681 §4.1).
    Restart,
    /// It leaves the window as it is.
    Keep,
}

/// Whether window changes are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowLog {
    /// They are not, and cost nothing.
    Off,
    /// Each is kept until it is taken.
    On,
}
