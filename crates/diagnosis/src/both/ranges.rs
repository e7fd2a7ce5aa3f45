//! Sets of bytes of a stream.

use std::collections::BTreeMap;

/// Bytes of a stream as ranges that neither overlap nor touch: the end of each range by its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds the bytes in `start..end`.
    pub(super) fn add(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        while let Some((&from, &to)) = self.0.range(..=end).next_back() {
            if to < start {
                break;
            }
            start = start.min(from);
            end = end.max(to);
            self.0.remove(&from);
        }
        self.0.insert(start, end);
    }

    /// Returns `true` if the set contains all bytes in `start..end`.
    pub(super) fn has(&self, start: u64, end: u64) -> bool {
        let before = self.0.range(..=start).next_back();
        start >= end || before.is_some_and(|(_, &to)| to >= end)
    }

    /// Returns the parts of `start..end` that are not in the set.
    pub(super) fn gaps(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = start;
        if let Some((_, &to)) = self.0.range(..=start).next_back() {
            at = at.max(to);
        }
        for (&from, &to) in self.0.range(start..end) {
            if from > at {
                gaps.push((at, from));
            }
            at = at.max(to);
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }
}

/// Converter from sequence numbers, which wrap around, to 64-bit offsets in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    last: u32,
    at: u64,
}

impl Offsets {
    /// Creates a converter whose first sequence number is near `first`. It also converts lower sequence numbers.
    pub(super) const fn new(first: u32) -> Self {
        Self {
            last: first,
            at: 1 << 40,
        }
    }

    /// Returns the offset of a sequence number that is within 2 GiB of the previous ones.
    pub(super) fn of(&mut self, seq: u32) -> u64 {
        let ahead = seq.wrapping_sub(self.last) as i32;
        let at = self.at.saturating_add_signed(i64::from(ahead));
        if ahead > 0 {
            self.last = seq;
            self.at = at;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_have_gaps() {
        let mut ranges = Ranges::default();
        ranges.add(10, 20);
        ranges.add(30, 40);
        assert_eq!(ranges.gaps(5, 45), [(5, 10), (20, 30), (40, 45)]);
        assert!(ranges.has(12, 20) && !ranges.has(12, 21) && !ranges.has(25, 26));
        ranges.add(20, 30);
        assert!(ranges.has(10, 40));
        assert_eq!(ranges.gaps(15, 40), []);
        ranges.add(0, 100);
        assert_eq!(ranges.gaps(0, 100), []);
    }

    #[test]
    fn offsets_continue_when_sequence_numbers_wrap() {
        let mut offsets = Offsets::new(u32::MAX);
        let first = offsets.of(u32::MAX);
        assert_eq!(offsets.of(9), first + 10);
        assert_eq!(offsets.of(u32::MAX - 5), first - 5);
    }
}
