//! Who follows a stream: what explains each event, and the analyses that are told of it.

use dupack_tcp::options::{Ecn, Sack};
use dupack_tcp::time::Instant;

use crate::read::moment::{Analysis, Arrival, Departure};
use crate::read::side::Side;
use crate::read::turns::{Spent, Turn};
use crate::read::vantage::Vantage;

/// One stream of data: one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The connection, numbered from 1 in the order of their first packets.
    pub connection: u64,
    /// Who sends the data.
    pub sender: Side,
}

/// What is known of a stream when its first data comes.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Which stream it is.
    pub stream: StreamId,
    /// When its first data was captured.
    pub at: Instant,
    /// When the first SYN was captured; `None` if the capture has none.
    pub opened_at: Option<Instant>,
    /// When the connection was established; `None` if the capture does not show that.
    pub established_at: Option<Instant>,
    /// The packet that established it, by its number in the capture.
    pub established_by: Option<u64>,
    /// Bytes of data in a full segment, as announced, or as the first packets have it.
    pub smss: u32,
    /// The shift of the receiver's windows, if it is known.
    pub window_shift: Option<u8>,
    /// Whether SACK blocks are believed from the start. Where the capture has no SYN, one block is enough
    /// for them to be believed from then on.
    pub sack: Sack,
    /// How marks of congestion are told of.
    pub ecn: Ecn,
    /// Where the capture was taken, as far as it is known by then.
    pub vantage: Vantage,
    /// Whether somebody looks on: then more is worth remembering.
    pub attention: Attention,
}

/// Whether somebody looks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Nobody does.
    Usual,
    /// Somebody does.
    Close,
}

/// Whether a retransmission timer expired before a segment left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// It did not.
    Ran,
    /// It did: the segment was sent by it.
    Expired,
}

/// What follows one stream: it explains every event, and tells the explanation to each analysis and to an
/// onlooker from outside, if there is one.
pub trait Follower {
    /// Begins to follow a stream.
    fn begin(beginning: &Beginning) -> Self;

    /// A segment left. Answers whether that was by a timer, which the packets themselves do not show.
    fn departed(
        &mut self,
        departure: &Departure<'_>,
        onlooker: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer;

    /// An ACK came.
    fn arrived(&mut self, arrival: &Arrival<'_>, onlooker: Option<&mut (dyn Analysis + '_)>);

    /// Data of the peer came in `packet`, a request perhaps; what it says as an ACK is told as well, if that
    /// is anything new. If it acknowledges everything that was sent, `rest` are the bytes that no ACK before did.
    fn asked(&mut self, at: Instant, packet: u64, rest: Option<u64>) {
        let _ = (at, packet, rest);
    }

    /// The sender has sent a packet without data of the stream, with this IPv4 identification.
    fn numbered(&mut self, id: u16) {
        let _ = id;
    }

    /// Returns the time that the sender has spent otherwise than in sending, up to the last segment that left.
    fn spent(&self) -> Spent {
        Spent::default()
    }

    /// The data of this stream answers a request, and the answer is over.
    fn answered(&mut self, turn: &Turn) {
        let _ = turn;
    }

    /// An ACK has come whose SACK blocks all name bytes that were never sent.
    fn foreign_sack(&mut self) {}
}

/// Somebody outside who wants to be told of some of the streams: a figure, the comments of a capture, a
/// test.
pub trait Onlooker {
    /// Who is told of the events of `stream`, if anybody.
    fn analysis(&mut self, stream: StreamId) -> Option<&mut (dyn Analysis + '_)>;

    /// The capture has a packet twice, and this is the second: no analysis is told of it.
    fn copied(&mut self, stream: StreamId, packet: u64) {
        let _ = (stream, packet);
    }
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Onlooker for Nobody {
    fn analysis(&mut self, _: StreamId) -> Option<&mut (dyn Analysis + '_)> {
        None
    }
}
