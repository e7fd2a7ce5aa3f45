//! Order of events: by time, then by insertion.

use dupack_tcp::time::Instant;

use crate::ids::EventSlot;

/// Position in the total order of insertions: the tie-breaker among events that are due at the same nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InsertionNumber(pub u64);

/// Due time of a slot. The key consists of the time in nanoseconds, the insertion number, and, in the lowest bits, the
/// number of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) time: u64,
    pub(super) number_and_slot: u64,
}

pub(super) const SLOT_BITS: u32 = 20;
pub(super) const NUMBER_BITS: u32 = u64::BITS - SLOT_BITS;
pub(super) const NOTHING: Key = Key {
    time: u64::MAX,
    number_and_slot: u64::MAX,
};

impl Key {
    pub(super) const fn new(slot: EventSlot, at: Instant, number: InsertionNumber) -> Self {
        Self {
            time: at.as_nanos(),
            number_and_slot: number.0 << SLOT_BITS | slot.0 as u64,
        }
    }

    /// Returns both parts as one number.
    pub(super) const fn wide(self) -> u128 {
        (self.time as u128) << 64 | self.number_and_slot as u128
    }

    /// Returns `true` if the key comes before `other`. The times are compared first, which is cheaper if the result is
    /// rarely `true`.
    #[inline(always)]
    pub(super) const fn precedes(self, other: Self) -> bool {
        self.time <= other.time && self.wide() < other.wide()
    }

    pub(super) const fn slot(self) -> EventSlot {
        EventSlot(self.number_and_slot as u32 & ((1 << SLOT_BITS) - 1))
    }

    /// Returns the due time; `None` for [`NOTHING`].
    pub(super) fn due(self) -> Option<Instant> {
        (self != NOTHING).then_some(Instant::from_nanos(self.time))
    }
}
