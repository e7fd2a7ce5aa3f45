//! What every analysis is told: a segment left, an ACK came, in the order in which it was so at the
//! sender.

use dupack_tcp::connection::Flags;
use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::replay::{Needless, SendingKind};
use dupack_tcp::time::Instant;

use crate::analyse::cause::{Repeat, Retransmission};

/// A segment left the sender.
///
/// Times are those of the capture, counted from its first packet. Where it was not taken at the sender, a
/// segment is seen later than it left, and an ACK earlier than it came; ACKs wait until the
/// sender had them ([`Vantage`](crate::Vantage)), so that what follows from what is right, and a segment's
/// time is late by the way to where the capture was taken.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// When it was captured.
    pub at: Instant,
    /// Its number in the capture, from 1.
    pub packet: u64,
    /// Offset of its first byte in the stream.
    pub start: u64,
    /// The offset after its last.
    pub end: u64,
    /// Whether it was new, as far as the capture shows.
    pub kind: SendingKind,
    /// Bytes just before it that the capture does not show: lost before they came there, or missed.
    pub unseen_bytes: u64,
    /// Its control bits.
    pub flags: Flags,
    /// TSval and TSecr, if there are timestamps.
    pub timestamps: Option<dupack_tcp::connection::Timestamps>,
    /// IPv4's identification, if it has one.
    pub ip_id: Option<u16>,
    /// Bytes of the receive window that are left beyond all that was sent; `None` if the scale of the window
    /// is not known.
    pub window_left: Option<u64>,
    /// The transmissions that it stands for: several if an interface was to cut it up.
    pub sent: &'a [Sent],
    /// The sender's state after it, as far as it can be known.
    pub view: View<'a>,
}

/// An ACK came to the sender.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When it came, as far as the capture tells.
    pub at: Instant,
    /// When it was captured.
    pub captured: Instant,
    /// Its number in the capture, from 1.
    pub packet: u64,
    /// What it told the sender.
    pub facts: AckFacts<'a>,
    /// A repetition that it shows to have been needless.
    pub needless: Option<Needless>,
    /// TSval and TSecr, if there are timestamps.
    pub timestamps: Option<dupack_tcp::connection::Timestamps>,
    /// The receive window that it grants, in bytes; `None` if its scale is not known.
    pub window: Option<u64>,
    /// The window field as it stands, before scaling; `None` if it was cut off.
    pub field: Option<u16>,
    /// Bytes of data that the packet carries: an application hears of these, and of no ACK.
    pub carried: u32,
    /// Bytes of that window beyond all that was sent.
    pub window_left: Option<u64>,
    /// The sender's state after it, as far as it can be known.
    pub view: View<'a>,
}

/// Where a sender stands, by what it has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is amiss.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have come, and nothing was sent again yet.
    Disorder,
    /// Something was sent again before a timeout, and what was outstanding then is not acknowledged yet.
    Recovery,
    /// The same after a timeout.
    Loss,
}

/// What the explanation of an event is, for the analyses that come after it.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    /// Where the sender stands after the event.
    pub stage: Stage,
    /// What a segment that the capture shows again, or late, was; for a retransmission.
    pub repeat: Option<Repeat>,
    /// The retransmission, if it was one.
    pub retransmission: Option<&'a Retransmission>,
    /// Offsets of bytes of which an ACK shows, by timestamps or by time, that they had arrived before they were sent again.
    pub needless: Option<(u64, u64)>,
}

/// Somebody who is told of every event of one stream.
pub trait Analysis {
    /// A segment left.
    fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>);

    /// An ACK came.
    fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>);
}
