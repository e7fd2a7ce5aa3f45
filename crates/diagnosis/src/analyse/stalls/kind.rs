//! The kinds of stalls, as TAPO names them, and what avoids each.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::Duration;

/// Why nothing happened for a while (Zhou et al., "Demystifying and Mitigating TCP Stalls at the Server Side",
/// CoNEXT 2015, §3; delayed ACKs and Nagle's algorithm are ours, which TAPO counts as packet delay).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// The sender's application had the answer not ready: nothing of it had been sent yet.
    DataUnavailable,
    /// The sender's application stopped in the middle of what it sent.
    ResourceConstraint,
    /// The peer asked for nothing: the next thing that came was its.
    ClientIdle,
    /// The peer's receive window was shut.
    ZeroWindow,
    /// Packets came late, and nothing was sent again: ACKs, or, where they are seen when they arrive, segments with data.
    PacketDelay,
    /// The receiver delayed its ACKs, as it may where less than two segments came (RFC 9293 §3.8.6.3).
    DelayedAck,
    /// A short segment waited for the ACK of the one before, by Nagle's algorithm (RFC 9293 §3.7.4).
    Nagle,
    /// A retransmission was lost, that had been sent before a timeout (TAPO: f-double).
    FastDouble,
    /// A retransmission was lost, that a timer had sent (TAPO: t-double).
    TimeoutDouble,
    /// The last segments of a message were lost, or so near the end that too few came after them for three
    /// duplicate ACKs, and nothing was amiss before.
    TailOpen,
    /// The last segments of a message were lost while another loss was repaired.
    TailRecovery,
    /// A loss with too little in flight for three duplicate ACKs, because of the congestion window.
    SmallCongestionWindow,
    /// The same, because of the receive window.
    SmallReceiveWindow,
    /// All that was in flight was lost, or most of it, at least four segments.
    ContinuousLoss,
    /// A loss whose duplicate ACKs have SACK blocks that name bytes never sent: a sender that goes by SACK repairs it by its timer
    /// alone (ours: something on the path rewrites sequence numbers, but not those in the blocks).
    ForeignSack,
    /// ACKs of what had arrived came so late, or so few, that the timer expired.
    AckDelayOrLoss,
    /// A timer expired, and none of the above explains it.
    Undetermined,
}

/// Who a stall is due to (TAPO's categories).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Culprit {
    /// The end that sends the data.
    #[serde(rename = "sender")]
    Server,
    /// The end that receives it.
    #[serde(rename = "receiver")]
    Client,
    /// What is between them, and how losses are repaired.
    Network,
}

impl StallKind {
    /// How many there are.
    pub const COUNT: usize = 17;

    /// All of them, in the order of their names above.
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

    /// Its place in [`Self::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Who it is due to.
    #[must_use]
    pub const fn culprit(self) -> Culprit {
        match self {
            Self::DataUnavailable | Self::ResourceConstraint | Self::Nagle => Culprit::Server,
            Self::ClientIdle | Self::ZeroWindow | Self::DelayedAck => Culprit::Client,
            _ => Culprit::Network,
        }
    }

    /// Whether it ended with the expiry of a timer.
    #[must_use]
    pub const fn ends_by_timer(self) -> bool {
        matches!(self.culprit(), Culprit::Network) && !matches!(self, Self::PacketDelay)
    }

    /// What it was, as the subject of a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::DataUnavailable => "data was not ready",
            Self::ResourceConstraint => "the application stopped in the middle",
            Self::ClientIdle => "the peer asked for nothing",
            Self::ZeroWindow => "the receive window was shut",
            Self::PacketDelay => "late packets",
            Self::DelayedAck => "delayed ACKs",
            Self::Nagle => "Nagle waits for ACKs",
            Self::FastDouble => "retransmissions that were lost",
            Self::TimeoutDouble => "timeouts one after the other",
            Self::TailOpen => "tail losses",
            Self::TailRecovery => "tail losses during a recovery",
            Self::SmallCongestionWindow => "losses with a small congestion window",
            Self::SmallReceiveWindow => "losses with a small receive window",
            Self::ContinuousLoss => "losses of whole flights",
            Self::ForeignSack => "losses whose SACK blocks name bytes never sent",
            Self::AckDelayOrLoss => "ACKs that were late or lost",
            Self::Undetermined => "timeouts of unknown cause",
        }
    }
}

/// What the sender waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitedFor {
    /// Data of its own application.
    Data,
    /// The peer to ask.
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

/// What would have made a stall shorter, and when it would have ended: counted from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A tail loss probe would have been sent after this (RFC 8985 §7.2).
    TailLossProbe(Duration),
    /// RACK would have found the retransmission lost after this (RFC 8985 §6.2).
    Rack(Duration),
    /// Fewer duplicate ACKs would have done (RFC 5827), or RACK, which counts none; a probe would have been
    /// sent after this.
    EarlyRetransmit(Duration),
    /// A larger receive window.
    ReceiveWindow,
    /// A receiver that reads.
    Reading,
    /// An application that has its data ready.
    Application,
    /// TCP_NODELAY, or one write instead of two.
    NoDelay,
    /// A timeout that is not believed when the ACKs come after all (F-RTO, RFC 5682; Eifel, RFC 3522).
    SpuriousTimeout,
    /// Nothing that a sender does.
    None,
}

impl Remedy {
    /// How soon it would have acted, if that is known.
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
    fn timers_end_what_the_network_does_but_for_late_packets() {
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
