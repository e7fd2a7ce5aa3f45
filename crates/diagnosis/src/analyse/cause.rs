//! Causes of retransmissions.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::{Duration, Instant};

/// Kind of a segment with bytes that the capture has shown before, or that were missing when later bytes arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The sender retransmitted it.
    Retransmission(Cause),
    /// Later segments overtook it on the path: it was sent once.
    Overtaken,
    /// The capture contains the same packet twice.
    Copy,
}

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// Duplicate ACKs, without SACK: the first retransmission of a fast recovery (RFC 5681 §3.2).
    DuplicateAcks,
    /// SACK blocks beyond a hole: the first retransmission of a recovery (RFC 6675 §5).
    SackedBeyond,
    /// A segment sent later was delivered, and the reordering window has passed (RFC 8985 §6.2).
    Rack,
    /// Fewer than three duplicate ACKs, as no more could come (RFC 5827).
    EarlyRetransmit,
    /// A partial ACK in a recovery without SACK (RFC 6582 §3.2).
    PartialAck,
    /// Another hole in the same recovery.
    FurtherHole,
    /// An earlier retransmission was found lost without a timeout.
    LostAgain,
    /// The retransmission timer expired (RFC 6298 §5.4).
    Timeout {
        /// Position of the expiry in a row of expiries, from 1.
        #[serde(rename = "timeout_in_a_row")]
        expiry: u32,
    },
    /// The segment was outstanding when the timer expired, and was retransmitted after the first one.
    AfterTimeout,
    /// A tail loss probe (RFC 8985 §7.3).
    TailLossProbe,
    /// A keep-alive, which asks whether the peer is still there (RFC 9293 §3.8.4).
    KeepAlive,
    /// A window probe, which asks whether the peer's window is open again (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// The capture does not tell.
    Unknown,
}

/// Group of causes, to compare with a sender's own log or with the states of its kernel.
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
    /// The capture does not tell.
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
    /// `true` for packets that only request an answer: they are no retransmissions, and nothing was lost.
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
    /// Spurious: the receiver reported by a DSACK that it already had the data (RFC 2883).
    NeedlessByDsack,
    /// Spurious: the ACK echoes the timestamp of the first transmission (RFC 3522).
    NeedlessByTimestamp,
    /// Spurious: the ACK was already in transit, or came sooner after the retransmission than any round trip takes.
    NeedlessByTime,
    /// Spurious: the capture shows that the receiver had acknowledged the data before.
    NeedlessByArrival,
    /// The capture does not tell.
    Unknown,
}

impl Need {
    /// `true` if the retransmitted data had arrived before.
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
    /// Time of its capture.
    pub at: Instant,
    /// Its packet number in the capture, from 1.
    pub packet: u64,
    /// Offset of its first byte.
    pub start: u64,
    /// Offset after its last byte.
    pub end: u64,
    /// Number of this transmission of the bytes: 2 for the first retransmission.
    pub transmission: u32,
    /// Cause of the retransmission.
    pub cause: Cause,
    /// Packet number of the ACK that triggered it, if any.
    pub trigger: Option<u64>,
    /// Time before it in which nothing was sent and no ACK restarted the timer.
    pub waited: Duration,
    /// Necessity, as far as known so far.
    pub need: Need,
    /// `true` if it was lost itself, as far as known so far.
    pub lost: bool,
}
