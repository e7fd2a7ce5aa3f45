//! Bundles of streams: the delivered data of all members, and the queueing delay of this data.

use std::cell::OnceCell;

use dupack_tcp::time::Duration;

use super::candidate::Candidate;
use crate::path::series::Window;

/// Time window of a bundle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// Number of delivered bytes, including headers.
    pub bytes: f64,
    /// Time for which a stream had no outstanding data, in microseconds: the minimum over all streams.
    pub idle_us: f64,
    /// Sum of the delays in excess of the minimum of each stream, in microseconds, and the number of delays.
    queue_us: f64,
    delays: f64,
}

impl Cell {
    const fn absent(width_us: f64) -> Self {
        Self {
            bytes: 0.0,
            idle_us: width_us,
            queue_us: 0.0,
            delays: 0.0,
        }
    }

    /// Adds a later window of the same streams.
    fn after(self, later: Self) -> Self {
        Self {
            idle_us: self.idle_us + later.idle_us,
            ..self.beside(later)
        }
    }

    /// Adds the same time window of other streams.
    const fn beside(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            idle_us: self.idle_us.min(other.idle_us),
            queue_us: self.queue_us + other.queue_us,
            delays: self.delays + other.delays,
        }
    }

    /// Returns the mean delay in excess of the minimum, in microseconds; `None` if no delivery has a delay.
    pub(super) fn queue_us(&self) -> Option<f64> {
        (self.delays > 0.0).then(|| self.queue_us / self.delays)
    }
}

/// Bundle of streams.
#[derive(Clone, Debug)]
pub(super) struct Bundle {
    pub members: Vec<usize>,
    /// Maximum and minimum of the members' minimum round-trip times.
    pub round_trips: (Duration, Duration),
    pub width: Duration,
    pub first: u64,
    pub cells: Vec<Cell>,
    /// Windows at larger widths, computed on demand because a bundle is compared with many others.
    wider: Wider,
}

/// Windows for each number of doublings of the width.
type Wider = [OnceCell<(u64, Vec<Cell>)>; u64::BITS as usize];

impl Bundle {
    /// Creates a bundle that contains only the candidate with this index.
    pub(super) fn of(place: usize, candidate: &Candidate) -> Self {
        let width = candidate.series.width();
        let (first, windows) = candidate.series.at_width(width);
        let mean = |window: &Window| f64::from(window.delay_us) / f64::from(window.delays);
        let delayed = windows.iter().filter(|window| window.delays > 0);
        let least = delayed.map(mean).fold(f64::INFINITY, f64::min);
        let cells = windows.iter().map(|window| Cell {
            bytes: f64::from(window.bytes),
            idle_us: f64::from(window.idle_us),
            queue_us: match window.delays {
                0 => 0.0,
                delays => f64::from(window.delay_us) - f64::from(delays) * least,
            },
            delays: f64::from(window.delays),
        });
        let cells: Vec<Cell> = cells.collect();
        Self {
            members: vec![place],
            round_trips: (candidate.round_trip, candidate.round_trip),
            width,
            first,
            wider: [const { OnceCell::new() }; u64::BITS as usize],
            cells,
        }
    }

    /// Returns the number of the first window and all windows at `width`, which is the bundle's width times a power of
    /// two.
    pub(super) fn at_width(&self, width: Duration) -> (u64, &[Cell]) {
        let times = (width.as_nanos() / self.width.as_nanos().max(1)).max(1);
        match self.wider.get(times.ilog2() as usize) {
            Some(wider) if times > 1 => {
                let (first, cells) = wider.get_or_init(|| self.joined(times));
                (*first, cells)
            }
            _ => (self.first, &self.cells),
        }
    }

    /// Merges every `times` windows into one.
    fn joined(&self, times: u64) -> (u64, Vec<Cell>) {
        let mut joined: Vec<Cell> = Vec::new();
        let mut last = None;
        for (number, cell) in (self.first..).zip(&self.cells) {
            let place = number / times;
            match joined.last_mut().filter(|_| last == Some(place)) {
                Some(before) => *before = before.after(*cell),
                None => joined.push(*cell),
            }
            last = Some(place);
        }
        // If a window extends beyond the time of its streams, it is partly idle.
        let own_us = self.width.as_secs_f64() * 1e6;
        let ends = [
            self.first % times,
            (times - (self.first + self.cells.len() as u64) % times) % times,
        ];
        if let Some(cell) = joined.first_mut() {
            cell.idle_us += ends[0] as f64 * own_us;
        }
        if let Some(cell) = joined.last_mut() {
            cell.idle_us += ends[1] as f64 * own_us;
        }
        (self.first / times, joined)
    }

    /// Returns the windows at this width that exist in both bundles.
    pub(super) fn beside<'a>(
        &'a self,
        other: &'a Self,
        width: Duration,
    ) -> impl Iterator<Item = (&'a Cell, &'a Cell)> {
        let (first, own) = self.at_width(width);
        let (other_first, theirs) = other.at_width(width);
        let from = |cells: &'a [Cell], skipped: u64| {
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            cells.get(skipped..).unwrap_or_default().iter()
        };
        let own = from(own, other_first.saturating_sub(first));
        let theirs = from(theirs, first.saturating_sub(other_first));
        own.zip(theirs)
    }

    /// Returns the bundle of the streams of both bundles.
    pub(super) fn join(&self, other: &Self) -> Self {
        let width = self.width.max(other.width);
        let width_us = width.as_secs_f64() * 1e6;
        let all = [self.at_width(width), other.at_width(width)];
        let first = all.iter().map(|(first, _)| *first).min().unwrap_or(0);
        let ends = all.iter().map(|(first, cells)| first + cells.len() as u64);
        let last = ends.max().unwrap_or(first);
        let cells = (first..last).map(|number| {
            let at = |(first, cells): &(u64, &[Cell])| {
                let place = usize::try_from(number.checked_sub(*first)?).ok()?;
                cells.get(place).copied()
            };
            let present = all.iter().filter_map(at);
            present.fold(Cell::absent(width_us), Cell::beside)
        });
        let cells: Vec<Cell> = cells.collect();
        let ((most, least), (other_most, other_least)) = (self.round_trips, other.round_trips);
        Self {
            members: [self.members.as_slice(), other.members.as_slice()].concat(),
            round_trips: (most.max(other_most), least.min(other_least)),
            width,
            first,
            wider: [const { OnceCell::new() }; u64::BITS as usize],
            cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn cell(bytes: f64, idle_us: f64) -> Cell {
        Cell {
            bytes,
            idle_us,
            queue_us: 300.0,
            delays: 2.0,
        }
    }

    /// Returns a bundle with windows of 10 ms, numbered from `first`. `bytes` contains the number of bytes in each
    /// window. Each window has 1 ms without outstanding data.
    fn bundle(first: u64, bytes: &[f64]) -> Bundle {
        Bundle {
            members: vec![first as usize],
            round_trips: (ms(20), ms(20)),
            width: ms(10),
            first,
            cells: bytes.iter().map(|bytes| cell(*bytes, 1000.0)).collect(),
            wider: [const { OnceCell::new() }; u64::BITS as usize],
        }
    }

    fn of(cells: &[Cell], value: fn(&Cell) -> f64) -> Vec<f64> {
        cells.iter().map(value).collect()
    }

    #[test]
    fn a_wide_window_that_extends_beyond_its_stream_is_idle_there() {
        // The time from 60 ms to 110 ms is half of the window from 40 ms to 80 ms, and three quarters of that from 80
        // ms to 120 ms.
        let five = bundle(6, &[1.0, 2.0, 4.0, 8.0, 16.0]);
        let (first, cells) = five.at_width(ms(40));
        assert_eq!(first, 1);
        assert_eq!(of(cells, |cell| cell.bytes), [3.0, 28.0]);
        assert_eq!(of(cells, |cell| cell.idle_us), [22_000.0, 13_000.0]);
        assert_eq!(cells[0].queue_us(), Some(150.0));
        // At the bundle's own width, no window extends beyond the stream.
        let two = bundle(6, &[1.0, 2.0]);
        let (first, cells) = two.at_width(ms(10));
        assert_eq!(first, 6);
        assert_eq!(of(cells, |cell| cell.idle_us), [1000.0, 1000.0]);
        let (first, cells) = five.at_width(ms(160));
        assert_eq!((first, of(cells, |cell| cell.bytes)), (0, vec![31.0]));
    }

    #[test]
    fn two_bundles_are_compared_where_both_have_windows() {
        let (early, late) = (
            bundle(4, &[1.0, 2.0, 3.0, 4.0]),
            bundle(6, &[5.0, 6.0, 7.0]),
        );
        let bytes = |one: &Bundle, other: &Bundle| -> Vec<(f64, f64)> {
            let pairs = one.beside(other, ms(10));
            pairs.map(|(one, other)| (one.bytes, other.bytes)).collect()
        };
        assert_eq!(bytes(&early, &late), [(3.0, 5.0), (4.0, 6.0)]);
        assert_eq!(bytes(&late, &early), [(5.0, 3.0), (6.0, 4.0)]);
    }

    #[test]
    fn a_joined_bundle_carries_the_sum_and_is_idle_only_if_both_are() {
        let mut early = bundle(4, &[1.0, 2.0]);
        early.round_trips = (ms(50), ms(30));
        let both = early.join(&bundle(5, &[10.0, 20.0, 40.0]));
        assert_eq!(both.members, [4, 5]);
        assert_eq!(both.round_trips, (ms(50), ms(20)));
        assert_eq!((both.first, both.width), (4, ms(10)));
        assert_eq!(of(&both.cells, |cell| cell.bytes), [1.0, 12.0, 20.0, 40.0]);
        assert_eq!(of(&both.cells, |cell| cell.idle_us), [1000.0; 4]);
        // Neither bundle has a window at this time.
        let apart = bundle(0, &[1.0]).join(&bundle(2, &[2.0]));
        assert_eq!(of(&apart.cells, |cell| cell.idle_us)[1], 10_000.0);
        assert_eq!(apart.cells[1].queue_us(), None);
    }
}
