//! The event queue: who is due next.
//!
//! Links, media and timers own a *slot* each and have at most one pending entry; packets have none.
//! So the queue's size is fixed at set-up, an entry can be moved earlier or later at any time, and
//! nothing goes stale in it.
//!
//! Behind it stand two structures, and the next event is the earlier of their first ones. Links
//! are due soon and often: their entries lie in a wheel of time, where setting and
//! taking one costs the same however many there are. Timers are due late and seldom, for a
//! deadline that moves back is not told to the queue: theirs lie in a tree, as does whatever is
//! due beyond the wheel's turn, and everything in a network of a few links.

mod tree;
mod wheel;

use dupack_tcp::time::Instant;

use self::tree::Tree;
use self::wheel::Wheel;
use crate::ids::EventSlot;

/// Pending entries ordered by (time, insertion number).
#[derive(Clone, Debug)]
pub struct EventQueue {
    near: Wheel,
    far: Tree,
    /// Where each link's entry is, unless there are few links.
    places: Vec<Place>,
    next_number: u64,
}

/// Where a link's entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It has none.
    Nowhere,
    Near,
    Far,
}

/// The place of something in the total order of insertions: the tie-breaker among events due at
/// the same nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InsertionNumber(pub u64);

/// When a slot is due: nanoseconds, then insertion number above the slot's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    time: u64,
    number_and_slot: u64,
}

const SLOT_BITS: u32 = 20;
const NUMBER_BITS: u32 = u64::BITS - SLOT_BITS;
const NOTHING: Key = Key {
    time: u64::MAX,
    number_and_slot: u64::MAX,
};

/// So many links do without the wheel: their tree has two or three levels and is the faster one.
const FEW_LINKS: usize = 64;

/// The most slots a queue can have.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

impl Key {
    const fn new(slot: EventSlot, at: Instant, number: InsertionNumber) -> Self {
        Self {
            time: at.as_nanos(),
            number_and_slot: number.0 << SLOT_BITS | slot.0 as u64,
        }
    }

    /// Both parts as one number.
    const fn wide(self) -> u128 {
        (self.time as u128) << 64 | self.number_and_slot as u128
    }

    const fn slot(self) -> EventSlot {
        EventSlot(self.number_and_slot as u32 & ((1 << SLOT_BITS) - 1))
    }

    /// The time of an entry that is pending.
    fn due(self) -> Option<Instant> {
        (self != NOTHING).then_some(Instant::from_nanos(self.time))
    }
}

impl EventQueue {
    /// A queue without any pending entry, of so many slots for links and so many for everything
    /// else, whose numbers follow those of the links.
    ///
    /// # Panics
    ///
    /// If there are more slots than [`MAX_SLOTS`]; the topology builder rejects such networks
    /// first.
    #[must_use]
    pub fn new(links: usize, others: usize) -> Self {
        let on_wheel = if links > FEW_LINKS { links } else { 0 };
        Self::with_wheel(on_wheel, links + others)
    }

    /// A queue of so many slots, the first of which have the wheel beside the tree.
    fn with_wheel(on_wheel: usize, slots: usize) -> Self {
        assert!(slots <= MAX_SLOTS, "{slots} event slots");
        Self {
            near: Wheel::new(on_wheel),
            far: Tree::new(slots),
            places: vec![Place::Nowhere; on_wheel],
            next_number: 0,
        }
    }

    /// The next insertion number, for a packet entering a link or a timer being set.
    #[inline]
    pub fn number(&mut self) -> InsertionNumber {
        let number = self.next_number;
        debug_assert!(number < 1 << NUMBER_BITS);
        self.next_number = number + 1;
        InsertionNumber(number)
    }

    /// Makes `slot` due at `at`, replacing its pending entry if it has one.
    #[inline]
    pub fn set(&mut self, slot: EventSlot, at: Instant, number: InsertionNumber) {
        let key = Key::new(slot, at, number);
        let Some(place) = self.places.get_mut(slot.index()) else {
            self.far.replace(slot, key);
            return;
        };
        match *place {
            Place::Nowhere => {}
            Place::Near => self.near.remove(slot),
            Place::Far => self.far.replace(slot, NOTHING),
        }
        if self.near.reaches(at) {
            *place = Place::Near;
            self.near.insert(key);
        } else {
            *place = Place::Far;
            self.far.replace(slot, key);
        }
    }

    /// Removes the pending entry of `slot`, if there is one.
    #[inline]
    pub fn clear(&mut self, slot: EventSlot) {
        let Some(place) = self.places.get_mut(slot.index()) else {
            self.far.replace(slot, NOTHING);
            return;
        };
        match *place {
            Place::Nowhere => {}
            Place::Near => self.near.remove(slot),
            Place::Far => self.far.replace(slot, NOTHING),
        }
        *place = Place::Nowhere;
    }

    /// When `slot` is due.
    #[must_use]
    pub fn pending(&self, slot: EventSlot) -> Option<Instant> {
        match self.places.get(slot.index()) {
            Some(Place::Nowhere) => None,
            Some(Place::Near) => self.near.key(slot).due(),
            Some(Place::Far) | None => self.far.key(slot).due(),
        }
    }

    /// The slot that is due first, and when; it stays pending.
    #[inline]
    #[must_use]
    pub fn earliest(&mut self) -> Option<(Instant, EventSlot)> {
        let first = if self.places.is_empty() {
            self.far.first()
        } else {
            self.earliest_of_both()
        };
        Some((first.due()?, first.slot()))
    }

    fn earliest_of_both(&mut self) -> Key {
        let (near, far) = (self.near.first(), self.far.first());
        let first = if near.wide() < far.wide() { near } else { far };
        if let Some(due) = first.due()
            && self.near.turn(due)
        {
            self.refit();
        }
        first
    }

    #[cold]
    fn refit(&mut self) {
        for key in self.near.refit() {
            if self.near.reaches(Instant::from_nanos(key.time)) {
                self.near.insert(key);
            } else {
                self.places[key.slot().index()] = Place::Far;
                self.far.replace(key.slot(), key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
