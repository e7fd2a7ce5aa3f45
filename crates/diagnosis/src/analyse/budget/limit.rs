//! What can limit a transfer: the names among which every instant is divided.

use schemars::JsonSchema;
use serde::Serialize;

/// What limited a sender at an instant. Every instant of a stream belongs to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The connection was being opened.
    Handshake,
    /// Nothing was outstanding, and the application gave nothing to send.
    #[serde(rename = "application_idle")]
    Idle,
    /// Data was outstanding, and the application gave nothing more to send.
    #[serde(rename = "application_pause")]
    Pause,
    /// The receive window was full.
    ReceiveWindow,
    /// The receive window was shut: the receiver's application did not read.
    ZeroWindow,
    /// A short segment waited for the ACK of the one before it (Nagle's algorithm, RFC 896).
    Nagle,
    /// The sender could have sent by every window that a capture tells of, had more, and did not: its
    /// send buffer (Linux: `sndbuf_limited`), or a limit that is not known.
    #[serde(rename = "sender_buffer_or_unknown")]
    SenderBuffer,
    /// The congestion window, which had not met its first loss and grew with every ACK.
    SlowStart,
    /// The congestion window, after a loss, or grown slowly since slow start ended.
    CongestionWindow,
    /// A loss was being repaired.
    Recovery,
    /// The retransmission timer had to expire before anything was sent (RFC 6298).
    RetransmissionTimer,
    /// The timer of a tail loss probe had to expire before anything was sent (RFC 8985 §7.2).
    ProbeTimer,
    /// The bottleneck was busy, and no queue stood before it.
    #[serde(rename = "bottleneck_empty_queue")]
    EmptyQueue,
    /// The bottleneck was busy, and a queue stood before it.
    #[serde(rename = "bottleneck_standing_queue")]
    StandingQueue,
    /// The bottleneck was busy, and the queue before it overflowed.
    #[serde(rename = "bottleneck_overflowing_queue")]
    OverflowingQueue,
}

/// Limits that a person would name by one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// [`Limit::Handshake`].
    Handshake,
    /// [`Limit::Idle`] and [`Limit::Pause`].
    Application,
    /// [`Limit::ReceiveWindow`] and [`Limit::ZeroWindow`].
    Receiver,
    /// [`Limit::Nagle`].
    Nagle,
    /// [`Limit::SenderBuffer`].
    Sender,
    /// [`Limit::SlowStart`].
    SlowStart,
    /// [`Limit::CongestionWindow`] and [`Limit::Recovery`].
    Losses,
    /// [`Limit::RetransmissionTimer`] and [`Limit::ProbeTimer`].
    Timers,
    /// [`Limit::EmptyQueue`], [`Limit::StandingQueue`] and [`Limit::OverflowingQueue`].
    Path,
}

impl Limit {
    /// How many there are.
    pub const COUNT: usize = 15;

    /// All of them, in the order of their names above.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Handshake,
        Self::Idle,
        Self::Pause,
        Self::ReceiveWindow,
        Self::ZeroWindow,
        Self::Nagle,
        Self::SenderBuffer,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::Recovery,
        Self::RetransmissionTimer,
        Self::ProbeTimer,
        Self::EmptyQueue,
        Self::StandingQueue,
        Self::OverflowingQueue,
    ];

    /// Its place in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// What it counts under.
    #[must_use]
    pub const fn group(self) -> Group {
        match self {
            Self::Handshake => Group::Handshake,
            Self::Idle | Self::Pause => Group::Application,
            Self::ReceiveWindow | Self::ZeroWindow => Group::Receiver,
            Self::Nagle => Group::Nagle,
            Self::SenderBuffer => Group::Sender,
            Self::SlowStart => Group::SlowStart,
            Self::CongestionWindow | Self::Recovery => Group::Losses,
            Self::RetransmissionTimer | Self::ProbeTimer => Group::Timers,
            Self::EmptyQueue | Self::StandingQueue | Self::OverflowingQueue => Group::Path,
        }
    }

    /// A short name, for tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Idle => "application idle",
            Self::Pause => "application paused",
            Self::ReceiveWindow => "receive window full",
            Self::ZeroWindow => "receive window shut",
            Self::Nagle => "Nagle's algorithm",
            Self::SenderBuffer => "sender's buffer or unknown",
            Self::SlowStart => "slow start",
            Self::CongestionWindow => "congestion window",
            Self::Recovery => "recovery",
            Self::RetransmissionTimer => "retransmission timer",
            Self::ProbeTimer => "probe timer",
            Self::EmptyQueue => "bottleneck, empty queue",
            Self::StandingQueue => "bottleneck, standing queue",
            Self::OverflowingQueue => "bottleneck, overflowing queue",
        }
    }
}

impl Group {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Handshake,
        Self::Application,
        Self::Receiver,
        Self::Nagle,
        Self::Sender,
        Self::SlowStart,
        Self::Losses,
        Self::Timers,
        Self::Path,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_stands_at_its_index_and_in_one_group() {
        for (index, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit.index(), index, "{limit:?}");
            assert!(Group::ALL.contains(&limit.group()));
        }
        let mut names = Limit::ALL.map(Limit::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
