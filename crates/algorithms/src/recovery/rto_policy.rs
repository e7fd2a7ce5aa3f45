//! Which events restart the retransmission timer, as the SACK-based recoveries may choose it.

use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::recovery::RtoTimer;

use crate::catalog::spec::{Defaults, Kind, ParameterSpec, Parameters, Value};

/// What restarts the retransmission timer besides an advancing cumulative ACK, which always
/// does (RFC 6298 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RtoPolicy {
    /// Nothing.
    Advance,
    /// Resending the first outstanding segment.
    Head,
    /// Resending any segment.
    Retransmission,
    /// Every ACK, duplicate or not.
    EveryAck,
}

impl RtoPolicy {
    /// The choices of the parameter `rto_timer`.
    pub(super) const KIND: Kind = Kind::Choice(&[
        ("advance", "only an advancing cumulative ACK restarts it"),
        ("head", "resending the first outstanding segment does too"),
        ("retransmission", "resending any segment does too"),
        ("every-ack", "every ACK does, duplicate or not"),
    ]);

    /// The parameter `rto_timer` with these defaults.
    pub(super) const fn parameter(
        rfc: &'static str,
        linux: &'static str,
        ns2: &'static str,
    ) -> ParameterSpec {
        ParameterSpec {
            name: "rto_timer",
            doc: "what restarts the retransmission timer",
            source: "RFC 6298 §5.3; RFC 6675 §6; Linux tcp_output.c; ns-2.35",
            kind: Self::KIND,
            default: Defaults {
                rfc: Value::Choice(rfc),
                linux: Value::Choice(linux),
                ns2: Value::Choice(ns2),
            },
        }
    }

    /// What `rto_timer` was set to.
    pub(super) fn of(parameters: &Parameters) -> Self {
        match parameters.choice("rto_timer") {
            "head" => Self::Head,
            "retransmission" => Self::Retransmission,
            "every-ack" => Self::EveryAck,
            _ => Self::Advance,
        }
    }

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
