//! Ranges of a stream that a receiver has received: the simplest possible model.

/// Disjoint ranges in ascending order that do not touch each other.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `start..end`.
    pub fn insert(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start, end);
        self.0.retain(|&(s, e)| {
            let touches = s <= end && start <= e;
            if touches {
                start = start.min(s);
                end = end.max(e);
            }
            !touches
        });
        let place = self.0.partition_point(|range| range.0 < start);
        self.0.insert(place, (start, end));
    }

    /// Returns the length of the complete prefix of the stream.
    pub fn prefix(&self) -> u64 {
        self.0
            .first()
            .map_or(0, |&(s, e)| if s == 0 { e } else { 0 })
    }

    /// Returns `true` if all of `start..end` is present.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|&(s, e)| s <= start && end <= e)
    }
}

#[test]
fn touching_ranges_are_merged() {
    let mut ranges = Ranges::default();
    ranges.insert(5, 7);
    ranges.insert(1, 2);
    assert_eq!(ranges.prefix(), 0);
    ranges.insert(0, 1);
    assert_eq!(ranges.prefix(), 2);
    ranges.insert(2, 6);
    assert_eq!(ranges.0, [(0, 7)]);
    assert!(ranges.contains(3, 7) && !ranges.contains(3, 8));
}
