//! Time series of bounded length: when a series is full, every second sample is removed.

use dupack_tcp::time::{Duration, Instant};

/// Samples at regular intervals. The interval doubles whenever the capacity is reached, so the samples of a run of any
/// length fit and remain evenly spaced.
#[derive(Clone, Debug)]
pub struct Series<T> {
    samples: Vec<Sample<T>>,
    capacity: usize,
    interval: Duration,
    next: Instant,
}

/// A value with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<T> {
    /// Time of the sample.
    pub at: Instant,
    /// Sampled value.
    pub value: T,
}

impl<T> Series<T> {
    /// Creates a series with an initial `interval` and at most `capacity` samples (at least two).
    #[must_use]
    pub fn new(interval: Duration, capacity: usize) -> Self {
        Self {
            samples: Vec::new(),
            capacity: capacity.max(2),
            interval: interval.max(Duration::from_nanos(1)),
            next: Instant::ZERO,
        }
    }

    /// Returns the time of the next sample.
    #[must_use]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Adds a sample taken at `at`; ignored if `at` is before [`Series::next`].
    pub fn push(&mut self, at: Instant, value: T) {
        if at < self.next {
            return;
        }
        if self.samples.len() == self.capacity {
            self.halve();
        }
        self.samples.push(Sample { at, value });
        self.next = at + self.interval;
    }

    /// Returns the samples, in the order of time.
    #[must_use]
    pub fn samples(&self) -> &[Sample<T>] {
        &self.samples
    }

    /// Returns the current interval.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    fn halve(&mut self) {
        let mut index = 0;
        self.samples.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        self.interval = self.interval * 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_series_keeps_every_second_sample() {
        let mut series = Series::new(Duration::from_millis(100), 8);
        let mut at = Instant::ZERO;
        for n in 0..100 {
            at = series.next();
            series.push(at, n);
            series.push(at, n); // Too early: ignored.
        }
        assert!(series.samples().len() <= 8);
        assert!(at > Instant::ZERO + Duration::from_secs(10));
        let gaps: Vec<_> = series
            .samples()
            .windows(2)
            .map(|pair| pair[1].at.since(pair[0].at))
            .collect();
        let longest = *gaps.iter().max().unwrap();
        assert!(
            gaps.iter().all(|&gap| gap == longest || gap * 2 == longest),
            "{gaps:?}"
        );
    }
}
