//! Amount of recently delivered data.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::rate::per_second;

/// Number of stored moments, and the interval between them: the delay divided by [`MOMENTS_PER_DELAY`], but at least
/// [`MOMENT_MIN`] (our choice). All moments together cover four times the delay.
const MOMENTS: usize = 128;
const MOMENTS_PER_DELAY: u64 = 32;
const MOMENT_MIN: Duration = Duration::from_millis(1);

/// Number of delivered bytes at recent moments.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    bytes: u64,
    moments: VecDeque<(Instant, u64)>,
}

impl Past {
    pub(super) fn delivered(&mut self, at: Instant, bytes: u64, delay: Duration) {
        self.bytes = self.bytes.saturating_add(bytes);
        let apart = (delay / MOMENTS_PER_DELAY).max(MOMENT_MIN);
        let last = self.moments.back();
        if last.is_some_and(|&(last, _)| at.since(last) < apart) {
            return;
        }
        if self.moments.len() >= MOMENTS {
            self.moments.pop_front();
        }
        self.moments.push_back((at, self.bytes));
    }

    /// Returns the rate, in bit/s, of the data delivered since the time `long` before `at`, divided by `long`. Data
    /// delivered after `at` is included.
    pub(super) fn rate(&self, at: Instant, long: Duration) -> Option<f64> {
        let after = |&(moment, _): &(Instant, u64)| at.since(moment) >= long;
        let place = self.moments.partition_point(after);
        let &(since, before) = self.moments.get(place.saturating_sub(1))?;
        // The stored moments may begin after the start of the period.
        let known = long.min(at.since(since));
        let known = if place == 0 { known } else { long };
        per_second(self.bytes.saturating_sub(before), known)
    }
}
