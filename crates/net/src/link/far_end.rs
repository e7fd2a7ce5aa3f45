//! The packets under way on a link, in the order of their arrival at its far end.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use dupack_tcp::time::Instant;

use super::counters::DropCause;
use super::offer::Offer;
use crate::event::InsertionNumber;
use crate::packet::{PacketHandle, PacketKind};
use crate::route::Hop;

/// A packet that a link has accepted. Ordered by arrival, then insertion; of two copies that
/// arrive together, the one that leaves the packet in place comes first.
///
/// It says all that a plain link further on has to know, so that the packet itself, which may
/// have left the cache, is not looked at on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// When it reaches the far end.
    pub arrival: Instant,
    /// The insertion number it was offered with.
    pub number: InsertionNumber,
    /// The packet.
    pub packet: PacketHandle,
    /// Where on its route it is, as it was offered.
    pub hop: Hop,
    /// Its size on the wire.
    pub bytes: u32,
    /// Its kind.
    pub kind: PacketKind,
    /// What arrives.
    pub fate: Fate,
}

impl Flight {
    /// A packet that arrives at `arrival`, whole.
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

/// What becomes of a packet at a link's far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// The first copy of a duplicated packet arrives. The packet itself is still under way as
    /// the second copy: forward a clone of it.
    FirstOfTwo,
    /// The packet arrives.
    Arrived,
    /// The packet was lost on the wire, having consumed its transmission time.
    Lost(DropCause),
}

/// First-in first-out unless the wire reorders.
#[derive(Clone, Debug)]
pub(super) struct FarEnd {
    /// On a wire that keeps the order all flights, on one that does not the first.
    ring: Ring,
    /// The others on a wire that does not keep the order.
    // Boxed, as hardly any link has one and all of them have room for a pointer.
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

    /// As [`push`](Self::push), on a wire of which the caller knows that it keeps the order.
    #[inline(always)]
    pub(super) fn push_last(&mut self, flight: Flight) {
        debug_assert!(self.rest.is_none());
        self.ring.push(flight);
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<&Flight> {
        self.ring.first()
    }

    /// Forgets the first, of which there is one.
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

/// First-in first-out, in as many places as a power of two, so that places are counted with a
/// mask: a packet is added and taken on every hop.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    places: Vec<Flight>,
    /// The place of the first, counted on and on.
    head: u32,
    len: u32,
}

/// Places that a ring begins with.
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

    /// Keeps the first of all here and the rest there.
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

    /// Forgets the first, of which there is one.
    #[inline(always)]
    fn drop_first(&mut self) {
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
    }

    /// Doubles the places; `any` flight fills the new ones.
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
    fn a_ring_gives_back_what_was_put_in_whatever_its_size() {
        // Three in, two out: it grows while its head stands anywhere.
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
