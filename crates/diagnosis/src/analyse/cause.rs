//! Why a segment was sent again.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::{Duration, Instant};

/// What a segment was of which the capture shows bytes that it showed before, or that were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The sender sent it again.
    Retransmission(Cause),
    /// Later ones overtook it on the way: it was sent once.
    Overtaken,
    /// The capture has the same packet twice.
    Copy,
}

/// What made the sender send a segment again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// Duplicate ACKs, without SACK: the first repair of a fast recovery (RFC 5681 §3.2).
    DuplicateAcks,
    /// SACK blocks beyond a hole: the first repair of a recovery (RFC 6675 §5).
    SackedBeyond,
    /// Something sent later had arrived for longer than packets overtake one another (RFC 8985 §6.2).
    Rack,
    /// Fewer duplicate ACKs than three, as no more could come (RFC 5827).
    EarlyRetransmit,
    /// A partial ACK in a recovery without SACK (RFC 6582 §3.2).
    PartialAck,
    /// A further hole of the same recovery.
    FurtherHole,
    /// It had been repaired before, and that was found lost without a timeout.
    LostAgain,
    /// The retransmission timer expired (RFC 6298 §5.4).
    Timeout {
        /// Which expiry in a row it was, from 1.
        #[serde(rename = "timeout_in_a_row")]
        expiry: u32,
    },
    /// It was outstanding when the timer expired, and was sent again after the first.
    AfterTimeout,
    /// A probe for a lost tail (RFC 8985 §7.3).
    TailLossProbe,
    /// The peer is asked whether it is still there (RFC 9293 §3.8.4).
    KeepAlive,
    /// The peer is asked whether its window is open again (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// The capture does not tell.
    Unknown,
}

/// Causes in groups: what a sender's own words, or the states of a kernel's, can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The first repair of a recovery without a timeout.
    Fast,
    /// A further one of the same recovery.
    Further,
    /// An expiry of the retransmission timer.
    Timeout,
    /// What was outstanding at the expiry.
    AfterTimeout,
    /// A probe for a lost tail.
    TailLossProbe,
    /// Whether the peer is still there.
    KeepAlive,
    /// Whether its window is open.
    WindowProbe,
    /// The capture does not tell.
    Unknown,
}

impl Class {
    /// All, each at its own place.
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

    /// Its name, in a word or two.
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
    /// `true` for packets that only ask for an answer: they are no retransmissions, and nothing was lost.
    #[must_use]
    pub const fn is_probe(self) -> bool {
        matches!(self, Self::KeepAlive | Self::WindowProbe)
    }
}

impl Cause {
    /// Its group.
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

/// Whether a retransmission was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// What it repeated had been lost, as far as the capture tells.
    Needed,
    /// It had arrived: the receiver said so by a DSACK (RFC 2883).
    NeedlessByDsack,
    /// It had arrived: the ACK for it echoes the first transmission's timestamp (RFC 3522).
    NeedlessByTimestamp,
    /// It had arrived: its ACK was on the way, or it came sooner after the repair than any round trip takes.
    NeedlessByTime,
    /// It had arrived: the capture shows the receiver's ACK of it before.
    NeedlessByArrival,
    /// Nothing tells.
    Unknown,
}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// When it was captured.
    pub at: Instant,
    /// Its number in the capture, from 1.
    pub packet: u64,
    /// Offset of its first byte.
    pub start: u64,
    /// The offset after its last.
    pub end: u64,
    /// Which transmission of these bytes it is: 2 for the first repair.
    pub transmission: u32,
    /// What made the sender send it.
    pub cause: Cause,
    /// The ACK that set it off, by its number in the capture, if one did.
    pub trigger: Option<u64>,
    /// For how long nothing had been sent and nothing had come that moves the timer.
    pub waited: Duration,
    /// Whether it was needed, as far as is known by now.
    pub need: Need,
    /// Whether it was lost itself, as far as is known by now.
    pub lost: bool,
}
