//! Event queue: determines which slot is due next.
//!
//! Each link, medium, managed queue and timer owns a *slot* and has at most one pending entry; packets have none. So
//! the size of the queue is fixed at set-up, an entry can be moved earlier or later at any time, and no entry becomes
//! stale.
//!
//! The queue combines two structures; the next event is the earlier of their first entries. The entries of links are
//! due soon and often. If there are few links, their entries are in a sorted row, together with those of media and
//! managed queues. If there are many, their entries are in a timing wheel, where setting and removing an entry takes
//! the same time for any number of entries. Entries of timers are due late and rarely, because a timer's entry is not
//! moved when its deadline moves back. These entries are in a tree, together with all entries beyond the reach of the
//! wheel.

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
    /// Entries of links, media and managed queues, if there are few.
    row: Row,
    /// Number of slots whose entries are in the row; 0 if there are too many for a row.
    in_row: u32,
    /// Entries of links within the wheel's reach, if there are too many for the row.
    near: Wheel,
    /// Location of each link's entry; empty if the row is in use.
    places: Vec<Place>,
    /// All other entries.
    far: Tree,
    next_number: u64,
}

/// Location of a link's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The link has no entry.
    Nowhere,
    Near,
    Far,
}

/// Maximum number of links, media and managed queues whose entries are kept in a row.
const FEW: usize = row::MAX_ENTRIES;

/// Maximum number of slots of a queue.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

impl EventQueue {
    /// Creates an empty queue. Slots of links are numbered first, then `others` (media and managed queues), then
    /// those of timers.
    ///
    /// # Panics
    ///
    /// Panics if there are more slots than [`MAX_SLOTS`]; the topology builder rejects such networks first.
    #[must_use]
    pub fn new(links: usize, others: usize, timers: usize) -> Self {
        let (in_row, on_wheel) = if links + others > FEW {
            (0, links)
        } else {
            (links + others, 0)
        };
        Self::with(in_row, on_wheel, links + others + timers)
    }

    /// Creates a queue of `slots` slots. The first `in_row` slots are in the row; if `in_row` is 0, the first
    /// `on_wheel` slots are on the wheel. The remaining slots are in the tree.
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

    /// Returns the next insertion number, for a packet that enters a link or a timer that is set.
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

    /// Moves the entry of `slot`, which must be the [earliest](Self::earliest), to the time of `next`, or removes the
    /// entry if `next` is `None`.
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

    /// Returns the time at which `slot` is due.
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

    /// Returns the slot that is due first, and its time. The entry stays pending.
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

    /// Returns the tree's leaf for a slot that is not in the row.
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
