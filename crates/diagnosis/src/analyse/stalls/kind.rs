//! Kinds of stalls, with TAPO's names, and the remedy for each.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::Duration;

/// Cause of a stall (Zhou et al., "Demystifying and Mitigating TCP Stalls at the Server Side", CoNEXT 2015, §3; delayed
/// ACKs and Nagle's algorithm are ours, TAPO counts them as packet delay).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// The sender's application did not have the answer ready: none of it had been sent.
    DataUnavailable,
    /// The sender's application stopped in the middle of a message.
    ResourceConstraint,
    /// The peer requested nothing: the next packet was its own.
    ClientIdle,
    /// The peer's receive window was closed.
    ZeroWindow,
    /// Packets were late, and nothing was retransmitted: ACKs or, in a capture at the receiver, data segments.
    PacketDelay,
    /// The receiver delayed its ACKs, as it may for less than two segments (RFC 9293 §3.8.6.3).
    DelayedAck,
    /// A short segment waited for the ACK of the one before it, by Nagle's algorithm (RFC 9293 §3.7.4).
    Nagle,
    /// A retransmission was lost that had been sent before a timeout (TAPO: f-double).
    FastDouble,
    /// A retransmission was lost that a timer had triggered (TAPO: t-double).
    TimeoutDouble,
    /// The last segments of a message were lost, or segments so near its end that too few followed for three duplicate
    /// ACKs, with no earlier loss under repair.
    TailOpen,
    /// The last segments of a message were lost while another loss was repaired.
    TailRecovery,
    /// A loss with too little in flight for three duplicate ACKs, because of the congestion window.
    SmallCongestionWindow,
    /// A loss with too little in flight for three duplicate ACKs, because of the receive window.
    SmallReceiveWindow,
    /// Everything in flight was lost, or most of it; at least four segments.
    ContinuousLoss,
    /// A loss whose duplicate ACKs have SACK blocks that name bytes never sent. A sender that relies on SACK repairs it
    /// by its timer alone (ours: something on the path rewrites sequence numbers, but not those in the blocks).
    ForeignSack,
    /// ACKs of data that had arrived were so late, or so few, that the timer expired.
    AckDelayOrLoss,
    /// A timer expired, and none of the above explains it.
    Undetermined,
}

/// Origin of a stall (TAPO's categories).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Culprit {
    /// The sender of the data.
    #[serde(rename = "sender")]
    Server,
    /// The receiver of the data.
    #[serde(rename = "receiver")]
    Client,
    /// The network between them, and the repair of losses.
    Network,
}

impl StallKind {
    /// Number of kinds.
    pub const COUNT: usize = 17;

    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; Self::COUNT] = [
        Self::DataUnavailable,
        Self::ResourceConstraint,
        Self::ClientIdle,
        Self::ZeroWindow,
        Self::PacketDelay,
        Self::DelayedAck,
        Self::Nagle,
        Self::FastDouble,
        Self::TimeoutDouble,
        Self::TailOpen,
        Self::TailRecovery,
        Self::SmallCongestionWindow,
        Self::SmallReceiveWindow,
        Self::ContinuousLoss,
        Self::ForeignSack,
        Self::AckDelayOrLoss,
        Self::Undetermined,
    ];

    /// Returns the position in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the origin.
    #[must_use]
    pub const fn culprit(self) -> Culprit {
        match self {
            Self::DataUnavailable | Self::ResourceConstraint | Self::Nagle => Culprit::Server,
            Self::ClientIdle | Self::ZeroWindow | Self::DelayedAck => Culprit::Client,
            _ => Culprit::Network,
        }
    }

    /// `true` if such a stall ends with the expiry of a timer.
    #[must_use]
    pub const fn ends_by_timer(self) -> bool {
        matches!(self.culprit(), Culprit::Network) && !matches!(self, Self::PacketDelay)
    }

    /// Returns a description, as the subject of a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::DataUnavailable => "data was not ready",
            Self::ResourceConstraint => "the application stopped in mid-message",
            Self::ClientIdle => "the peer sent no request",
            Self::ZeroWindow => "the receive window was shut",
            Self::PacketDelay => "late packets",
            Self::DelayedAck => "delayed ACKs",
            Self::Nagle => "Nagle waits for ACKs",
            Self::FastDouble => "lost retransmissions",
            Self::TimeoutDouble => "consecutive timeouts",
            Self::TailOpen => "tail losses",
            Self::TailRecovery => "tail losses during a recovery",
            Self::SmallCongestionWindow => "losses with a small congestion window",
            Self::SmallReceiveWindow => "losses with a small receive window",
            Self::ContinuousLoss => "losses of whole flights",
            Self::ForeignSack => "losses whose SACK blocks name bytes never sent",
            Self::AckDelayOrLoss => "late or lost ACKs",
            Self::Undetermined => "timeouts of unknown cause",
        }
    }
}

/// Event that the sender waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitedFor {
    /// Data of its own application.
    Data,
    /// A request of the peer.
    Request,
    /// The receive window to open.
    Window,
    /// An ACK.
    Ack,
    /// The retransmission timer.
    RetransmissionTimer,
    /// The timer of a tail loss probe.
    ProbeTimer,
}

/// Remedy for a stall, and the time from the stall's beginning after which it would have acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A tail loss probe would have been sent after this time (RFC 8985 §7.2).
    TailLossProbe(Duration),
    /// RACK would have detected the lost retransmission after this time (RFC 8985 §6.2).
    Rack(Duration),
    /// Fewer duplicate ACKs would have sufficed (RFC 5827), or RACK, which counts none; a probe would have been sent
    /// after this time.
    EarlyRetransmit(Duration),
    /// A larger receive window.
    ReceiveWindow,
    /// A receiver that reads its data.
    Reading,
    /// An application that has its data ready.
    Application,
    /// `TCP_NODELAY`, or one write instead of two.
    NoDelay,
    /// Detection of spurious timeouts when the ACKs come after all (F-RTO, RFC 5682; Eifel, RFC 3522).
    SpuriousTimeout,
    /// No mechanism of a sender.
    None,
}

impl Remedy {
    /// Returns the time after which it would have acted, if known.
    #[must_use]
    pub const fn after(self) -> Option<Duration> {
        match self {
            Self::TailLossProbe(after) | Self::Rack(after) | Self::EarlyRetransmit(after) => {
                Some(after)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_end_all_network_stalls_except_late_packets() {
        let by_timer = StallKind::ALL
            .into_iter()
            .filter(|kind| kind.ends_by_timer());
        let others = StallKind::ALL
            .into_iter()
            .filter(|kind| !kind.ends_by_timer());
        assert_eq!((by_timer.count(), others.count()), (10, 7));
        assert!(StallKind::TailOpen.ends_by_timer());
        for kind in [
            StallKind::PacketDelay,
            StallKind::DelayedAck,
            StallKind::Nagle,
        ] {
            assert!(!kind.ends_by_timer(), "{kind:?}");
        }
    }
}
