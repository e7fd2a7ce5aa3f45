//! Causes of retransmissions.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::{Duration, Instant};

/// Kind of a segment whose bytes the capture already contained, or whose bytes were missing when later bytes were
/// captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The sender retransmitted the segment.
    Retransmission(Cause),
    /// The segment was sent once, and later segments overtook it before the capture point.
    Overtaken,
    /// The packet is a second copy of a packet in the capture.
    Copy,
}

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// Duplicate ACKs without SACK: the first retransmission of a fast recovery (RFC 5681 §3.2).
    DuplicateAcks,
    /// SACK blocks beyond a hole: the first retransmission of a recovery (RFC 6675 §5).
    SackedBeyond,
    /// A segment sent later was delivered, and the reordering window has passed (RFC 8985 §6.2).
    Rack,
    /// Fewer than three duplicate ACKs, because no more could arrive (RFC 5827).
    EarlyRetransmit,
    /// A partial ACK in a recovery without SACK (RFC 6582 §3.2).
    PartialAck,
    /// Another hole in the same recovery.
    FurtherHole,
    /// An earlier retransmission was detected as lost without a timeout.
    LostAgain,
    /// The retransmission timer expired (RFC 6298 §5.4).
    Timeout {
        /// Position of the expiry among consecutive expiries, counted from 1.
        #[serde(rename = "timeout_in_a_row")]
        expiry: u32,
    },
    /// The segment was outstanding when the timer expired. It was retransmitted after the segment that the timer
    /// retransmitted.
    AfterTimeout,
    /// A tail loss probe (RFC 8985 §7.3).
    TailLossProbe,
    /// A keep-alive, which checks whether the peer still responds (RFC 9293 §3.8.4).
    KeepAlive,
    /// A window probe, which checks whether the peer's window has opened again (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// The capture does not show the cause.
    Unknown,
}

/// Class of causes, for comparison with a sender's own log or with the states of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The first retransmission of a recovery without a timeout.
    Fast,
    /// A later retransmission of the same recovery.
    Further,
    /// An expiry of the retransmission timer.
    Timeout,
    /// A segment that was outstanding when the timer expired.
    AfterTimeout,
    /// A tail loss probe.
    TailLossProbe,
    /// A keep-alive.
    KeepAlive,
    /// A window probe.
    WindowProbe,
    /// The capture does not show the cause.
    Unknown,
}

impl Class {
    /// All classes, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Fast,
        Self::Further,
        Self::Timeout,
        Self::AfterTimeout,
        Self::TailLossProbe,
        Self::KeepAlive,
        Self::WindowProbe,
        Self::Unknown,
    ];

    /// Returns a name of one to three words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Further => "further",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after timeout",
            Self::TailLossProbe => "tail loss probe",
            Self::KeepAlive => "keep-alive",
            Self::WindowProbe => "window probe",
            Self::Unknown => "unknown",
        }
    }
}

impl Class {
    /// `true` for packets that only request an answer: they do not count as retransmissions, and no data was lost.
    #[must_use]
    pub const fn is_probe(self) -> bool {
        matches!(self, Self::KeepAlive | Self::WindowProbe)
    }
}

impl Cause {
    /// Returns the class of the cause.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::DuplicateAcks | Self::SackedBeyond | Self::Rack | Self::EarlyRetransmit => {
                Class::Fast
            }
            Self::PartialAck | Self::FurtherHole | Self::LostAgain => Class::Further,
            Self::Timeout { .. } => Class::Timeout,
            Self::AfterTimeout => Class::AfterTimeout,
            Self::TailLossProbe => Class::TailLossProbe,
            Self::KeepAlive => Class::KeepAlive,
            Self::WindowProbe => Class::WindowProbe,
            Self::Unknown => Class::Unknown,
        }
    }
}

/// Necessity of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// The earlier transmission had been lost, as far as the capture shows.
    Needed,
    /// Spurious: the receiver reported by a DSACK that it had already received the data (RFC 2883).
    NeedlessByDsack,
    /// Spurious: the ACK echoes the timestamp of the first transmission (RFC 3522).
    NeedlessByTimestamp,
    /// Spurious: the ACK was already in transit, or arrived less than one round-trip time after the retransmission.
    NeedlessByTime,
    /// Spurious: the capture shows that the receiver had acknowledged the data before the retransmission.
    NeedlessByArrival,
    /// The capture does not show whether the retransmission was needed.
    Unknown,
}

impl Need {
    /// `true` if the retransmitted data had already arrived.
    #[must_use]
    pub const fn is_needless(self) -> bool {
        match self {
            Self::NeedlessByDsack
            | Self::NeedlessByTimestamp
            | Self::NeedlessByTime
            | Self::NeedlessByArrival => true,
            Self::Needed | Self::Unknown => false,
        }
    }
}

/// Retransmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Capture time of the retransmission.
    pub at: Instant,
    /// Packet number in the capture, counted from 1.
    pub packet: u64,
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
    /// Number of transmissions of the bytes so far, including this one: 2 for the first retransmission.
    pub transmission: u32,
    /// Cause of the retransmission.
    pub cause: Cause,
    /// Packet number of the ACK that triggered the retransmission; `None` if there is none.
    pub trigger: Option<u64>,
    /// Time before the retransmission in which no segment was sent and no ACK restarted the timer.
    pub waited: Duration,
    /// Necessity of the retransmission, as far as it is known.
    pub need: Need,
    /// `true` if the retransmission itself was lost, as far as this is known.
    pub lost: bool,
}
