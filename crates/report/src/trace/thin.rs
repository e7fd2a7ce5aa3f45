//! A bounded number of points of a figure.
//!
//! All points are kept up to the limit. Beyond the limit, a grid that is finer than the pixels of a figure covers the
//! points, and every cell keeps only its visible points. Whenever the limit is reached again, the size of the cells
//! doubles as often as necessary. A run twice as long therefore needs no more memory, and its figure looks the same.

use std::collections::HashSet;

/// Maximum number of points of each kind: dozens of points for every pixel of a figure's width.
pub const MOST_POINTS: usize = 1 << 15;

/// Number of cells in each direction when points are first thinned. After the cells have grown, the number is rarely
/// smaller, because the run is then longer. The panel of a figure is about 600 px wide.
const CELLS: f64 = 2048.0;

/// A mark: a packet or a range of packets, at a time in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Time in seconds.
    pub time: f64,
    /// Lower end of the range, in packets.
    pub low: f64,
    /// Upper end of the range, in packets.
    pub high: f64,
}

/// Marks in time order. When marks are thinned, each cell keeps its first mark, and the lowest and the highest of all
/// marks are also kept.
#[derive(Clone, Debug)]
pub struct Marks {
    kept: Vec<Mark>,
    most: usize,
    /// Width in seconds and height in packets of a cell, if marks have been thinned.
    cell: Option<(f64, f64)>,
}

impl Marks {
    /// Returns an empty set of at most `most` marks.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            cell: None,
        }
    }

    /// Adds a mark whose time is not before the last mark.
    pub fn push(&mut self, mark: Mark) {
        if self.kept.len() >= self.most {
            self.thin();
        }
        self.kept.push(mark);
    }

    /// Returns `true` if marks were left out.
    #[must_use]
    pub fn is_thinned(&self) -> bool {
        self.cell.is_some()
    }

    /// Returns the marks that were kept.
    #[must_use]
    pub fn kept(&self) -> &[Mark] {
        &self.kept
    }

    fn thin(&mut self) {
        let mut cell = match self.cell {
            Some(cell) => cell,
            None => {
                let [lowest, highest] = self.extremes().map(|i| self.kept.get(i));
                let extent = lowest.zip(highest);
                let height = extent.map_or(0.0, |(low, high)| high.high - low.low);
                (part_of(width(&self.kept, |m| m.time)), part_of(height))
            }
        };
        loop {
            self.thin_to(cell);
            self.cell = Some(cell);
            if self.kept.len() <= self.most / 2 {
                break;
            }
            cell = (2.0 * cell.0, 2.0 * cell.1);
        }
    }

    fn thin_to(&mut self, cell: (f64, f64)) {
        let place = |value: f64, size: f64| (value / size).floor() as i64;
        let extremes = self.extremes();
        let mut taken = HashSet::new();
        let mut indices = 0..;
        self.kept.retain(|mark| {
            let (low, high) = (place(mark.low, cell.1), place(mark.high, cell.1));
            let is_first = taken.insert((place(mark.time, cell.0), low, high));
            is_first
                | indices
                    .next()
                    .is_some_and(|index| extremes.contains(&index))
        });
    }

    /// Returns the indices of the lowest and of the highest mark.
    fn extremes(&self) -> [usize; 2] {
        let lowest = index_of(&self.kept, |a, b| a.low < b.low);
        let highest = index_of(&self.kept, |a, b| a.high > b.high);
        [lowest, highest].map(Option::unwrap_or_default)
    }
}

/// Values that remain constant from a time in seconds until the next time. When values are thinned, each column keeps
/// its first, its smallest, its largest and its last value.
#[derive(Clone, Debug)]
pub struct Steps {
    kept: Vec<(f64, f64)>,
    most: usize,
    /// Width of a column in seconds, if values have been thinned.
    column: Option<f64>,
}

impl Steps {
    /// Returns an empty set of at most `most` values.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            column: None,
        }
    }

    /// Adds a value whose time is not before the last value.
    pub fn push(&mut self, point: (f64, f64)) {
        if self.kept.len() >= self.most {
            self.thin();
        }
        self.kept.push(point);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// Returns `true` if values were left out.
    #[must_use]
    pub fn is_thinned(&self) -> bool {
        self.column.is_some()
    }

    /// Returns `true` if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the values that were kept.
    #[must_use]
    pub fn into_points(self) -> Vec<(f64, f64)> {
        self.kept
    }

    fn thin(&mut self) {
        let mut column = match self.column {
            Some(column) => column,
            None => part_of(width(&self.kept, |point| point.0)),
        };
        loop {
            let place = |point: &(f64, f64)| (point.0 / column).floor() as i64;
            let before = std::mem::take(&mut self.kept);
            let columns = before.chunk_by(|a, b| place(a) == place(b));
            for points in columns {
                self.kept.extend(visible(points));
            }
            self.column = Some(column);
            if self.kept.len() <= self.most / 2 {
                break;
            }
            column *= 2.0;
        }
    }
}

/// Returns the visible points of one column: the first, the smallest, the largest and the last.
fn visible(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let least = index_of(points, |a, b| a.1 < b.1);
    let greatest = index_of(points, |a, b| a.1 > b.1);
    let mut indices = [Some(0), least, greatest, points.len().checked_sub(1)];
    indices.sort_unstable();
    let mut last = None;
    let distinct = indices.into_iter().flatten().filter(move |&index| {
        let is_new = last != Some(index);
        last = Some(index);
        is_new
    });
    distinct.filter_map(|index| points.get(index).copied())
}

/// Returns the index of the best element. Of equal elements, the first is chosen.
fn index_of<T>(all: &[T], better: impl Fn(&T, &T) -> bool) -> Option<usize> {
    (0..all.len()).reduce(|a, b| if better(&all[b], &all[a]) { b } else { a })
}

/// Returns the time from the first to the last element.
fn width<T>(all: &[T], time: impl Fn(&T) -> f64) -> f64 {
    let ends = all.first().zip(all.last());
    ends.map_or(0.0, |(first, last)| time(last) - time(first))
}

/// Returns the size of a cell if the points have this extent.
fn part_of(extent: f64) -> f64 {
    (extent / CELLS).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a line of packets, one per millisecond, with a single packet far above the line.
    fn marks(most: usize, count: u32) -> Marks {
        let mut marks = Marks::new(most);
        for n in 0..count {
            let packet = if n == 77 { 1e6 } else { f64::from(n) };
            marks.push(Mark {
                time: f64::from(n) / 1e3,
                low: packet,
                high: packet,
            });
        }
        marks
    }

    #[test]
    fn all_marks_are_kept_up_to_the_limit() {
        let marks = marks(1000, 1000);
        assert_eq!(marks.kept().len(), 1000);
        assert!(!marks.is_thinned());
    }

    #[test]
    fn marks_are_bounded_and_keep_ends_and_extremes_without_gaps() {
        for count in [10_000, 3_000_000] {
            let marks = marks(MOST_POINTS / 4, count);
            let kept = marks.kept();
            assert!(marks.is_thinned());
            assert!(kept.len() <= MOST_POINTS / 4, "{}", kept.len());
            assert_eq!((kept[0].time, kept[0].low), (0.0, 0.0));
            assert!(kept.iter().any(|mark| mark.high == 1e6), "the single one");
            let end = f64::from(count) / 1e3;
            let times = kept.iter().map(|mark| mark.time).chain([end]);
            let times: Vec<f64> = times.collect();
            let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
            let widest = gaps.reduce(f64::max).unwrap();
            assert!(widest <= end / 1000.0, "{count}: {widest}");
        }
    }

    #[test]
    fn marks_in_one_place_become_few() {
        let mut marks = Marks::new(64);
        for _ in 0..1000 {
            marks.push(Mark {
                time: 1.0,
                low: 5.0,
                high: 5.0,
            });
        }
        assert!(marks.kept().len() <= 64);
    }

    #[test]
    fn steps_are_bounded_and_keep_every_peak() {
        const COUNT: u32 = 3_000_000;
        let mut steps = Steps::new(MOST_POINTS);
        for n in 0..COUNT {
            // The values are a sawtooth with one high and one low point. The first value is infinite, like a threshold.
            let value = match n {
                0 => f64::INFINITY,
                50_001 => 1e5,
                2_120_003 => -1e5,
                _ => f64::from(n % 10_000),
            };
            steps.push((f64::from(n), value));
        }
        assert!(steps.is_thinned());
        let points = steps.into_points();
        assert!(points.len() <= MOST_POINTS);
        assert!(points.is_sorted_by_key(|point| point.0));
        assert_eq!(points[0], (0.0, f64::INFINITY));
        assert_eq!(points[points.len() - 1].0, f64::from(COUNT - 1));
        for peak in [(50_001.0, 1e5), (2_120_003.0, -1e5)] {
            assert!(points.contains(&peak), "{peak:?}");
        }
        // No gap is larger than a thousandth of the figure.
        let gaps = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let widest = gaps.reduce(f64::max).unwrap();
        assert!(widest <= f64::from(COUNT) / 1000.0, "{widest}");
    }
}
