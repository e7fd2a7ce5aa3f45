//! A winner tree (Knuth, TAOCP vol. 3 §5.4.1) of degree four: the leaves are the slots' keys,
//! every inner node holds the smallest of four, the root the next event. Setting a key walks one
//! path upwards; each step reads one cache line and takes no branch that depends on the order of
//! keys, which a binary heap cannot avoid.

use core::hint::select_unpredictable;

use super::key::{Key, NOTHING};
use crate::ids::EventSlot;

/// Any number of slots, one key each, and the smallest key of all.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Element `k` of group `g` is the smallest of group `4g + 1 + k`; the last groups hold the
    /// slots themselves.
    groups: Vec<Group>,
    /// The first of those last groups.
    leaves: usize,
    /// The smallest of group 0.
    first: Key,
}

/// Four keys: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Key; 4]);

impl Key {
    /// The smaller of two. Which one it is, is a coin toss: a branch would be mispredicted at
    /// every other step.
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
    /// One in which nothing is pending.
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

    /// The key of `slot`.
    pub(super) fn key(&self, slot: EventSlot) -> Key {
        self.groups[self.leaves + slot.index() / 4].0[slot.index() % 4]
    }

    /// The smallest key.
    #[inline]
    pub(super) const fn first(&self) -> Key {
        self.first
    }

    /// Makes `key` that of `slot`.
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
            // The three others do not depend on the step before: only the last comparison waits.
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
