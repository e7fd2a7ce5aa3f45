//! Events that every analysis receives: departures of segments and arrivals of ACKs, in the order in which they
//! occurred at the sender.

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::replay::{Needless, SendingKind};
use dupack_tcp::time::Instant;

use crate::analyse::cause::{Repeat, Retransmission};

/// Departure of a segment from the sender.
///
/// Times are capture times, counted from the first packet of the capture. If the capture was not taken at the sender, a
/// segment is captured after it was sent, and an ACK is captured before it arrived. Therefore, ACKs are held until the
/// sender has received them ([`Vantage`](crate::Vantage)), so that causes precede their effects. The time of a segment
/// is late by the delay from the sender to the capture point.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// Capture time.
    pub at: Instant,
    /// Packet number in the capture, from 1.
    pub packet: u64,
    /// Offset of the first byte in the stream.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
    /// New data or a repetition, as far as the capture shows it.
    pub kind: SendingKind,
    /// Number of bytes just before the segment that the capture lacks. They were lost before the capture point, or were
    /// not captured.
    pub unseen_bytes: u64,
    /// Control bits.
    pub flags: Flags,
    /// TSval and TSecr; `None` if the segment has no timestamps.
    pub timestamps: Option<dupack_tcp::connection::Timestamps>,
    /// IPv4 identification; `None` if there is none.
    pub ip_id: Option<u16>,
    /// Remaining bytes of the receive window after all data sent so far; `None` if the window scale is unknown.
    pub window_left: Option<u64>,
    /// Transmissions that the packet represents. There are several if the network interface splits the packet
    /// (offload).
    pub sent: &'a [Sent],
    /// State of the sender after the departure, as far as it can be known.
    pub view: View<'a>,
}

/// Arrival of an ACK at the sender.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Time of arrival at the sender, as far as the capture shows it.
    pub at: Instant,
    /// Capture time.
    pub captured: Instant,
    /// Packet number in the capture, from 1.
    pub packet: u64,
    /// Facts that the ACK reported to the sender.
    pub facts: AckFacts<'a>,
    /// Retransmission that the ACK shows to be spurious, if there is one.
    pub needless: Option<Needless>,
    /// TSval and TSecr; `None` if the ACK has no timestamps.
    pub timestamps: Option<dupack_tcp::connection::Timestamps>,
    /// Receive window that the ACK grants, in bytes; `None` if the window scale is unknown.
    pub window: Option<u64>,
    /// Window field before scaling; `None` if the capture cut it off.
    pub field: Option<u16>,
    /// Number of data bytes in the packet. Data reaches the application, whereas a pure ACK does not.
    pub carried: u32,
    /// Remaining bytes of this window after all data sent so far; `None` if the window scale is unknown.
    pub window_left: Option<u64>,
    /// State of the sender after the arrival, as far as it can be known.
    pub view: View<'a>,
}

/// Recovery stage of a sender, as its transmissions show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// No sign of loss.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have arrived, and no data has been retransmitted.
    Disorder,
    /// Data was retransmitted without a timeout, and the data outstanding at that time is not completely acknowledged.
    Recovery,
    /// Data was retransmitted after a timeout, and the data outstanding at that time is not completely acknowledged.
    Loss,
}

/// Explanation of an event, for the analyses that receive it afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    /// Recovery stage of the sender after the event.
    pub stage: Stage,
    /// Kind of the repetition; `None` unless bytes of the segment were captured more than once, or late.
    pub repeat: Option<Repeat>,
    /// Details of the retransmission; `None` if the segment is not a retransmission.
    pub retransmission: Option<&'a Retransmission>,
    /// Offsets of the bytes that had arrived before they were retransmitted, according to timestamps or the timing of
    /// the ACK.
    pub needless: Option<(u64, u64)>,
}

/// Receiver of every event of one stream.
pub trait Analysis {
    /// Handles the departure of a segment.
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>);

    /// Handles the arrival of an ACK.
    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>);
}
