//! Timing wheel (Varghese and Lauck, SOSP 1987): near events in buckets of equal width.
//!
//! A bucket holds the entries that are due within its width, as a list linked through the slots. Bit maps mark the
//! buckets that are not empty. The first event is the smallest entry of the first bucket that is not empty. The width
//! follows the mean distance between events, so that few buckets hold more than one entry. The cost of setting and
//! removing an entry therefore does not depend on the number of events: it is a few dozen instructions and two cache
//! lines.

use dupack_tcp::time::Instant;

use super::key::{Key, NOTHING};
use crate::ids::EventSlot;

/// Entries that are due within one turn of the wheel.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    entries: Vec<Entry>,
    /// First slot of each bucket.
    heads: Box<[u32; BUCKETS]>,
    /// Bit map of the buckets that are not empty, 64 to a word.
    words: [u64; WORDS],
    /// Bit map of the words that are not zero.
    summary: u64,
    /// Current bucket, counted from time zero. Entries for earlier buckets are not accepted.
    present: u64,
    /// Binary logarithm of the width of a bucket in ns.
    shift: u32,
    /// Smallest key, if it has been requested since the last change. This key is in no bucket, because it is about to
    /// be replaced.
    first: Option<Key>,
    pace: Pace,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    /// Next slot in the bucket.
    next: u32,
}

/// Recent rate of events.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Number of events until the width is checked again.
    left: u64,
    /// Time of the last check in ns.
    since: u64,
}

const WORDS: usize = 64;
const BUCKETS: usize = WORDS * 64;

/// End of a bucket's list.
const END: u32 = u32::MAX;

/// Binary logarithm of the initial width of a bucket in ns: 4 µs.
const FIRST_SHIFT: u32 = 12;

/// Binary logarithm of the maximum width of a bucket in ns: a turn of the wheel then lasts 2⁵² ns, which is 52 days.
const MAX_SHIFT: u32 = 40;

/// Buckets per event. With this many, two events rarely share a bucket or a word of the bit map. If a list held one or
/// two entries with equal probability, its branch would be mispredicted in half of the cases.
const PER_EVENT: u64 = 8;

/// Number of events between two checks of the width. It grows by one event for every `SLOTS_PER_EVENT` slots, because a
/// change of the width moves all entries.
const EVENTS_PER_LOOK: u64 = 4096;
const SLOTS_PER_EVENT: u64 = 4;

impl Wheel {
    /// Creates a wheel without pending entries.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            entries: vec![
                Entry {
                    key: NOTHING,
                    next: END,
                };
                slots
            ],
            heads: Box::new([END; BUCKETS]),
            words: [0; WORDS],
            summary: 0,
            present: 0,
            shift: FIRST_SHIFT,
            first: None,
            pace: Pace {
                left: EVENTS_PER_LOOK,
                since: 0,
            },
        }
    }

    /// Returns `true` if an entry due at `at` may be inserted.
    #[inline]
    pub(super) const fn reaches(&self, at: Instant) -> bool {
        // The difference wraps to a large number if `at` is before the current bucket.
        (at.as_nanos() >> self.shift).wrapping_sub(self.present) < BUCKETS as u64
    }

    /// Returns the key of a slot that has an entry.
    pub(super) fn key(&self, slot: EventSlot) -> Key {
        self.entries[slot.index()].key
    }

    /// Adds an entry that the wheel [reaches](Self::reaches), for a slot that has none.
    #[inline]
    pub(super) fn insert(&mut self, mut key: Key) {
        if let Some(first) = &mut self.first
            && key.wide() < first.wide()
        {
            self.entries[key.slot().index()].key = key;
            core::mem::swap(first, &mut key);
        }
        let bucket = self.bucket(key);
        let slot = key.slot();
        let head = &mut self.heads[bucket];
        self.entries[slot.index()] = Entry { key, next: *head };
        *head = slot.0;
        self.words[bucket / 64] |= 1 << (bucket % 64);
        self.summary |= 1 << (bucket / 64);
    }

    /// Removes the entry of a slot that has one.
    #[inline]
    pub(super) fn remove(&mut self, slot: EventSlot) {
        if self.first.is_some_and(|first| first.slot() == slot) {
            self.first = None;
        } else {
            self.unlink(slot);
        }
    }

    /// Removes a slot from its bucket.
    #[inline]
    fn unlink(&mut self, slot: EventSlot) {
        let Entry { key, next } = self.entries[slot.index()];
        let bucket = self.bucket(key);
        if self.heads[bucket] == slot.0 {
            self.heads[bucket] = next;
            if next == END {
                let word = &mut self.words[bucket / 64];
                *word &= !(1 << (bucket % 64));
                self.summary &= !(u64::from(*word == 0) << (bucket / 64));
            }
        } else {
            let mut before = self.heads[bucket] as usize;
            while self.entries[before].next != slot.0 {
                before = self.entries[before].next as usize;
            }
            self.entries[before].next = next;
        }
    }

    /// Returns the smallest key.
    #[inline]
    pub(super) fn first(&mut self) -> Key {
        match self.first {
            Some(first) => first,
            None => self.find_first(),
        }
    }

    /// Advances to `now`, the time of the earliest entry. Returns `true` if it is time to [refit](Self::refit) the
    /// wheel.
    #[inline]
    pub(super) const fn turn(&mut self, now: Instant) -> bool {
        self.present = now.as_nanos() >> self.shift;
        self.pace.left -= 1;
        self.pace.left == 0
    }

    /// Fits the width of a bucket to the recent rate of events: the greatest power of two that does not exceed an
    /// eighth of the mean distance between events. If this changes the width, the function removes all entries and
    /// returns their keys. Keys that the wheel still reaches may be inserted again.
    pub(super) fn refit(&mut self) -> Vec<Key> {
        let events = EVENTS_PER_LOOK + self.entries.len() as u64 / SLOTS_PER_EVENT;
        let now = self.present << self.shift;
        let mean = now.saturating_sub(self.pace.since) / events;
        self.pace = Pace {
            left: events,
            since: now,
        };
        let shift = (mean / PER_EVENT)
            .checked_ilog2()
            .unwrap_or(0)
            .min(MAX_SHIFT);
        if shift == self.shift {
            return Vec::new();
        }
        let keys = self.drain();
        self.shift = shift;
        self.present = now >> shift;
        keys
    }

    fn drain(&mut self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.first.take().into_iter().collect();
        while let Some(bucket) = self.first_bucket() {
            let slot = EventSlot(self.heads[bucket]);
            keys.push(self.key(slot));
            self.unlink(slot);
        }
        keys
    }

    /// Returns the width of a bucket.
    #[cfg(test)]
    pub(super) const fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    const fn bucket(&self, key: Key) -> usize {
        (key.time >> self.shift) as usize % BUCKETS
    }

    #[inline]
    fn find_first(&mut self) -> Key {
        let Some(bucket) = self.first_bucket() else {
            return NOTHING;
        };
        let first = self.smallest(self.heads[bucket]);
        self.unlink(first.slot());
        self.first = Some(first);
        first
    }

    /// Returns the first bucket that is not empty, in the order of time.
    #[inline]
    fn first_bucket(&self) -> Option<usize> {
        let present = self.present as usize % BUCKETS;
        let (word, bit) = (present / 64, present % 64);
        let rest = self.words[word] >> bit;
        if rest != 0 {
            return Some(present + rest.trailing_zeros() as usize);
        }
        // Searches the following words, and finally the current word again for the bits before the current bit.
        let later = self.summary & (u64::MAX << word << 1);
        let summary = if later != 0 { later } else { self.summary };
        if summary == 0 {
            return None;
        }
        let word = summary.trailing_zeros() as usize;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }

    #[inline]
    fn smallest(&self, head: u32) -> Key {
        let Entry {
            key: mut smallest,
            mut next,
        } = self.entries[head as usize];
        while next != END {
            let entry = self.entries[next as usize];
            if entry.key.wide() < smallest.wide() {
                smallest = entry.key;
            }
            next = entry.next;
        }
        smallest
    }
}
