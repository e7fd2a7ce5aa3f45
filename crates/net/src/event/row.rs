//! Sorted row of pending entries, starting with the next one. For a few links, a row is faster than any tree.
//!
//! Entries are removed at the front. An entry that replaces the first is inserted by a search from the front, since the
//! next packet of a busy link is usually due soon. A new entry is inserted by a search from the back, since its packet
//! still has to cross a whole link. Both searches move few other entries, and each step costs one comparison and one
//! copy.

use dupack_tcp::time::Instant;

use super::key::{Key, NOTHING};
use crate::ids::EventSlot;

/// At most [`MAX_ENTRIES`] entries in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The entries. The place after the last entry holds [`NOTHING`].
    places: Box<[Key; PLACES]>,
    /// Index of the first entry.
    head: usize,
    len: usize,
}

/// Maximum number of entries in a row. With this many, and all links busy, the row was still faster than the wheel in
/// measurements.
pub(super) const MAX_ENTRIES: usize = 127;

/// Number of places. The row moves forward through the places and is copied back to the start when it reaches the end.
/// This is so rare that the cost of the copy is negligible.
const PLACES: usize = 2 * (MAX_ENTRIES + 1);

impl Row {
    /// Creates an empty row.
    pub(super) fn new() -> Self {
        Self {
            places: Box::new([NOTHING; PLACES]),
            head: 0,
            len: 0,
        }
    }

    /// Returns the smallest key.
    #[inline(always)]
    pub(super) fn first(&self) -> Key {
        self.places[self.head]
    }

    /// Replaces the first entry by `key`. The row must not be empty.
    #[inline(always)]
    pub(super) fn replace_first(&mut self, key: Key) {
        let row = &mut self.places[self.head..self.head + self.len];
        let Some((mut place, others)) = row.split_first_mut() else {
            return;
        };
        for next in others {
            if key.precedes(*next) {
                break;
            }
            *place = *next;
            place = next;
        }
        *place = key;
    }

    /// Removes the first entry. The row must not be empty.
    #[inline(always)]
    pub(super) fn drop_first(&mut self) {
        self.head += 1;
        self.len -= 1;
    }

    /// Adds an entry for a slot that has none.
    #[inline(always)]
    pub(super) fn add(&mut self, key: Key) {
        if self.head + self.len == PLACES - 1 {
            self.return_to_start();
        }
        let row = &mut self.places[self.head..=self.head + self.len + 1];
        self.len += 1;
        if let [others @ .., place, behind] = row {
            *behind = NOTHING;
            let mut place = place;
            for before in others.iter_mut().rev() {
                if before.precedes(key) {
                    break;
                }
                *place = *before;
                place = before;
            }
            *place = key;
        }
    }

    #[cold]
    #[inline(never)]
    fn return_to_start(&mut self) {
        self.places.copy_within(self.head.., 0);
        self.head = 0;
    }

    /// Removes the entry of `slot`, if there is one.
    pub(super) fn remove(&mut self, slot: EventSlot) {
        if let Some(n) = self.find(slot) {
            let end = self.head + self.len;
            self.places
                .copy_within(self.head + n + 1..=end, self.head + n);
            self.len -= 1;
        }
    }

    /// Returns the time at which `slot` is due.
    pub(super) fn pending(&self, slot: EventSlot) -> Option<Instant> {
        self.places[self.head + self.find(slot)?].due()
    }

    fn find(&self, slot: EventSlot) -> Option<usize> {
        let row = &self.places[self.head..self.head + self.len];
        row.iter().position(|key| key.slot() == slot)
    }
}
