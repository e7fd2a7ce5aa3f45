//! Packets that wait in a managed queue, in one or several lines.
//!
//! All lines of a queue share one table of places, and free places are reused. Once a queue has reached its maximum
//! length, no more memory is allocated.

use dupack_tcp::segment::Codepoint;
use dupack_tcp::time::{Duration, Instant};

use crate::link::config::QueueLimit;
use crate::link::offer::Offer;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::link) struct Waiting {
    /// The packet as it was offered. Its ECN field becomes CE when the packet is marked.
    pub(in crate::link) offer: Offer,
    /// Arrival time.
    pub(in crate::link) arrived: Instant,
}

impl Waiting {
    /// Returns the wait until `now`.
    pub(super) const fn sojourn(&self, now: Instant) -> Duration {
        now.since(self.arrived)
    }

    /// Returns the size on the wire in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.offer.bytes as u64
    }

    /// Returns `true` if the packet may be marked instead of being dropped.
    pub(super) const fn is_capable(&self) -> bool {
        self.offer.ecn.is_capable()
    }

    /// Returns `true` if the packet belongs in the L4S queue: ECT(1) or CE (RFC 9331 §5.1).
    pub(super) const fn is_l4s(&self) -> bool {
        matches!(self.offer.ecn, Codepoint::Ect1 | Codepoint::Ce)
    }
}

/// Marks the absence of a place.
const NOWHERE: u32 = u32::MAX;

/// A first-in first-out line of packets in a [`Store`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            head: NOWHERE,
            tail: NOWHERE,
            packets: 0,
            bytes: 0,
        }
    }
}

impl Line {
    /// Returns the number of packets.
    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    /// Returns the number of bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `true` if the line is empty.
    pub(super) const fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

/// Places of all lines.
#[derive(Clone, Debug)]
pub(in crate::link) struct Store {
    places: Vec<Place>,
    free: u32,
    packets: u64,
    bytes: u64,
    limit: QueueLimit,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    waiting: Waiting,
    next: u32,
}

impl Store {
    pub(super) const fn new(limit: QueueLimit) -> Self {
        Self {
            places: Vec::new(),
            free: NOWHERE,
            packets: 0,
            bytes: 0,
            limit,
        }
    }

    /// Returns the number of packets in all lines.
    pub(in crate::link) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of bytes in all lines.
    pub(in crate::link) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `true` if another packet of `bytes` bytes fits into the buffer. An empty buffer takes any packet.
    pub(super) const fn has_room(&self, bytes: u64) -> bool {
        self.packets == 0 || self.holds(self.packets + 1, self.bytes + bytes)
    }

    /// Returns `true` if the buffer is over its limit. A single packet always fits.
    pub(super) const fn is_over(&self) -> bool {
        self.packets > 1 && !self.holds(self.packets, self.bytes)
    }

    const fn holds(&self, packets: u64, bytes: u64) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => packets <= limit,
            QueueLimit::Bytes(limit) => bytes <= limit,
        }
    }

    /// Appends a packet to `line`.
    pub(super) fn push(&mut self, line: &mut Line, waiting: Waiting) {
        let place = Place {
            waiting,
            next: NOWHERE,
        };
        let at = self.free;
        let at = if let Some(free) = self.places.get_mut(at as usize) {
            self.free = free.next;
            *free = place;
            at
        } else {
            self.places.push(place);
            self.places.len() as u32 - 1
        };
        match self.places.get_mut(line.tail as usize) {
            Some(last) => last.next = at,
            None => line.head = at,
        }
        line.tail = at;
        line.packets += 1;
        line.bytes += waiting.bytes();
        self.packets += 1;
        self.bytes += waiting.bytes();
    }

    /// Removes the first packet of `line`.
    pub(super) fn pop(&mut self, line: &mut Line) -> Option<Waiting> {
        let at = line.head;
        let place = self.places.get_mut(at as usize)?;
        let waiting = place.waiting;
        line.head = place.next;
        if line.head == NOWHERE {
            line.tail = NOWHERE;
        }
        place.next = self.free;
        self.free = at;
        line.packets -= 1;
        line.bytes -= waiting.bytes();
        self.packets -= 1;
        self.bytes -= waiting.bytes();
        Some(waiting)
    }

    /// Removes the first packet of `line` for which `is` returns `true`.
    pub(super) fn remove(
        &mut self,
        line: &mut Line,
        is: impl Fn(&Waiting) -> bool,
    ) -> Option<Waiting> {
        let (mut before, mut at) = (NOWHERE, line.head);
        loop {
            let place = self.places.get(at as usize)?;
            if is(&place.waiting) {
                break;
            }
            (before, at) = (at, place.next);
        }
        if before == NOWHERE {
            return self.pop(line);
        }
        let place = self.places.get_mut(at as usize)?;
        let (waiting, next) = (place.waiting, place.next);
        place.next = self.free;
        self.free = at;
        if let Some(before) = self.places.get_mut(before as usize) {
            before.next = next;
        }
        if line.tail == at {
            line.tail = before;
        }
        line.packets -= 1;
        line.bytes -= waiting.bytes();
        self.packets -= 1;
        self.bytes -= waiting.bytes();
        Some(waiting)
    }

    /// Returns the first packet of `line` without removing it.
    pub(super) fn first(&self, line: &Line) -> Option<&Waiting> {
        let place = self.places.get(line.head as usize)?;
        Some(&place.waiting)
    }

    /// Returns the wait of the first packet of `line`; zero if it is empty.
    pub(super) fn sojourn(&self, line: &Line, now: Instant) -> Duration {
        let first = self.first(line);
        first.map_or(Duration::ZERO, |waiting| waiting.sojourn(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(number: u64) -> Waiting {
        Waiting {
            offer: Offer {
                number,
                bytes: 100,
                ..Offer::default()
            },
            arrived: Instant::ZERO,
        }
    }

    #[test]
    fn lines_preserve_their_order_and_share_places() {
        let mut store = Store::new(QueueLimit::Unlimited);
        let mut lines = [Line::default(); 3];
        for round in 0..50 {
            for n in 0..9 {
                store.push(&mut lines[n as usize % 3], waiting(9 * round + n));
            }
            assert_eq!((store.packets(), store.bytes()), (9, 900));
            for (i, line) in (0..).zip(&mut lines) {
                assert_eq!((line.packets(), line.bytes()), (3, 300));
                let taken = [(); 3].map(|()| store.pop(line).map(|w| w.offer.number));
                let first = 9 * round + i;
                assert_eq!(taken, [Some(first), Some(first + 3), Some(first + 6)]);
                assert!(line.is_empty() && store.pop(line).is_none());
            }
        }
        assert_eq!(store.places.len(), 9);
    }

    #[test]
    fn a_buffer_limit_may_be_in_bytes() {
        let mut line = Line::default();
        let mut store = Store::new(QueueLimit::Bytes(250));
        assert!(store.has_room(1000), "an empty buffer takes any packet");
        store.push(&mut line, waiting(0));
        assert!(store.has_room(150) && !store.has_room(151));
        store.push(&mut line, waiting(1));
        assert!(!store.is_over());
        store.push(&mut line, waiting(2));
        assert!(store.is_over());
    }
}
