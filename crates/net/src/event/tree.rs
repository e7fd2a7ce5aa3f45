//! Winner tree of degree four (Knuth, TAOCP vol. 3 §5.4.1). The leaves are the slots' keys, every inner node holds the
//! smallest of four keys, and the root is the next event. Setting a key walks one path upwards. Each step reads one
//! cache line and, unlike a step in a binary heap, has no branch that depends on the order of keys.

use core::hint::select_unpredictable;

use super::key::{Key, NOTHING};
use crate::ids::EventSlot;

/// One key per slot, for any number of slots, and the smallest of all keys.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Element `k` of group `g` is the smallest key of group `4g + 1 + k`; the last groups hold the slots' own keys.
    groups: Vec<Group>,
    /// Index of the first of the groups with the slots' own keys.
    leaves: usize,
    /// Smallest key of group 0.
    first: Key,
}

/// Four keys, which fill a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Key; 4]);

impl Key {
    /// Returns the smaller key, without a branch. The outcome is random, so a branch would be mispredicted in half of
    /// the steps.
    fn min(self, other: Self) -> Self {
        let less = other.wide() < self.wide();
        Self {
            time: select_unpredictable(less, other.time, self.time),
            number_and_slot: select_unpredictable(
                less,
                other.number_and_slot,
                self.number_and_slot,
            ),
        }
    }
}

impl Tree {
    /// Creates a tree without pending entries.
    pub(super) fn new(slots: usize) -> Self {
        let leaf_groups = slots.div_ceil(4).max(1);
        let (mut leaves, mut width) = (0, 1);
        while width < leaf_groups {
            leaves += width;
            width *= 4;
        }
        Self {
            groups: vec![Group([NOTHING; 4]); leaves + leaf_groups],
            leaves,
            first: NOTHING,
        }
    }

    /// Returns the key of `slot`.
    pub(super) fn key(&self, slot: EventSlot) -> Key {
        self.groups[self.leaves + slot.index() / 4].0[slot.index() % 4]
    }

    /// Returns the smallest key.
    #[inline]
    pub(super) const fn first(&self) -> Key {
        self.first
    }

    /// Sets the key of `slot`.
    pub(super) fn replace(&mut self, slot: EventSlot, key: Key) {
        let mut group = self.leaves + slot.index() / 4;
        let mut element = slot.index() % 4;
        let mut winner = key;
        loop {
            let Group(keys) = &mut self.groups[group];
            if keys[element] == winner {
                return;
            }
            keys[element] = winner;
            // The other three keys do not depend on the previous step, so only the last comparison waits for that step.
            let others = keys[element ^ 1]
                .min(keys[element ^ 2])
                .min(keys[element ^ 3]);
            winner = winner.min(others);
            if group == 0 {
                self.first = winner;
                return;
            }
            element = (group - 1) % 4;
            group = (group - 1) / 4;
        }
    }
}
