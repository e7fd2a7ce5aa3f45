//! Followers of a stream: the explanation of each event, and the analyses that receive it.

use dupack_tcp::options::{Ecn, Sack};
use dupack_tcp::time::Instant;

use crate::read::moment::{Analysis, Arrival, Departure};
use crate::read::side::Side;
use crate::read::turns::{Spent, Turn};
use crate::read::vantage::Vantage;

/// One data stream: one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Connection number: connections are numbered from 1 in the order of their first packets.
    pub connection: u64,
    /// Endpoint that sends the data of the stream.
    pub sender: Side,
}

/// Facts about a stream that are known when its first data is captured.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Identity of the stream.
    pub stream: StreamId,
    /// Capture time of the first data.
    pub at: Instant,
    /// Capture time of the first SYN; `None` if the capture has none.
    pub opened_at: Option<Instant>,
    /// Time at which the connection was established; `None` if the capture does not show it.
    pub established_at: Option<Instant>,
    /// Capture number of the packet that established the connection.
    pub established_by: Option<u64>,
    /// Number of data bytes in a full segment, as announced, or as inferred from the first packets.
    pub smss: u32,
    /// Window scale shift of the receiver, if it is known.
    pub window_shift: Option<u8>,
    /// Use of SACK blocks from the start. If the capture lacks the SYNs, the first SACK block enables SACK from then
    /// on.
    pub sack: Sack,
    /// Kind of ECN feedback.
    pub ecn: Ecn,
    /// Capture point, as far as it is known at that time.
    pub vantage: Vantage,
    /// Presence of an observer. If there is an observer, more details are stored.
    pub attention: Attention,
}

/// Presence of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// No observer.
    Usual,
    /// An observer watches the stream.
    Close,
}

/// Retransmission timer at the time when a segment left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The timer had not expired.
    Ran,
    /// The timer had expired and sent the segment.
    Expired,
}

/// Follower of one stream. It explains every event, and passes the explanation to each analysis and to an external
/// observer, if there is one.
pub trait Follower {
    /// Starts following a stream.
    fn begin(beginning: &Beginning) -> Self;

    /// Handles a departure. Returns `Expired` if a timer sent the segment, which the packets themselves do not show.
    fn departed(
        &mut self,
        departure: &Departure<'_>,
        onlooker: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer;

    /// Handles an ACK that arrived.
    fn arrived(&mut self, arrival: &Arrival<'_>, onlooker: Option<&mut (dyn Analysis + '_)>);

    /// Handles data from the peer in `packet`, possibly a request. The ACK in the packet is reported separately if it
    /// contains new information. If the ACK acknowledges everything that was sent, `rest` is the number of bytes that
    /// this ACK newly acknowledges.
    fn asked(&mut self, at: Instant, packet: u64, rest: Option<u64>) {
        let _ = (at, packet, rest);
    }

    /// Handles a packet from the sender without data of the stream. `id` is its IPv4 identification.
    fn numbered(&mut self, id: u16) {
        let _ = id;
    }

    /// Returns the time that the sender has spent on anything other than sending, up to the last departure.
    fn spent(&self) -> Spent {
        Spent::default()
    }

    /// Handles the end of a response that was carried by this stream.
    fn answered(&mut self, turn: &Turn) {
        let _ = turn;
    }

    /// Handles an ACK whose SACK blocks contain only bytes that were never sent.
    fn foreign_sack(&mut self) {}
}

/// External observer of some of the streams, such as a figure, the annotation of a capture, or a test.
pub trait Onlooker {
    /// Returns the analysis that receives the events of `stream`, if there is one.
    fn analysis(&mut self, stream: StreamId) -> Option<&mut (dyn Analysis + '_)>;

    /// Handles the second copy of a packet that the capture contains twice. No analysis receives this copy.
    fn copied(&mut self, stream: StreamId, packet: u64) {
        let _ = (stream, packet);
    }
}

/// Observer without analyses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Onlooker for Nobody {
    fn analysis(&mut self, _: StreamId) -> Option<&mut (dyn Analysis + '_)> {
        None
    }
}
