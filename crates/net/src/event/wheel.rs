//! A wheel of time (Varghese and Lauck, SOSP 1987): near events in buckets of equal width.
//!
//! A bucket holds what is due within its width, as a list through the slots; bit maps say which
//! buckets hold anything. The first event is the smallest of the first such bucket. The width
//! follows the mean distance between events, so that few buckets hold more than one of them, and
//! neither setting nor taking an event depends on how many there are: a few dozen instructions
//! and two cache lines.

use dupack_tcp::time::Instant;

use super::key::{Key, NOTHING};
use crate::ids::EventSlot;

/// Entries that are due within one turn of the wheel.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    entries: Vec<Entry>,
    /// The first slot in each bucket.
    heads: Box<[u32; BUCKETS]>,
    /// Which buckets hold anything, 64 to a word …
    words: [u64; WORDS],
    /// … and which words are not zero.
    summary: u64,
    /// The bucket of the present, counted from time zero; what is earlier is not for the wheel.
    present: u64,
    /// A bucket is 2^`shift` ns wide.
    shift: u32,
    /// The smallest key, if it has been asked for since that changed: it is in no bucket, as it
    /// is about to be replaced.
    first: Option<Key>,
    pace: Pace,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    /// The next slot in the bucket.
    next: u32,
}

/// How closely events have followed each other of late.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Events still to come before the width is looked at again.
    left: u64,
    /// When it was looked at last, in ns.
    since: u64,
}

const WORDS: usize = 64;
const BUCKETS: usize = WORDS * 64;

/// Ends the list of a bucket.
const END: u32 = u32::MAX;

/// Width of a bucket before anything is known: 4 µs.
const FIRST_SHIFT: u32 = 12;

/// The greatest width: a turn lasts 2⁵² ns, 52 days.
const MAX_SHIFT: u32 = 40;

/// Buckets per event: enough that two events seldom share one, nor a word of the bit map; a list that
/// holds one entry or two with equal chance would be mispredicted at every other step.
const PER_EVENT: u64 = 8;

/// Events between two looks at the width, and one more for every so many slots, as all are moved
/// if it changes.
const EVENTS_PER_LOOK: u64 = 4096;
const SLOTS_PER_EVENT: u64 = 4;

impl Wheel {
    /// One in which nothing is pending.
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

    /// Whether an entry due at `at` may be inserted.
    #[inline]
    pub(super) const fn reaches(&self, at: Instant) -> bool {
        // Wraps to a great number if it is earlier than the present.
        (at.as_nanos() >> self.shift).wrapping_sub(self.present) < BUCKETS as u64
    }

    /// The key of a slot that has an entry.
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

    /// Takes a slot out of its bucket.
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

    /// The smallest key.
    #[inline]
    pub(super) fn first(&mut self) -> Key {
        match self.first {
            Some(first) => first,
            None => self.find_first(),
        }
    }

    /// It is `now`, and nothing is pending for earlier. Whether it is time to
    /// [refit](Self::refit) the wheel.
    #[inline]
    pub(super) const fn turn(&mut self, now: Instant) -> bool {
        self.present = now.as_nanos() >> self.shift;
        self.pace.left -= 1;
        self.pace.left == 0
    }

    /// Fits the width to the pace of late: the greatest power of two within an eighth of the
    /// mean distance between events. Answers with the keys of all entries if that changes it: they are out then,
    /// and may be inserted again as far as the wheel reaches.
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

    /// The width of a bucket.
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

    /// The first bucket from the present on that holds anything, once around.
    #[inline]
    fn first_bucket(&self) -> Option<usize> {
        let present = self.present as usize % BUCKETS;
        let (word, bit) = (present / 64, present % 64);
        let rest = self.words[word] >> bit;
        if rest != 0 {
            return Some(present + rest.trailing_zeros() as usize);
        }
        // Words from the next one on, and at last this one again for the bits before.
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
