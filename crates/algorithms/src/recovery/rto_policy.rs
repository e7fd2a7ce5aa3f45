//! Events that restart the retransmission timer, as a parameter of the SACK-based recoveries.

use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::recovery::RtoTimer;

use crate::catalog::{Choice, Parameters};

/// Events that restart the retransmission timer. An advancing cumulative ACK always restarts it (RFC 6298 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum RtoPolicy {
    /// only an advancing cumulative ACK
    Advance,
    /// also a retransmission of the first outstanding segment
    Head,
    /// also a retransmission of any segment
    Retransmission,
    /// also every ACK, duplicate or not
    EveryAck,
}

/// Parameter of the SACK-based recoveries. A recovery whose original differs in ns-2 changes the default.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct RtoTimerParameters {
    /// events that restart the retransmission timer
    #[parameter(
        source = "RFC 6298 §5.3; RFC 6675 §6; Linux tcp_output.c; ns-2.35",
        default(rfc = RtoPolicy::Advance, linux = RtoPolicy::Head, ns2 = RtoPolicy::Advance),
    )]
    pub(super) rto_timer: RtoPolicy,
}

impl RtoPolicy {
    /// Returns the effect of an ACK on the timer.
    pub(super) const fn on_ack(self, ack: &AckFacts<'_>) -> RtoTimer {
        if ack.acked_bytes > 0 || matches!(self, Self::EveryAck) {
            RtoTimer::Restart
        } else {
            RtoTimer::Keep
        }
    }

    /// Returns the effect of a transmission on the timer.
    pub(super) fn on_sent(self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        let again = sent.segment.transmissions > 1;
        let restarts = match self {
            Self::Advance => false,
            Self::Head | Self::EveryAck => again && sent.id == view.scoreboard.first(),
            Self::Retransmission => again,
        };
        if restarts {
            RtoTimer::Restart
        } else {
            RtoTimer::Keep
        }
    }
}
