//! Out-of-order queue of the receiver, as ranges of stream offsets.

use alloc::collections::VecDeque;

/// Received ranges above the cumulative ACK, in ascending order. They do not overlap or touch.
///
/// New data usually extends the last range and retransmissions the first, which is fast in a deque. An insertion in
/// between takes a binary search and moves the ranges on the shorter side.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    ranges: VecDeque<(u64, u64)>,
    bytes: u64,
}

/// Result of inserting a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// Some or all of the bytes were new. Contains the stored range that now includes them.
    New((u64, u64)),
    /// All bytes had been received before. Contains the stored range that includes them.
    Known((u64, u64)),
}

impl Reassembly {
    /// Number of bytes held.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `true` if no range is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of ranges held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the range that contains `offset`.
    #[must_use]
    pub fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|&(_, end)| end <= offset);
        self.ranges
            .get(index)
            .copied()
            .filter(|&(start, _)| start <= offset)
    }

    /// Returns the first part of `start..end` that is held.
    #[must_use]
    pub fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        // The common case: `start` is after all ranges.
        if self.ranges.back().is_none_or(|&(_, last)| last <= start) {
            return None;
        }
        let index = self.ranges.partition_point(|&(_, e)| e <= start);
        let &(s, e) = self.ranges.get(index)?;
        (s < end).then(|| (s.max(start), e.min(end)))
    }

    /// Adds `start..end`, which must not be empty.
    pub fn insert(&mut self, start: u64, end: u64) -> Inserted {
        // The common case: the new range is after the last range, with or without a gap.
        match self.ranges.back_mut() {
            None => return self.append(start, end),
            Some(&mut (_, last)) if start > last => return self.append(start, end),
            Some((first, last)) if start == *last => {
                *last = end;
                self.bytes += end - start;
                return Inserted::New((*first, end));
            }
            Some(_) => {}
        }
        // All ranges that touch start..end merge with it.
        let from = self.ranges.partition_point(|&(_, e)| e < start);
        let until = self.ranges.partition_point(|&(s, _)| s <= end);
        if let Some(&(s, e)) = self.ranges.get(from)
            && s <= start
            && end <= e
        {
            return Inserted::Known((s, e));
        }
        let mut merged = (start, end);
        for &(s, e) in self.ranges.range(from..until) {
            merged = (merged.0.min(s), merged.1.max(e));
            self.bytes -= e - s;
        }
        self.bytes += merged.1 - merged.0;
        if until > from {
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..until);
        } else {
            self.ranges.insert(from, merged);
        }
        Inserted::New(merged)
    }

    fn append(&mut self, start: u64, end: u64) -> Inserted {
        self.ranges.push_back((start, end));
        self.bytes += end - start;
        Inserted::New((start, end))
    }

    /// Removes the ranges that continue a stream that is complete up to `offset`. Returns the offset up to which the
    /// stream is now complete.
    pub fn advance(&mut self, mut offset: u64) -> u64 {
        while let Some(&(start, end)) = self.ranges.front() {
            if start > offset {
                break;
            }
            self.ranges.pop_front();
            self.bytes -= end - start;
            offset = offset.max(end);
        }
        offset
    }

    /// Discards all ranges.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_when_they_touch() {
        let mut queue = Reassembly::default();
        assert_eq!(queue.insert(10, 20), Inserted::New((10, 20)));
        assert_eq!(queue.insert(40, 50), Inserted::New((40, 50)));
        assert_eq!(queue.insert(25, 30), Inserted::New((25, 30)));
        assert_eq!(queue.insert(20, 25), Inserted::New((10, 30)));
        assert_eq!(queue.insert(12, 28), Inserted::Known((10, 30)));
        assert_eq!(queue.insert(5, 60), Inserted::New((5, 60)));
        assert_eq!(queue.bytes(), 55);
        assert_eq!(queue.advance(4), 4);
        assert_eq!(queue.advance(5), 60);
        assert!(queue.is_empty());
    }

    #[test]
    fn it_agrees_with_a_set_of_bytes() {
        // The insertions form a fixed pseudo-random sequence. The results are compared with a simple model.
        let mut queue = Reassembly::default();
        let mut model = alloc::collections::BTreeSet::new();
        let mut state = 1_u64;
        for _ in 0..2000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let start = (state >> 33) % 400;
            let end = start + 1 + (state >> 50) % 12;
            let known = (start..end).all(|b| model.contains(&b));
            let first = (start..end).find(|b| model.contains(b));
            let after = |from: u64| (from..end).find(|b| !model.contains(b)).unwrap_or(end);
            let overlap = first.map(|from| (from, after(from)));
            assert_eq!(queue.overlap(start, end), overlap);
            model.extend(start..end);
            let got = queue.insert(start, end);
            assert_eq!(matches!(got, Inserted::Known(_)), known);
            assert_eq!(queue.bytes(), model.len() as u64);
            assert!(
                queue
                    .containing(start)
                    .is_some_and(|(s, e)| s <= start && end <= e)
            );
            if model.len() > 300 {
                queue.clear();
                model.clear();
            }
        }
    }

    #[test]
    fn a_range_that_touches_the_last_one_extends_it() {
        let mut queue = Reassembly::default();
        queue.insert(10, 20);
        assert_eq!(queue.insert(20, 30), Inserted::New((10, 30)));
        assert_eq!(queue.insert(31, 40), Inserted::New((31, 40)));
        assert_eq!((queue.len(), queue.bytes()), (2, 29));
        // The first new range is before all ranges, with a gap; the second one touches the first range.
        assert_eq!(queue.insert(2, 4), Inserted::New((2, 4)));
        assert_eq!(queue.insert(6, 10), Inserted::New((6, 30)));
        assert_eq!((queue.len(), queue.bytes()), (3, 35));
        let found = [1, 2, 3, 4, 5, 6, 29, 30, 31, 39, 40];
        let found = found.map(|offset| queue.containing(offset).is_some());
        assert_eq!(
            found,
            [
                false, true, true, false, false, true, true, false, true, true, false
            ]
        );
        // The stream is complete up to the second range and continues with it.
        assert_eq!(queue.advance(7), 30);
        assert_eq!((queue.len(), queue.bytes()), (1, 9));
    }
}
