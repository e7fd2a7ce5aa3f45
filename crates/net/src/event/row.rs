//! Pending entries in a row, the next one in front: for a few links it beats every tree.
//!
//! An entry is taken in front. One that takes its place looks for its own from the front on, for a
//! busy link's next packet is seldom far behind; a new one from the back on, for it has a whole
//! link to cross. So both move few others, and all that a step costs is a comparison and a copy.

use dupack_tcp::time::Instant;

use super::key::{Key, NOTHING};
use crate::ids::EventSlot;

/// At most [`MAX_ENTRIES`], in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The place behind the last entry holds [`NOTHING`].
    places: Box<[Key; PLACES]>,
    /// The place of the first entry.
    head: usize,
    len: usize,
}

/// The most entries that a row has room for. With so many, all links busy, it was still measured
/// faster than the wheel.
pub(super) const MAX_ENTRIES: usize = 127;

/// The row wanders through its places and returns to the first one when it has reached the last:
/// seldom enough that moving it costs nothing.
const PLACES: usize = 2 * (MAX_ENTRIES + 1);

impl Row {
    /// One without entries.
    pub(super) fn new() -> Self {
        Self {
            places: Box::new([NOTHING; PLACES]),
            head: 0,
            len: 0,
        }
    }

    /// The smallest key.
    #[inline(always)]
    pub(super) fn first(&self) -> Key {
        self.places[self.head]
    }

    /// Puts `key` in the place of the first entry, of which there is one.
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

    /// Takes the first entry out, of which there is one.
    #[inline(always)]
    pub(super) fn drop_first(&mut self) {
        self.head += 1;
        self.len -= 1;
    }

    /// Adds the entry of a slot that has none.
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

    /// Takes the entry of `slot` out, if there is one, wherever it stands.
    pub(super) fn remove(&mut self, slot: EventSlot) {
        if let Some(n) = self.find(slot) {
            let end = self.head + self.len;
            self.places
                .copy_within(self.head + n + 1..=end, self.head + n);
            self.len -= 1;
        }
    }

    /// When `slot` is due.
    pub(super) fn pending(&self, slot: EventSlot) -> Option<Instant> {
        self.places[self.head + self.find(slot)?].due()
    }

    fn find(&self, slot: EventSlot) -> Option<usize> {
        let row = &self.places[self.head..self.head + self.len];
        row.iter().position(|key| key.slot() == slot)
    }
}
