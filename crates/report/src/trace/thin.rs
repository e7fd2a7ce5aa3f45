//! Points of a figure, of which there are never more than a limit.
//!
//! Up to the limit all are kept. Beyond it they share a grid, finer than a figure's pixels, of
//! which every cell keeps what can be seen of it; whenever the limit is reached again, the cells
//! become twice as large. So a run twice as long needs no more memory, and its figure looks the
//! same.

use std::collections::HashSet;

/// The most points of a kind that are kept: dozens for every pixel of a figure's width.
pub const MOST_POINTS: usize = 1 << 15;

/// Cells across the points when they are first thinned out, either way; hardly ever fewer later.
/// A figure's panel is about 600 px wide.
const CELLS: f64 = 2048.0;

/// A mark: a packet, or a range of packets, at a time in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// When, in seconds.
    pub time: f64,
    /// The lower end of what it covers.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Marks in the order of time. Of those in a cell the first is kept; so are the lowest and the
/// highest of all.
#[derive(Clone, Debug)]
pub struct Marks {
    kept: Vec<Mark>,
    most: usize,
    /// Its width in seconds and its height in packets, once there is need of it.
    cell: Option<(f64, f64)>,
}

impl Marks {
    /// At most so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            cell: None,
        }
    }

    /// One more, no earlier than the last.
    pub fn push(&mut self, mark: Mark) {
        if self.kept.len() >= self.most {
            self.thin();
        }
        self.kept.push(mark);
    }

    /// Whether some were left out.
    #[must_use]
    pub fn is_thinned(&self) -> bool {
        self.cell.is_some()
    }

    /// Those that were kept.
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

    /// The places of the lowest and the highest.
    fn extremes(&self) -> [usize; 2] {
        let lowest = index_of(&self.kept, |a, b| a.low < b.low);
        let highest = index_of(&self.kept, |a, b| a.high > b.high);
        [lowest, highest].map(Option::unwrap_or_default)
    }
}

/// A value that holds from a time in seconds until the next. Of those in a cell's column the
/// first, the least, the greatest and the last are kept.
#[derive(Clone, Debug)]
pub struct Steps {
    kept: Vec<(f64, f64)>,
    most: usize,
    /// A column's width in seconds, once there is need of it.
    column: Option<f64>,
}

impl Steps {
    /// At most so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            column: None,
        }
    }

    /// One more, no earlier than the last.
    pub fn push(&mut self, point: (f64, f64)) {
        if self.kept.len() >= self.most {
            self.thin();
        }
        self.kept.push(point);
    }

    /// Forgets all points: what comes next is the first.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// Whether some were left out.
    #[must_use]
    pub fn is_thinned(&self) -> bool {
        self.column.is_some()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Those that were kept.
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

/// What can be seen of points in one column: the first, the least, the greatest and the last.
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

/// The first of the best.
fn index_of<T>(all: &[T], better: impl Fn(&T, &T) -> bool) -> Option<usize> {
    (0..all.len()).reduce(|a, b| if better(&all[b], &all[a]) { b } else { a })
}

/// From the first to the last.
fn width<T>(all: &[T], time: impl Fn(&T) -> f64) -> f64 {
    let ends = all.first().zip(all.last());
    ends.map_or(0.0, |(first, last)| time(last) - time(first))
}

/// A cell's size, where so much is to be divided.
fn part_of(extent: f64) -> f64 {
    (extent / CELLS).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of packets, one a millisecond, with a lone one far above it.
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
    fn nothing_is_left_out_up_to_the_limit() {
        let marks = marks(1000, 1000);
        assert_eq!(marks.kept().len(), 1000);
        assert!(!marks.is_thinned());
    }

    #[test]
    fn marks_stay_few_and_keep_first_last_and_extremes_and_leave_no_gap() {
        for count in [10_000, 3_000_000] {
            let marks = marks(MOST_POINTS / 4, count);
            let kept = marks.kept();
            assert!(marks.is_thinned());
            assert!(kept.len() <= MOST_POINTS / 4, "{}", kept.len());
            assert_eq!((kept[0].time, kept[0].low), (0.0, 0.0));
            assert!(kept.iter().any(|mark| mark.high == 1e6), "the lone one");
            let end = f64::from(count) / 1e3;
            let times = kept.iter().map(|mark| mark.time).chain([end]);
            let times: Vec<f64> = times.collect();
            let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
            let widest = gaps.reduce(f64::max).unwrap();
            assert!(widest <= end / 1000.0, "{count}: {widest}");
        }
    }

    #[test]
    fn marks_all_in_one_place_become_few() {
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
    fn steps_stay_few_and_keep_every_peak() {
        const COUNT: u32 = 3_000_000;
        let mut steps = Steps::new(MOST_POINTS);
        for n in 0..COUNT {
            // A saw tooth, infinite at first as a threshold is, with two peaks of one point.
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
        // As fine as a figure, from the beginning to the end.
        let gaps = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
        let widest = gaps.reduce(f64::max).unwrap();
        assert!(widest <= f64::from(COUNT) / 1000.0, "{widest}");
    }
}
