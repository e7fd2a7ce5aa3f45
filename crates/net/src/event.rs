//! The event queue: who is due next.
//!
//! Links and timers own a *slot* each and have at most one pending entry; packets have none. So
//! the queue's size is fixed at set-up, an entry can be moved earlier or later at any time, and
//! nothing goes stale in it.
//!
//! It is a winner tree (Knuth, TAOCP vol. 3 §5.4.1) of degree four: the leaves are the slots'
//! keys, every inner node holds the smallest of four, the root the next event. Setting a key
//! walks one path upwards; each step reads one cache line and takes no branch that depends on
//! the order of keys, which a binary heap cannot avoid.

use core::hint::select_unpredictable;

use dupack_tcp::time::Instant;

use crate::ids::EventSlot;

/// Pending entries ordered by (time, insertion number).
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Element `k` of group `g` is the smallest of group `4g + 1 + k`; the last groups hold the
    /// slots themselves.
    groups: Vec<Group>,
    /// The first of those last groups.
    leaves: usize,
    /// The smallest of group 0.
    first: Key,
    next_number: u64,
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

/// Four keys: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Key; 4]);

const SLOT_BITS: u32 = 20;
const NUMBER_BITS: u32 = u64::BITS - SLOT_BITS;
const NOTHING: Key = Key {
    time: u64::MAX,
    number_and_slot: u64::MAX,
};

/// The most slots a queue can have.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

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
    /// A queue of `slots` slots without any pending entry.
    ///
    /// # Panics
    ///
    /// If `slots` exceeds [`MAX_SLOTS`]; the topology builder rejects such networks first.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(slots <= MAX_SLOTS, "{slots} event slots");
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
            next_number: 0,
        }
    }

    /// The next insertion number, for a packet entering a link or a timer being set.
    pub fn number(&mut self) -> InsertionNumber {
        let number = self.next_number;
        debug_assert!(number < 1 << NUMBER_BITS);
        self.next_number = number + 1;
        InsertionNumber(number)
    }

    /// Makes `slot` due at `at`, replacing its pending entry if it has one.
    pub fn set(&mut self, slot: EventSlot, at: Instant, number: InsertionNumber) {
        let key = Key {
            time: at.as_nanos(),
            number_and_slot: number.0 << SLOT_BITS | u64::from(slot.0),
        };
        self.replace(slot, key);
    }

    /// Removes the pending entry of `slot`, if there is one.
    pub fn clear(&mut self, slot: EventSlot) {
        self.replace(slot, NOTHING);
    }

    /// When `slot` is due.
    #[must_use]
    pub fn pending(&self, slot: EventSlot) -> Option<Instant> {
        self.groups[self.leaves + slot.index() / 4].0[slot.index() % 4].due()
    }

    /// The slot that is due first, and when; it stays pending.
    #[must_use]
    pub fn earliest(&self) -> Option<(Instant, EventSlot)> {
        Some((self.first.due()?, self.first.slot()))
    }

    fn replace(&mut self, slot: EventSlot, key: Key) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn drain(queue: &mut EventQueue) -> Vec<(u64, u32)> {
        let mut order = Vec::new();
        while let Some((time, slot)) = queue.earliest() {
            order.push((time.as_nanos(), slot.0));
            queue.clear(slot);
        }
        order
    }

    #[test]
    fn ties_are_broken_by_insertion_and_not_by_slot() {
        let mut queue = EventQueue::new(5);
        for (slot, time) in [(3, 70), (0, 70), (4, 70), (1, 50), (2, 90)] {
            let number = queue.number();
            queue.set(EventSlot(slot), at(time), number);
        }
        assert_eq!(
            drain(&mut queue),
            [(50, 1), (70, 3), (70, 0), (70, 4), (90, 2)]
        );
    }

    #[test]
    fn an_entry_can_be_moved_both_ways() {
        let mut queue = EventQueue::new(2);
        let (first, second, third) = (queue.number(), queue.number(), queue.number());
        queue.set(EventSlot(0), at(100), first);
        queue.set(EventSlot(1), at(50), second);
        queue.set(EventSlot(1), at(150), third);
        assert_eq!(queue.pending(EventSlot(1)), Some(at(150)));
        assert_eq!(queue.earliest(), Some((at(100), EventSlot(0))));
        queue.set(EventSlot(1), at(10), third);
        assert_eq!(queue.earliest(), Some((at(10), EventSlot(1))));
    }

    #[test]
    fn it_agrees_with_a_sorted_list() {
        let mut stream = Stream::derive(3, "event queue");
        let mut queue = EventQueue::new(37);
        let mut model: Vec<Option<(u64, u64)>> = vec![None; 37];
        for _ in 0..20_000 {
            let slot = stream.below(37) as usize;
            if stream.below(4) == 0 {
                queue.clear(EventSlot(slot as u32));
                model[slot] = None;
            } else {
                let (time, number) = (stream.below(50), queue.number());
                queue.set(EventSlot(slot as u32), at(time), number);
                model[slot] = Some((time, number.0));
            }
            let expected = (0..37)
                .filter_map(|s| model[s].map(|key| (key, s)))
                .min()
                .map(|((time, _), s)| (at(time), EventSlot(s as u32)));
            assert_eq!(queue.earliest(), expected);
        }
    }

    #[test]
    fn any_number_of_slots_comes_out_in_order() {
        for slots in 1..=70 {
            let mut queue = EventQueue::new(slots);
            for slot in 0..slots as u32 {
                let number = queue.number();
                queue.set(EventSlot(slot), at(u64::from(slot * 37 % 71)), number);
            }
            let order = drain(&mut queue);
            assert_eq!(order.len(), slots);
            assert!(order.is_sorted_by_key(|&(time, _)| time), "{slots} slots");
        }
    }

    #[test]
    fn a_queue_of_one_slot_works() {
        let mut queue = EventQueue::new(1);
        let number = queue.number();
        assert_eq!(queue.earliest(), None);
        queue.set(EventSlot(0), at(1), number);
        assert_eq!(drain(&mut queue), [(1, 0)]);
    }
}
