//! Observation of packets: a hook that costs nothing when it is not used.
//!
//! Every run takes an [`Observer`] as a type parameter. With [`Unobserved`], the calls compile to nothing. A pair of
//! observers is also an observer.

use dupack_tcp::Sender;
use dupack_tcp::sender::{Transmit, WindowChange};
use dupack_tcp::time::{Duration, Instant};

use crate::ids::{FlowId, LinkId};
use crate::link::DropCause;
use crate::packet::Packet;

/// Receives all events of packets and senders, in the order of time.
pub trait Observer {
    /// `true` if anything is observed. If it is `false`, events are not constructed at all.
    const ACTIVE: bool = true;

    /// Called for each event of a packet.
    fn packet(&mut self, event: &PacketEvent<'_>) {
        let _ = event;
    }

    /// Called when a sender has produced a segment, before the segment is sent and the sender is asked for more.
    fn transmission(&mut self, at: Instant, flow: FlowId, transmit: &Transmit, sender: &Sender) {
        let _ = (at, flow, transmit, sender);
    }

    /// Called when a sender has handled an ACK or a timeout, and has sent all segments that it may send.
    fn sender(&mut self, at: Instant, flow: FlowId, sender: &Sender) {
        let _ = (at, flow, sender);
    }

    /// Called when a sender's window has changed, if the sender logs changes of its window.
    fn window_change(&mut self, flow: FlowId, change: &WindowChange) {
        let _ = (flow, change);
    }
}

/// An event of a packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PacketEvent<'a> {
    /// Time of the event.
    pub at: Instant,
    /// The packet.
    pub packet: &'a Packet,
    /// Kind of event.
    pub what: Happening,
}

/// Kind of event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A host handed the packet to the network.
    Sent,
    /// A link accepted the packet.
    Queued {
        /// The link.
        link: LinkId,
        /// Waiting time until the transmission begins; zero for a radio link or a managed queue, because it is not yet
        /// known.
        wait: Duration,
    },
    /// A link dropped the packet, at once or on the wire.
    Dropped {
        /// The link.
        link: LinkId,
        /// The true cause.
        cause: DropCause,
    },
    /// The packet reached the far end of a link.
    Crossed {
        /// The link.
        link: LinkId,
    },
    /// The packet reached its destination host.
    Delivered,
}

/// Observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    const ACTIVE: bool = false;
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACTIVE: bool = A::ACTIVE || B::ACTIVE;

    fn packet(&mut self, event: &PacketEvent<'_>) {
        self.0.packet(event);
        self.1.packet(event);
    }

    fn transmission(&mut self, at: Instant, flow: FlowId, transmit: &Transmit, sender: &Sender) {
        self.0.transmission(at, flow, transmit, sender);
        self.1.transmission(at, flow, transmit, sender);
    }

    fn sender(&mut self, at: Instant, flow: FlowId, sender: &Sender) {
        self.0.sender(at, flow, sender);
        self.1.sender(at, flow, sender);
    }

    fn window_change(&mut self, flow: FlowId, change: &WindowChange) {
        self.0.window_change(flow, change);
        self.1.window_change(flow, change);
    }
}

impl<O: Observer> Observer for &mut O {
    const ACTIVE: bool = O::ACTIVE;

    fn packet(&mut self, event: &PacketEvent<'_>) {
        (**self).packet(event);
    }

    fn transmission(&mut self, at: Instant, flow: FlowId, transmit: &Transmit, sender: &Sender) {
        (**self).transmission(at, flow, transmit, sender);
    }

    fn sender(&mut self, at: Instant, flow: FlowId, sender: &Sender) {
        (**self).sender(at, flow, sender);
    }

    fn window_change(&mut self, flow: FlowId, change: &WindowChange) {
        (**self).window_change(flow, change);
    }
}
