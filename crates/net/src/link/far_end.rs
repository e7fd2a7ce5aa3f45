//! Packets in transit on a link, in the order of their arrival at its far end.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use dupack_tcp::time::Instant;

use super::counters::DropCause;
use super::offer::Offer;
use crate::event::InsertionNumber;
use crate::packet::{PacketHandle, PacketKind};
use crate::route::Hop;

/// A packet that a link has accepted. Flights are ordered by arrival, then by insertion. If two copies arrive at the
/// same time, the copy that leaves the original packet in the arena comes first.
///
/// A flight contains everything that the following plain links need. The packet itself, which may no longer be in the
/// cache, is therefore not read on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Arrival time at the far end.
    pub arrival: Instant,
    /// Insertion number of the packet's offer.
    pub number: InsertionNumber,
    /// The packet.
    pub packet: PacketHandle,
    /// Position on the packet's route at the offer.
    pub hop: Hop,
    /// Size on the wire in bytes.
    pub bytes: u32,
    /// Kind of packet.
    pub kind: PacketKind,
    /// Fate at the far end.
    pub fate: Fate,
}

impl Flight {
    /// Creates the flight of a packet that arrives intact at `arrival`.
    #[inline]
    pub(super) const fn of(offer: &Offer, number: InsertionNumber, arrival: Instant) -> Self {
        Self {
            arrival,
            number,
            packet: offer.packet,
            hop: offer.hop,
            bytes: offer.bytes,
            kind: offer.kind,
            fate: Fate::Arrived,
        }
    }
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |flight: &Self| (flight.arrival, flight.number, flight.fate, flight.packet);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Fate of a packet at a link's far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// The first copy of a duplicated packet arrives. The packet itself is still in transit as the second copy, so the
    /// driver forwards a clone of it.
    FirstOfTwo,
    /// The packet arrives.
    Arrived,
    /// The packet was lost on the wire, after its transmission.
    Lost(DropCause),
}

/// Packets in transit, first-in first-out unless the wire reorders.
#[derive(Clone, Debug)]
pub(super) struct FarEnd {
    /// All flights on a wire that preserves the order; only the first flight on a wire that does not.
    ring: Ring,
    /// The other flights on a wire that does not preserve the order.
    // This is boxed because few links have such a heap, but all links reserve space for the pointer.
    #[allow(clippy::box_collection)]
    rest: Option<Box<BinaryHeap<Reverse<Flight>>>>,
}

impl FarEnd {
    pub(super) fn new(reorders: bool) -> Self {
        Self {
            ring: Ring::default(),
            rest: reorders.then(Box::default),
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, flight: Flight) {
        match &mut self.rest {
            None => self.ring.push(flight),
            Some(rest) => self.ring.push_in_order(flight, rest),
        }
    }

    /// Does the same as [`push`](Self::push), on a wire that is known to preserve the order.
    #[inline(always)]
    pub(super) fn push_last(&mut self, flight: Flight) {
        debug_assert!(self.rest.is_none());
        self.ring.push(flight);
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<&Flight> {
        self.ring.first()
    }

    /// Removes the first flight. There must be one.
    #[inline(always)]
    pub(super) fn drop_first(&mut self) {
        self.ring.drop_first();
        if let Some(rest) = &mut self.rest
            && let Some(Reverse(next)) = rest.pop()
        {
            self.ring.push(next);
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.ring.len as usize + self.rest.as_ref().map_or(0, |rest| rest.len())
    }
}

/// Ring buffer. The number of places is a power of two, so that an index can be computed with a mask. This is
/// worthwhile because each packet is added and removed on every hop.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    places: Vec<Flight>,
    /// Index of the first flight, modulo the number of places.
    head: u32,
    len: u32,
}

/// Initial number of places of a ring.
const FIRST_PLACES: usize = 4;

impl Ring {
    #[inline(always)]
    fn first(&self) -> Option<&Flight> {
        if self.len == 0 {
            return None;
        }
        let last_place = self.places.len().wrapping_sub(1);
        self.places.get(self.head as usize & last_place)
    }

    #[inline(always)]
    fn push(&mut self, flight: Flight) {
        if self.len as usize == self.places.len() {
            self.grow(flight);
        }
        let last_place = self.places.len().wrapping_sub(1);
        let place = self.head.wrapping_add(self.len) as usize & last_place;
        if let Some(place) = self.places.get_mut(place) {
            *place = flight;
            self.len += 1;
        }
    }

    /// Keeps the earliest flight in the ring and the others in `rest`.
    #[inline(never)]
    fn push_in_order(&mut self, flight: Flight, rest: &mut BinaryHeap<Reverse<Flight>>) {
        match self.first().copied() {
            None => self.push(flight),
            Some(first) if first < flight => rest.push(Reverse(flight)),
            Some(first) => {
                rest.push(Reverse(first));
                self.drop_first();
                self.push(flight);
            }
        }
    }

    /// Removes the first flight. There must be one.
    #[inline(always)]
    fn drop_first(&mut self) {
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
    }

    /// Doubles the number of places. The new places are filled with `any`, an arbitrary flight.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, any: Flight) {
        let places = self.places.len();
        if places > 0 {
            self.places.rotate_left(self.head as usize & (places - 1));
        }
        self.head = 0;
        self.places.resize((2 * places).max(FIRST_PLACES), any);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketHandle;

    #[test]
    fn a_ring_preserves_flights_of_any_number() {
        // In each round, three flights are added and two removed, so the ring grows with its head at different places.
        let mut far_end = FarEnd::new(false);
        let mut taken = 0;
        for n in 0..3000 {
            let offer = Offer {
                packet: PacketHandle(n),
                ..Offer::default()
            };
            let number = InsertionNumber(u64::from(n));
            far_end.push(Flight::of(&offer, number, Instant::ZERO));
            if n % 3 > 0 {
                let first = far_end.first().map(|flight| flight.packet);
                assert_eq!(first, Some(PacketHandle(taken)));
                far_end.drop_first();
                taken += 1;
            }
        }
        assert_eq!((taken, far_end.len()), (2000, 1000));
    }
}
