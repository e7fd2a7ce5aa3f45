//! Limits of a transfer, among which every instant is divided.

use schemars::JsonSchema;
use serde::Serialize;

/// Limit of a sender at an instant. Every instant of a stream has exactly one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The connection was being opened.
    Handshake,
    /// No data was outstanding, and the application provided no data.
    #[serde(rename = "application_idle")]
    Idle,
    /// Data was outstanding, and the application provided no more data.
    #[serde(rename = "application_pause")]
    Pause,
    /// The receive window was full.
    ReceiveWindow,
    /// The receive window was closed, because the receiving application did not read.
    ZeroWindow,
    /// A short segment waited for the ACK of the previous short segment (Nagle's algorithm, RFC 896).
    Nagle,
    /// Every window visible in the capture had space and the application had more data, but the sender did not send.
    /// The limit is the send buffer (Linux: `sndbuf_limited`), or it is unknown.
    #[serde(rename = "sender_buffer_or_unknown")]
    SenderBuffer,
    /// The congestion window was the limit in slow start: no loss had occurred, and the window grew with every ACK.
    SlowStart,
    /// The congestion window was the limit after slow start: a loss had occurred, or the window grew slowly.
    CongestionWindow,
    /// A loss was being repaired.
    Recovery,
    /// The sender waited for its retransmission timer (RFC 6298).
    RetransmissionTimer,
    /// The sender waited for the timer of a tail loss probe (RFC 8985 §7.2).
    ProbeTimer,
    /// The bottleneck was busy and had no queue.
    #[serde(rename = "bottleneck_empty_queue")]
    EmptyQueue,
    /// The bottleneck was busy and had a queue.
    #[serde(rename = "bottleneck_standing_queue")]
    StandingQueue,
    /// The bottleneck was busy and its queue overflowed.
    #[serde(rename = "bottleneck_overflowing_queue")]
    OverflowingQueue,
}

/// Group of limits with a common name.
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
    /// Number of limits.
    pub const COUNT: usize = 15;

    /// All limits, in the order of their declaration.
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

    /// Returns the position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the group of the limit.
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

    /// Returns a short name for tables and files.
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
    /// All groups.
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
    fn every_limit_has_its_index_and_one_group() {
        for (index, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit.index(), index, "{limit:?}");
            assert!(Group::ALL.contains(&limit.group()));
        }
        let mut names = Limit::ALL.map(Limit::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
