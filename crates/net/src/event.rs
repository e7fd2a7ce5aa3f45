//! The event queue: who is due next.
//!
//! Links and timers own a *slot* each and have at most one pending entry; packets have none. So
//! the queue's size is fixed at set-up, an entry can be moved earlier or later at any time, and
//! nothing goes stale in it.
//!
//! It is a winner tree (Knuth, TAOCP vol. 3 §5.4.1): the leaves are the slots' keys, every inner
//! node the smaller of its two children, the root the next event. Setting a key walks one path
//! upwards without a data-dependent branch per level, which a binary heap cannot do.

use dupack_tcp::time::Instant;

use crate::ids::EventSlot;

/// Pending entries ordered by (time, insertion number).
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// `tree[1]` is the root; slot `s` is the leaf `tree[leaves + s]`.
    tree: Vec<u128>,
    leaves: usize,
    next_number: u64,
}

/// The place of something in the total order of insertions: the tie-breaker among events due at
/// the same nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InsertionNumber(pub u64);

/// A key: 64 bits of time, 44 of insertion number, 20 of slot.
const SLOT_BITS: u32 = 20;
const NUMBER_BITS: u32 = 44;
const NOTHING: u128 = u128::MAX;

/// The most slots a queue can have.
pub const MAX_SLOTS: usize = 1 << SLOT_BITS;

impl EventQueue {
    /// A queue of `slots` slots without any pending entry.
    ///
    /// # Panics
    ///
    /// If `slots` exceeds [`MAX_SLOTS`]; the topology builder rejects such networks first.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(slots <= MAX_SLOTS, "{slots} event slots");
        let leaves = slots.next_power_of_two();
        Self {
            tree: vec![NOTHING; 2 * leaves],
            leaves,
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
        let key = u128::from(at.as_nanos()) << 64
            | u128::from(number.0) << SLOT_BITS
            | u128::from(slot.0);
        self.replace(slot, key);
    }

    /// Removes the pending entry of `slot`, if there is one.
    pub fn clear(&mut self, slot: EventSlot) {
        self.replace(slot, NOTHING);
    }

    /// When `slot` is due.
    #[must_use]
    pub fn pending(&self, slot: EventSlot) -> Option<Instant> {
        let key = self.tree[self.leaves + slot.index()];
        (key != NOTHING).then(|| time_of(key))
    }

    /// The slot that is due first, and when; it stays pending.
    #[must_use]
    pub fn earliest(&self) -> Option<(Instant, EventSlot)> {
        let key = self.tree[1];
        let slot = EventSlot(key as u32 & ((1 << SLOT_BITS) - 1));
        (key != NOTHING).then(|| (time_of(key), slot))
    }

    fn replace(&mut self, slot: EventSlot, key: u128) {
        let mut node = self.leaves + slot.index();
        let mut winner = key;
        self.tree[node] = key;
        while node > 1 {
            winner = winner.min(self.tree[node ^ 1]);
            node >>= 1;
            if self.tree[node] == winner {
                return;
            }
            self.tree[node] = winner;
        }
    }
}

fn time_of(key: u128) -> Instant {
    Instant::from_nanos((key >> 64) as u64)
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
    fn a_queue_of_one_slot_works() {
        let mut queue = EventQueue::new(1);
        let number = queue.number();
        assert_eq!(queue.earliest(), None);
        queue.set(EventSlot(0), at(1), number);
        assert_eq!(drain(&mut queue), [(1, 0)]);
    }
}
