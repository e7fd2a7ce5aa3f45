//! The event queue: who is due next.
//!
//! Links, media and timers own a *slot* each and have at most one pending entry; packets have none.
//! So the queue's size is fixed at set-up, an entry can be moved earlier or later at any time, and
//! nothing goes stale in it.
//!
//! Behind it stand two structures, and the next event is the earlier of their first ones. Links
//! are due soon and often: the entries of a few lie in a row, as do those of media beside few
//! links, those of many in a wheel of time,
//! where setting and taking one costs the same however many there are. Timers are due late and
//! seldom, for a deadline that moves back is not told to the queue: theirs lie in a tree, as does
//! whatever is due beyond the wheel's turn.

mod key;
mod row;
mod tree;
mod wheel;

use dupack_tcp::time::Instant;

pub use self::key::InsertionNumber;
use self::key::{Key, NOTHING, NUMBER_BITS, SLOT_BITS};
use self::row::Row;
use self::tree::Tree;
use self::wheel::Wheel;
use crate::ids::EventSlot;

/// Pending entries ordered by (time, insertion number).
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// The entries of links and media, if these are few …
    row: Row,
    /// … namely so many; else none are in the row,
    in_row: u32,
    /// but here, as far as it reaches.
    near: Wheel,
    /// Where each link's entry is, unless there are few links.
    places: Vec<Place>,
    /// All other entries.
    far: Tree,
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

/// The entries of so many links and media stand in a row.
const FEW: usize = row::MAX_ENTRIES;

/// The most slots a queue can have.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

impl EventQueue {
    /// A queue without any pending entry, of so many slots for links, so many for media, whose
    /// numbers follow those of the links, and so many for timers, whose numbers follow.
    ///
    /// # Panics
    ///
    /// If there are more slots than [`MAX_SLOTS`]; the topology builder rejects such networks
    /// first.
    #[must_use]
    pub fn new(links: usize, media: usize, timers: usize) -> Self {
        let (in_row, on_wheel) = if links + media > FEW {
            (0, links)
        } else {
            (links + media, 0)
        };
        Self::with(in_row, on_wheel, links + media + timers)
    }

    /// A queue of so many slots, the first of which are in the row, or else have the wheel beside
    /// the tree.
    fn with(in_row: usize, on_wheel: usize, slots: usize) -> Self {
        assert!(slots <= MAX_SLOTS, "{slots} event slots");
        Self {
            row: Row::new(),
            in_row: in_row as u32,
            near: Wheel::new(on_wheel),
            places: vec![Place::Nowhere; on_wheel],
            far: Tree::new(slots - in_row),
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
        if slot.0 < self.in_row {
            self.row.remove(slot);
            self.row.add(key);
            return;
        }
        let Some(place) = self.places.get_mut(slot.index()) else {
            let leaf = self.leaf(slot);
            self.far.replace(leaf, key);
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

    /// Makes `slot`, which has no pending entry, due at `at`.
    #[inline(always)]
    pub fn add(&mut self, slot: EventSlot, at: Instant, number: InsertionNumber) {
        debug_assert_eq!(self.pending(slot), None);
        if slot.0 < self.in_row {
            self.row.add(Key::new(slot, at, number));
        } else {
            self.set(slot, at, number);
        }
    }

    /// Makes `slot`, which is the [earliest](Self::earliest), due when `next` says, or not at all.
    #[inline(always)]
    pub fn move_on(&mut self, slot: EventSlot, next: Option<(Instant, InsertionNumber)>) {
        let in_row = slot.0 < self.in_row;
        debug_assert!(!in_row || self.row.first().slot() == slot);
        match next {
            Some((at, number)) if in_row => self.row.replace_first(Key::new(slot, at, number)),
            Some((at, number)) => self.set(slot, at, number),
            None if in_row => self.row.drop_first(),
            None => self.clear(slot),
        }
    }

    /// Removes the pending entry of `slot`, if there is one.
    #[inline]
    pub fn clear(&mut self, slot: EventSlot) {
        if slot.0 < self.in_row {
            self.row.remove(slot);
            return;
        }
        let Some(place) = self.places.get_mut(slot.index()) else {
            let leaf = self.leaf(slot);
            self.far.replace(leaf, NOTHING);
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
    #[inline]
    #[must_use]
    pub fn pending(&self, slot: EventSlot) -> Option<Instant> {
        if slot.0 < self.in_row {
            return self.row.pending(slot);
        }
        match self.places.get(slot.index()) {
            Some(Place::Nowhere) => None,
            Some(Place::Near) => self.near.key(slot).due(),
            Some(Place::Far) | None => self.far.key(self.leaf(slot)).due(),
        }
    }

    /// The slot that is due first, and when; it stays pending.
    #[inline(always)]
    #[must_use]
    pub fn earliest(&mut self) -> Option<(Instant, EventSlot)> {
        let first = if self.places.is_empty() {
            let (row, far) = (self.row.first(), self.far.first());
            if row.wide() < far.wide() { row } else { far }
        } else {
            self.earliest_of_both()
        };
        Some((first.due()?, first.slot()))
    }

    /// The leaf of a slot that is not in the row.
    const fn leaf(&self, slot: EventSlot) -> EventSlot {
        EventSlot(slot.0 - self.in_row)
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
