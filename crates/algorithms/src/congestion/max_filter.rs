//! Windowed maximum filter for both versions of BBR.
//!
//! The filter keeps the values that can still become the maximum. In the queue, values decrease and times increase.
//! Each value is inserted once and removed once, so an update is amortised O(1). Only one value is kept for each time,
//! so the number of values does not exceed the window's length.

use alloc::collections::VecDeque;

/// Value, and the (virtual) time at which it was inserted.
#[derive(Clone, Copy, Debug)]
struct Taken {
    value: f64,
    time: u64,
}

/// Maximum filter. The maximum of an empty filter is 0.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    falling: VecDeque<Taken>,
}

impl MaxFilter {
    /// Inserts `value`, and removes values that are `window` or more units older than `time`. `time` must not decrease
    /// between calls.
    pub(super) fn update(&mut self, value: f64, time: u64, window: u64) {
        while self.falling.back().is_some_and(|t| t.value <= value) {
            self.falling.pop_back();
        }
        if self.falling.back().is_none_or(|t| t.time < time) {
            self.falling.push_back(Taken { value, time });
        }
        while self
            .falling
            .front()
            .is_some_and(|t| t.time.saturating_add(window) <= time)
        {
            self.falling.pop_front();
        }
    }

    /// Returns the maximum in the window at the last update.
    pub(super) fn max(&self) -> f64 {
        self.falling.front().map_or(0.0, |t| t.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_looking_at_every_value() {
        let mut filter = MaxFilter::default();
        let mut all: Vec<(f64, u64)> = Vec::new();
        let mut state = 1_u64;
        for step in 0..2000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let value = (state >> 40) as f64;
            // Some times have several values, others have none.
            let time = step / 3 + (step / 50) * 4;
            all.push((value, time));
            filter.update(value, time, 5);
            let slow = all.iter().filter(|(_, t)| t + 5 > time);
            let slow = slow.map(|(v, _)| *v).fold(0.0, f64::max);
            assert_eq!(filter.max(), slow);
            assert!(filter.falling.len() <= 5);
        }
    }

    #[test]
    fn the_maximum_of_an_empty_filter_is_zero() {
        assert_eq!(MaxFilter::default().max(), 0.0);
    }
}
