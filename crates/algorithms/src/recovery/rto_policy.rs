//! Which events restart the retransmission timer, as the SACK-based recoveries may choose it.

use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::recovery::RtoTimer;

use crate::catalog::{Choice, Parameters};

/// What restarts the retransmission timer besides an advancing cumulative ACK, which always
/// does (RFC 6298 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum RtoPolicy {
    /// only an advancing cumulative ACK restarts it
    Advance,
    /// resending the first outstanding segment does too
    Head,
    /// resending any segment does too
    Retransmission,
    /// every ACK does, duplicate or not
    EveryAck,
}

/// The parameter of the SACK-based recoveries. Those whose original does something else in ns-2
/// change the default.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct RtoTimerParameters {
    /// what restarts the retransmission timer
    #[parameter(
        source = "RFC 6298 §5.3; RFC 6675 §6; Linux tcp_output.c; ns-2.35",
        default(rfc = RtoPolicy::Advance, linux = RtoPolicy::Head, ns2 = RtoPolicy::Advance),
    )]
    pub(super) rto_timer: RtoPolicy,
}

impl RtoPolicy {
    /// What an ACK does to the timer.
    pub(super) const fn on_ack(self, ack: &AckFacts<'_>) -> RtoTimer {
        if ack.acked_bytes > 0 || matches!(self, Self::EveryAck) {
            RtoTimer::Restart
        } else {
            RtoTimer::Keep
        }
    }

    /// What a transmission does to the timer.
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
