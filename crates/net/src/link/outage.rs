//! Link outages: packets that are offered during an outage are dropped, but packets in transit arrive.

use dupack_tcp::time::Instant;

/// Half-open interval of time, `[from, to)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindow {
    /// First instant inside the interval.
    pub from: Instant,
    /// First instant after the interval.
    pub to: Instant,
}

impl TimeWindow {
    /// Returns `true` if `at` lies in the interval.
    #[must_use]
    pub fn contains(&self, at: Instant) -> bool {
        self.from <= at && at < self.to
    }
}

/// Outages of one link, and the number of outages at the front that are over.
#[derive(Clone, Debug)]
pub(super) struct Outages {
    /// Outages, sorted by their start. Those at the front that are over are skipped.
    windows: Vec<TimeWindow>,
    over: usize,
}

impl Outages {
    pub(super) fn new(windows: &[TimeWindow]) -> Self {
        let mut windows = windows.to_vec();
        windows.sort_by_key(|window| (window.from, window.to));
        Self { windows, over: 0 }
    }

    /// Returns `true` if the link is down at `now`. Calls must be in the order of time.
    pub(super) fn down(&mut self, now: Instant) -> bool {
        while let Some(window) = self.windows.get(self.over) {
            if window.to > now {
                break;
            }
            self.over += 1;
        }
        // A long outage may come before short ones that are already over.
        self.windows[self.over..]
            .iter()
            .take_while(|window| window.from <= now)
            .any(|window| window.contains(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_may_overlap_in_any_order() {
        let window = |from, to| TimeWindow {
            from: Instant::from_nanos(from),
            to: Instant::from_nanos(to),
        };
        let mut outages = Outages::new(&[window(20, 22), window(5, 10), window(7, 15)]);
        let down: Vec<u64> = (0..30)
            .filter(|&t| outages.down(Instant::from_nanos(t)))
            .collect();
        let expected: Vec<u64> = (5..15).chain(20..22).collect();
        assert_eq!(down, expected);
    }
}
