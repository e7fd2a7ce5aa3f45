//! The packets under way on a link, in the order of their arrival at its far end.

use core::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use dupack_tcp::time::Instant;

use super::DropCause;
use super::impairment::ImpairmentConfig;
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
pub(super) enum FarEnd {
    Fifo(VecDeque<Flight>),
    Sorted(BinaryHeap<Reverse<Flight>>),
}

impl FarEnd {
    pub(super) fn new(impairments: &ImpairmentConfig) -> Self {
        if impairments.reorders() {
            Self::Sorted(BinaryHeap::new())
        } else {
            Self::Fifo(VecDeque::new())
        }
    }

    #[inline]
    pub(super) fn push(&mut self, flight: Flight) {
        match self {
            Self::Fifo(flights) => {
                debug_assert!(
                    flights
                        .back()
                        .is_none_or(|last| last.arrival <= flight.arrival)
                );
                flights.push_back(flight);
            }
            Self::Sorted(flights) => flights.push(Reverse(flight)),
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Flight> {
        match self {
            Self::Fifo(flights) => flights.front(),
            Self::Sorted(flights) => flights.peek().map(|Reverse(flight)| flight),
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Flight> {
        match self {
            Self::Fifo(flights) => flights.pop_front(),
            Self::Sorted(flights) => flights.pop().map(|Reverse(flight)| flight),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fifo(flights) => flights.len(),
            Self::Sorted(flights) => flights.len(),
        }
    }
}
