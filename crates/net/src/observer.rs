//! Watching packets: a hook that costs nothing when nobody looks.
//!
//! Every run takes an [`Observer`] as a type parameter. With [`Unobserved`] the calls compile to
//! nothing; a pair of observers is an observer.

use dupack_tcp::Sender;
use dupack_tcp::sender::{Transmit, WindowChange};
use dupack_tcp::time::{Duration, Instant};

use crate::ids::{FlowId, LinkId};
use crate::link::DropCause;
use crate::packet::Packet;

/// Sees what happens to every packet, in the order of events.
pub trait Observer {
    /// Whether anything is observed; if not, events are not even put together.
    const ACTIVE: bool = true;

    /// Something happened to a packet.
    fn packet(&mut self, event: &PacketEvent<'_>) {
        let _ = event;
    }

    /// A sender has handed out a segment, which is about to leave, and will be asked for more.
    fn transmission(&mut self, at: Instant, flow: FlowId, transmit: &Transmit, sender: &Sender) {
        let _ = (at, flow, transmit, sender);
    }

    /// A sender has handled an ACK or a timeout, and sent what it had to send.
    fn sender(&mut self, at: Instant, flow: FlowId, sender: &Sender) {
        let _ = (at, flow, sender);
    }

    /// A sender's window has changed; only for senders that log it.
    fn window_change(&mut self, flow: FlowId, change: &WindowChange) {
        let _ = (flow, change);
    }
}

/// Something happened to a packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PacketEvent<'a> {
    /// When it happened.
    pub at: Instant,
    /// To which packet.
    pub packet: &'a Packet,
    /// What happened.
    pub what: Happening,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A host handed it to the network.
    Sent,
    /// A link accepted it.
    Queued {
        /// The link.
        link: LinkId,
        /// How long it will wait for its transmission to begin; zero for a radio link, which
        /// cannot know.
        wait: Duration,
    },
    /// A link dropped it, at once or on the wire.
    Dropped {
        /// The link.
        link: LinkId,
        /// The true cause.
        cause: DropCause,
    },
    /// It reached the far end of a link.
    Crossed {
        /// The link.
        link: LinkId,
    },
    /// It reached its destination host.
    Delivered,
}

/// Nobody looks.
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
