//! Event loop of the network: on one clock, packets cross links along their routes, and timers fire.
//!
//! The fabric knows nothing about hosts. Its driver calls [`Fabric::step`] and handles the result: a packet at its
//! destination, a packet that was dropped on the way, or a timer.

use dupack_tcp::segment::Codepoint;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::event::EventQueue;
use crate::ids::{EventSlot, FlowId, LinkId, MediumId};
use crate::link::{Admission, DropCause, Fate, Flight, Link, Offer};
use crate::observer::{Happening, Observer, PacketEvent};
use crate::packet::{Body, Copy, Packet, PacketArena, PacketHandle, PacketKind};
use crate::route::{Hop, RouteTable};
use crate::wireless::Medium;

/// A timer of the fabric's driver, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub u32);

/// Result of [`Fabric::step`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet is at its destination. The driver reads the packet and then [releases](Fabric::release) it.
    Delivered(PacketHandle),
    /// A packet was dropped on the way. The driver reads the packet and then [releases](Fabric::release) it.
    Dropped(PacketHandle, DropCause),
    /// A timer fired and is no longer pending.
    Timer(TimerId),
    /// Nothing happens before the given time.
    Idle,
}

mod managed;
mod radio;
mod transmitters;

use transmitters::Transmitter;
pub use transmitters::Transmitters;

/// Links, packets and timers on one clock.
#[derive(Clone, Debug)]
pub struct Fabric {
    now: Instant,
    /// All links. A radio link is represented by a link that only counts packets.
    links: Vec<Link>,
    transmitters: Transmitters,
    routes: RouteTable,
    packets: PacketArena,
    /// One slot per link, then one per medium, one per managed queue, and one per timer.
    events: EventQueue,
    first_timer: u32,
}

/// State that later links need about a packet that has crossed a link. It fits into two registers.
#[derive(Clone, Copy, Debug)]
struct Crossed {
    packet: PacketHandle,
    hop: Hop,
    bytes: u32,
    kind: PacketKind,
}

/// Flow, number, acknowledged sequence number and ECN field in the offer to a link that does not read these fields.
const UNREAD: (FlowId, u64, Option<SeqNumber>, Codepoint) =
    (FlowId(u32::MAX), u64::MAX, None, Codepoint::NotEct);

impl Fabric {
    /// Creates a fabric of `links` with their `transmitters`, and `timers` timers, at time zero.
    #[must_use]
    pub fn new(
        links: Vec<Link>,
        transmitters: Transmitters,
        routes: RouteTable,
        timers: usize,
    ) -> Self {
        let others = transmitters.slots();
        let events = EventQueue::new(links.len(), others, timers);
        let first_timer = (links.len() + others) as u32;
        Self {
            now: Instant::ZERO,
            links,
            transmitters,
            routes,
            packets: PacketArena::default(),
            events,
            first_timer,
        }
    }

    /// Returns the current time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the link `id`.
    #[must_use]
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// Returns the link `id` mutably, to query its backlog or to clear its histogram.
    pub fn link_mut(&mut self, id: LinkId) -> &mut Link {
        &mut self.links[id.index()]
    }

    /// Returns all shared channels, in the order of their ids.
    #[must_use]
    pub fn media(&self) -> &[Medium] {
        &self.transmitters.media
    }

    /// Returns the number of packets and of bytes that wait for their transmission on `link` to begin. For a radio
    /// link, this includes all packets that wait at its station.
    pub fn backlog(&mut self, link: LinkId) -> (u64, u64) {
        if let Some(Transmitter::Radio(medium, port)) = self.transmitters.of(link) {
            return self.transmitters.media[medium.index()].backlog(port.from);
        }
        let link = &mut self.links[link.index()];
        (link.backlog_packets(self.now), link.backlog_bytes(self.now))
    }

    /// Returns all links, in the order of their ids.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the packet with `handle`.
    #[must_use]
    pub fn packet(&self, handle: PacketHandle) -> &Packet {
        self.packets.get(handle)
    }

    /// Returns the packets in transit.
    #[must_use]
    pub const fn packets(&self) -> &PacketArena {
        &self.packets
    }

    /// Frees a packet that was delivered or dropped.
    pub fn release(&mut self, handle: PacketHandle) {
        self.packets.remove(handle);
    }

    /// Sends `packet` now on the link at `hop`.
    ///
    /// # Errors
    ///
    /// Returns the cause if the link drops the packet at once. In this case there is nothing to release.
    #[inline(always)]
    pub fn send<O: Observer>(
        &mut self,
        packet: Packet,
        hop: Hop,
        observer: &mut O,
    ) -> Result<(), DropCause> {
        let handle = self.packets.insert(packet);
        self.tell(handle, Happening::Sent, observer);
        let Some(link) = self.routes.link(hop) else {
            debug_assert!(false, "a route has at least one link");
            self.release(handle);
            return Err(DropCause::LinkDown);
        };
        let (kind, bytes) = (packet.kind(), packet.wire_bytes);
        if let Some(arrival) = self.links[link.index()].pass_at_once(self.now, kind, bytes) {
            let flight = Flight {
                arrival,
                number: self.events.number(),
                packet: handle,
                hop,
                bytes,
                kind,
                fate: Fate::Arrived,
            };
            self.on_its_way(link, flight, observer);
            return Ok(());
        }
        let offer = Offer {
            packet: handle,
            hop,
            bytes,
            kind,
            flow: packet.flow,
            number: packet.number,
            acknowledges: packet.plainly_acknowledges(),
            ecn: packet.ecn(),
        };
        let sent = self.send_by_any(&offer, link, observer);
        if sent.is_err() {
            self.release(handle);
        }
        sent
    }

    /// Sets `timer` to fire at `at`, and replaces any time that was set before.
    pub fn set_timer(&mut self, timer: TimerId, at: Instant) {
        let number = self.events.number();
        self.events.set(self.slot(timer), at, number);
    }

    /// Sets `timer` to fire at `at` or earlier. If an entry is pending for a time before `at`, it stays, and the driver
    /// sets the timer again when it fires. A deadline that moves back with every ACK then costs almost nothing.
    #[inline(always)]
    pub fn set_timer_lazily(&mut self, timer: TimerId, at: Instant) {
        let pending = self.events.pending(self.slot(timer));
        if pending.is_none_or(|pending| at < pending) {
            self.set_timer(timer, at);
        }
    }

    /// Advances to the next event that concerns the driver, but not beyond `until` (inclusive).
    pub fn step<O: Observer>(&mut self, until: Instant, observer: &mut O) -> Step {
        while let Some((at, slot)) = self.events.earliest() {
            if at > until {
                break;
            }
            self.now = at;
            let step = if let Some(link) = self.link_of(slot) {
                self.arrive(link, observer)
            } else if slot.0 >= self.first_timer {
                self.events.clear(slot);
                Some(Step::Timer(TimerId(slot.0 - self.first_timer)))
            } else {
                let transmitter = slot.0 - self.links.len() as u32;
                match transmitter.checked_sub(self.transmitters.media.len() as u32) {
                    None => self.on_air(MediumId(transmitter), observer),
                    Some(queue) => self.serve_managed(queue, observer),
                }
            };
            if let Some(step) = step {
                return step;
            }
        }
        self.now = self.now.max(until);
        Step::Idle
    }

    fn slot(&self, timer: TimerId) -> EventSlot {
        EventSlot(self.first_timer + timer.0)
    }

    fn link_of(&self, slot: EventSlot) -> Option<LinkId> {
        (slot.index() < self.links.len()).then_some(LinkId(slot.0))
    }

    /// Handles the next arrival at the far end of `id`.
    fn arrive<O: Observer>(&mut self, id: LinkId, observer: &mut O) -> Option<Step> {
        let link = &mut self.links[id.index()];
        let Some(flight) = link.take_due() else {
            debug_assert!(false, "a link is due without a packet");
            self.events.clear(EventSlot(id.0));
            return None;
        };
        self.events.move_on(EventSlot(id.0), link.next_arrival());
        let crossed = Crossed {
            packet: flight.packet,
            hop: flight.hop,
            bytes: flight.bytes,
            kind: flight.kind,
        };
        if flight.fate == Fate::Arrived {
            self.tell(crossed.packet, Happening::Crossed { link: id }, observer);
            return self.forward(crossed, observer);
        }
        self.arrive_with_fate(id, crossed, flight.fate, observer)
    }

    /// Handles an uncommon arrival: a loss on the wire, or the first of two copies.
    #[cold]
    #[inline(never)]
    fn arrive_with_fate<O: Observer>(
        &mut self,
        id: LinkId,
        mut crossed: Crossed,
        fate: Fate,
        observer: &mut O,
    ) -> Option<Step> {
        match fate {
            Fate::Arrived => {}
            Fate::FirstOfTwo => {
                let mut packet = *self.packets.get(crossed.packet);
                if let Body::Data(data) = &mut packet.body {
                    data.copy = Copy::LinkMade;
                }
                crossed.packet = self.packets.insert(packet);
            }
            Fate::Lost(cause) => {
                let what = Happening::Dropped { link: id, cause };
                self.tell(crossed.packet, what, observer);
                return Some(Step::Dropped(crossed.packet, cause));
            }
        }
        self.tell(crossed.packet, Happening::Crossed { link: id }, observer);
        self.forward(crossed, observer)
    }

    /// Forwards a packet that has crossed a link to its next link or its destination.
    #[inline(always)]
    fn forward<O: Observer>(&mut self, crossed: Crossed, observer: &mut O) -> Option<Step> {
        let Crossed {
            packet,
            hop,
            bytes,
            kind,
        } = crossed;
        let hop = hop.next();
        let Some(id) = self.routes.link(hop) else {
            self.tell(packet, Happening::Delivered, observer);
            return Some(Step::Delivered(packet));
        };
        if let Some(arrival) = self.links[id.index()].pass_at_once(self.now, kind, bytes) {
            let flight = Flight {
                arrival,
                number: self.events.number(),
                packet,
                hop,
                bytes,
                kind,
                fate: Fate::Arrived,
            };
            self.on_its_way(id, flight, observer);
            return None;
        }
        let crossed = Crossed { hop, ..crossed };
        let cause = self.forward_by_any(crossed, id, observer).err()?;
        Some(Step::Dropped(packet, cause))
    }

    /// Puts a packet that an idle plain link has accepted on the wire.
    #[inline(always)]
    fn on_its_way<O: Observer>(&mut self, id: LinkId, flight: Flight, observer: &mut O) {
        if self.links[id.index()].launch_plain(flight) {
            self.events
                .add(EventSlot(id.0), flight.arrival, flight.number);
        }
        let wait = Duration::ZERO;
        self.tell(
            flight.packet,
            Happening::Queued { link: id, wait },
            observer,
        );
    }

    /// Does the same as [`forward`](Self::forward), over a link of any kind in any state. `crossed` is at the hop of
    /// this link.
    #[inline(never)]
    fn forward_by_any<O: Observer>(
        &mut self,
        crossed: Crossed,
        id: LinkId,
        observer: &mut O,
    ) -> Result<(), DropCause> {
        let (flow, number, acknowledges, ecn) = if self.links[id.index()].tells_packets_apart() {
            let packet = self.packets.get(crossed.packet);
            let acknowledges = packet.plainly_acknowledges();
            (packet.flow, packet.number, acknowledges, packet.ecn())
        } else {
            UNREAD
        };
        let offer = Offer {
            packet: crossed.packet,
            hop: crossed.hop,
            bytes: crossed.bytes,
            kind: crossed.kind,
            flow,
            number,
            acknowledges,
            ecn,
        };
        self.offer(&offer, id, observer)
    }

    /// Does the same as [`send`](Self::send), over a link of any kind in any state.
    #[inline(never)]
    fn send_by_any<O: Observer>(
        &mut self,
        offer: &Offer,
        id: LinkId,
        observer: &mut O,
    ) -> Result<(), DropCause> {
        self.offer(offer, id, observer)
    }

    #[inline(always)]
    fn offer<O: Observer>(
        &mut self,
        offer: &Offer,
        id: LinkId,
        observer: &mut O,
    ) -> Result<(), DropCause> {
        match self.transmitters.of(id) {
            None => {}
            Some(Transmitter::Radio(medium, port)) => {
                return self.offer_by_radio(offer, id, medium, port, observer);
            }
            Some(Transmitter::Managed(queue)) => {
                return self.offer_managed(offer, id, queue, observer);
            }
        }
        let number = self.events.number();
        let verdict = self.links[id.index()].offer(self.now, number, offer);
        if let Admission::Marked { .. } = verdict {
            self.packets.get_mut(offer.packet).mark();
        }
        let link = &mut self.links[id.index()];
        match verdict {
            Admission::Accepted { wait } | Admission::Marked { wait } => {
                if let Some((at, first)) = link.next_arrival()
                    && first == number
                {
                    if link.under_way() == 1 {
                        self.events.add(EventSlot(id.0), at, number);
                    } else {
                        self.events.set(EventSlot(id.0), at, number);
                    }
                }
                self.tell(offer.packet, Happening::Queued { link: id, wait }, observer);
                Ok(())
            }
            Admission::Dropped(cause) => {
                let what = Happening::Dropped { link: id, cause };
                self.tell(offer.packet, what, observer);
                Err(cause)
            }
        }
    }

    fn tell<O: Observer>(&self, handle: PacketHandle, what: Happening, observer: &mut O) {
        if O::ACTIVE {
            observer.packet(&PacketEvent {
                at: self.now,
                packet: self.packets.get(handle),
                what,
            });
        }
    }
}

#[cfg(test)]
mod tests;
