//! States of a connection and the transitions between them (RFC 9293 §3.3.2).

use core::fmt;

/// State of a connection, with the names of RFC 9293.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// This end waits for a SYN.
    Listen,
    /// This end has sent a SYN.
    SynSent,
    /// This end has received a SYN, has sent its own SYN, and waits for the acknowledgment.
    SynReceived,
    /// The connection is open in both directions.
    Established,
    /// This end has ended its stream; its FIN is not yet acknowledged.
    FinWait1,
    /// This end's FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer has ended its stream; this end may still send.
    CloseWait,
    /// Both ends have ended their streams; this end's FIN is not yet acknowledged.
    Closing,
    /// The peer ended its stream first; this end's FIN is not yet acknowledged.
    LastAck,
    /// Both FINs are acknowledged; this end waits until no old segments can be in the network.
    TimeWait,
    /// The connection is over.
    Closed,
}

/// Event that changes the state of an established connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The application ends its stream.
    Close,
    /// The peer has acknowledged this end's FIN.
    FinAcknowledged,
    /// The peer's FIN and all data before it have arrived.
    PeerFinished,
}

impl State {
    /// Returns the state after `step`, or the same state if `step` has no effect in this state.
    pub(super) const fn after(self, step: Step) -> Self {
        match (self, step) {
            (Self::Established, Step::Close) => Self::FinWait1,
            (Self::CloseWait, Step::Close) => Self::LastAck,
            (Self::FinWait1, Step::FinAcknowledged) => Self::FinWait2,
            (Self::Closing, Step::FinAcknowledged) => Self::TimeWait,
            (Self::LastAck, Step::FinAcknowledged) => Self::Closed,
            (Self::Established, Step::PeerFinished) => Self::CloseWait,
            (Self::FinWait1, Step::PeerFinished) => Self::Closing,
            (Self::FinWait2, Step::PeerFinished) => Self::TimeWait,
            (state, _) => state,
        }
    }

    /// Returns `true` if both ends have confirmed each other's initial sequence numbers.
    #[must_use]
    pub const fn is_synchronized(self) -> bool {
        !matches!(
            self,
            Self::Listen | Self::SynSent | Self::SynReceived | Self::Closed
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Listen => "LISTEN",
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::TimeWait => "TIME-WAIT",
            Self::Closed => "CLOSED",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_closing_ends_as_in_the_rfc() {
        use Step::{Close, FinAcknowledged, PeerFinished};
        let walk = |steps: [Step; 3]| {
            steps
                .into_iter()
                .fold(State::Established, |state, step| state.after(step))
        };
        // The expected states follow RFC 9293 §3.3.2, figure 5.
        for (steps, end) in [
            ([Close, FinAcknowledged, PeerFinished], State::TimeWait),
            ([Close, PeerFinished, FinAcknowledged], State::TimeWait),
            ([PeerFinished, Close, FinAcknowledged], State::Closed),
        ] {
            assert_eq!(walk(steps), end, "{steps:?}");
        }
        for state in [State::TimeWait, State::Closed, State::Listen] {
            assert_eq!(state.after(Close), state);
        }
    }

    #[test]
    fn a_state_is_synchronized_once_both_numbers_are_known() {
        // RFC 9293 §3.5.2 lists the synchronized states.
        use State::{
            Closed, Established, FinWait1, LastAck, Listen, SynReceived, SynSent, TimeWait,
        };
        let before = [Listen, SynSent, SynReceived, Closed];
        assert!(before.iter().all(|state| !state.is_synchronized()));
        let after = [Established, FinWait1, LastAck, TimeWait];
        assert!(after.iter().all(|state| state.is_synchronized()));
    }
}
