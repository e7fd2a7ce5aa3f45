//! Kinds of stalls, with TAPO's names, and the remedy for each.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::Duration;

/// Cause of a stall (Zhou et al., "Demystifying and Mitigating TCP Stalls at the Server Side", CoNEXT 2015, §3). TAPO
/// does not have `DelayedAck`, `Nagle` and `ForeignSack`: it counts the first two as packet delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// The sender's application had not yet sent any of its response.
    DataUnavailable,
    /// The sender's application stopped in the middle of a message.
    ResourceConstraint,
    /// The peer was idle: its next request ended the stall.
    ClientIdle,
    /// The peer's receive window was closed.
    ZeroWindow,
    /// ACKs were late (or data segments, in a capture at the receiver), and no data was retransmitted.
    PacketDelay,
    /// The receiver delayed its ACKs, as it may for less than two segments (RFC 9293 §3.8.6.3).
    DelayedAck,
    /// Nagle's algorithm delayed a short segment until the previous segment was acknowledged (RFC 9293 §3.7.4).
    Nagle,
    /// A retransmission that was sent before any timeout was lost (TAPO: f-double).
    FastDouble,
    /// A retransmission that a timeout had triggered was lost (TAPO: t-double).
    TimeoutDouble,
    /// Segments at or near the end of a message were lost while the sender was not in recovery. Therefore, fewer than
    /// three duplicate ACKs followed.
    TailOpen,
    /// The last segments of a message were lost during the recovery of an earlier loss.
    TailRecovery,
    /// A segment was lost while the congestion window was too small for three duplicate ACKs.
    SmallCongestionWindow,
    /// A segment was lost while the receive window was too small for three duplicate ACKs.
    SmallReceiveWindow,
    /// Most of the segments in flight were lost: at least four segments.
    ContinuousLoss,
    /// A segment was lost, and its duplicate ACKs have SACK blocks with bytes that were never sent. A sender that
    /// relies on SACK retransmits only after a timeout. The cause is a middlebox that rewrites the sequence numbers in
    /// TCP headers but not those in SACK blocks. (TAPO does not have this kind.)
    ForeignSack,
    /// ACKs of data that had arrived were so late, or so few, that the timer expired.
    AckDelayOrLoss,
    /// A timer expired, and none of the kinds above explains the stall.
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
    /// The network between the endpoints, including the repair of losses.
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

    /// Returns the origin of stalls of this kind.
    #[must_use]
    pub const fn culprit(self) -> Culprit {
        match self {
            Self::DataUnavailable | Self::ResourceConstraint | Self::Nagle => Culprit::Server,
            Self::ClientIdle | Self::ZeroWindow | Self::DelayedAck => Culprit::Client,
            _ => Culprit::Network,
        }
    }

    /// `true` if stalls of this kind end with the expiry of a timer.
    #[must_use]
    pub const fn ends_by_timer(self) -> bool {
        matches!(self.culprit(), Culprit::Network) && !matches!(self, Self::PacketDelay)
    }

    /// Returns a short description in words.
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

/// Event for which the sender waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitedFor {
    /// Data from the sender's own application.
    Data,
    /// A request from the peer.
    Request,
    /// The opening of the receive window.
    Window,
    /// An ACK.
    Ack,
    /// The retransmission timer.
    RetransmissionTimer,
    /// The timer of a tail loss probe.
    ProbeTimer,
}

/// Remedy for a stall. The duration in some variants is the time from the beginning of the stall until the remedy would
/// have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A tail loss probe would have been sent after this time (RFC 8985 §7.2).
    TailLossProbe(Duration),
    /// RACK would have detected the lost retransmission after this time (RFC 8985 §6.2).
    Rack(Duration),
    /// Early Retransmit (RFC 5827), which needs fewer duplicate ACKs, or RACK, which needs none. The duration is the
    /// time after which a tail loss probe would have been sent.
    EarlyRetransmit(Duration),
    /// A larger receive window.
    ReceiveWindow,
    /// A receiver that reads its data.
    Reading,
    /// An application that provides its data in time.
    Application,
    /// `TCP_NODELAY`, or a single write instead of two.
    NoDelay,
    /// Detection of spurious timeouts when the late ACKs arrive (F-RTO, RFC 5682; Eifel, RFC 3522).
    SpuriousTimeout,
    /// No mechanism at the sender would help.
    None,
}

impl Remedy {
    /// Returns the time after which the remedy would have taken effect, if known.
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
