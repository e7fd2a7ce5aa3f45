//! Events that a connection reports to its host.

use core::fmt;

use super::config::Negotiated;
use super::icmp::Unreachable;

/// Event for the host. Events of the same kind are merged until the host takes them, so that the queue cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is established.
    Connected(Negotiated),
    /// The peer's stream is complete up to this offset: the host may pass the data to the application and then call
    /// [`Connection::read`](super::Connection::read).
    Readable {
        /// Offset after the last readable byte.
        until: u64,
    },
    /// The peer has acknowledged the stream up to this offset: the host may discard the bytes before it.
    Acknowledged {
        /// Offset after the last acknowledged byte.
        until: u64,
    },
    /// The peer's stream has ended, and all its data has arrived.
    PeerFinished {
        /// Length of the peer's stream in bytes.
        at: u64,
    },
    /// The connection is over. This is the last event.
    Closed(Reason),
}

/// Reason for the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Both ends have sent a FIN, and both FINs are acknowledged.
    Finished,
    /// The peer responded to this end's SYN with a RST.
    Refused,
    /// The peer sent a RST.
    Reset,
    /// The host called [`Connection::abort`](super::Connection::abort).
    Aborted,
    /// The handshake took too long.
    OpenTimedOut,
    /// Data waited too long for an acknowledgment or for the window to open.
    TimedOut,
    /// The peer did not answer the keep-alive probes.
    PeerSilent,
    /// An ICMP error ended the handshake, or data waited too long after an ICMP error.
    Unreachable(Unreachable),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable(what) => return what.fmt(f),
            Self::Finished => "finished",
            Self::Refused => "connection refused",
            Self::Reset => "connection reset by peer",
            Self::Aborted => "aborted",
            Self::OpenTimedOut => "the peer did not answer the SYN in time",
            Self::TimedOut => {
                "the peer acknowledged no data, or kept its window closed, for too long"
            }
            Self::PeerSilent => "the peer did not answer keep-alive probes",
        })
    }
}

/// Events that the host has not taken yet: at most one of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    pub(super) connected: Option<Negotiated>,
    pub(super) acknowledged: Option<u64>,
    pub(super) readable: Option<u64>,
    pub(super) finished: Option<u64>,
    pub(super) closed: Option<Reason>,
}

impl Pending {
    /// Returns the next event. The order permits a host to handle the events one by one.
    pub(super) fn take(&mut self) -> Option<Event> {
        if let Some(negotiated) = self.connected.take() {
            return Some(Event::Connected(negotiated));
        }
        if let Some(until) = self.acknowledged.take() {
            return Some(Event::Acknowledged { until });
        }
        if let Some(until) = self.readable.take() {
            return Some(Event::Readable { until });
        }
        if let Some(at) = self.finished.take() {
            return Some(Event::PeerFinished { at });
        }
        self.closed.take().map(Event::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_merged_by_kind_and_the_end_comes_last() {
        let mut pending = Pending {
            connected: None,
            acknowledged: Some(10),
            readable: Some(20),
            finished: Some(20),
            closed: Some(Reason::Finished),
        };
        let mut taken = [None; 5];
        taken.fill_with(|| pending.take());
        let in_order = [
            Some(Event::Acknowledged { until: 10 }),
            Some(Event::Readable { until: 20 }),
            Some(Event::PeerFinished { at: 20 }),
            Some(Event::Closed(Reason::Finished)),
            None,
        ];
        assert_eq!(taken, in_order);
    }
}
