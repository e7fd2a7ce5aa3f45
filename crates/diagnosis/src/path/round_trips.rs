//! Round-trip times: the least, and how they are spread.
//!
//! The least that was seen is no less than the path's. How much less the path's may be is told by how
//! thick the samples lie above it: if they are spread evenly there, the distance to the path's own is
//! that between two of them, on average (the spacings of order statistics).

use dupack_tcp::time::Duration;

use super::bins::Delays;
use crate::told::Told;

/// How many of the least samples are kept.
const LEAST: usize = 8;

/// An exponential variable exceeds three times its mean in 5 % of all cases (e^−3).
const TIMES_MEAN: u64 = 3;

/// Round-trip times of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    bins: Delays,
    /// The least ones, in order; `len` of them are there.
    least: [Duration; LEAST],
    len: usize,
    max: Duration,
}

/// How round-trip times are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// One of ten is less.
    pub p10: Duration,
    /// Half are less.
    pub median: Duration,
    /// Nine of ten are less.
    pub p90: Duration,
    /// 99 of 100 are less.
    pub p99: Duration,
    /// The greatest.
    pub max: Duration,
    /// How many there were.
    pub samples: u64,
}

impl RoundTrips {
    /// Takes a sample.
    pub(super) fn observe(&mut self, rtt: Duration) {
        self.bins.record(rtt.as_nanos());
        self.max = self.max.max(rtt);
        let kept = self.least.get(..self.len).unwrap_or_default();
        let place = kept.partition_point(|&known| known <= rtt);
        if place >= LEAST {
            return;
        }
        self.len = (self.len + 1).min(LEAST);
        if let Some(behind) = self.least.get_mut(place..self.len) {
            behind.rotate_right(1);
            if let Some(slot) = behind.first_mut() {
                *slot = rtt;
            }
        }
    }

    /// The least so far.
    pub(super) fn least(&self) -> Option<Duration> {
        self.least.first().copied().filter(|_| self.len > 0)
    }

    /// The least round-trip time of the path.
    pub(super) fn told(&self) -> Told<Duration> {
        let Some(least) = self.least() else {
            return Told::CannotBeTold {
                why: "no segment that was sent once is acknowledged in the capture",
                remedy: "a capture that has data and its ACKs",
            };
        };
        let last = self.len.checked_sub(1).and_then(|n| self.least.get(n));
        let reach = last.map_or(Duration::ZERO, |&last| last.saturating_sub(least));
        let spacing = match self.len as u64 {
            // One sample alone tells nothing of how far it is from the least.
            0 | 1 => least,
            n => Duration::from_nanos(reach.as_nanos() / (n - 1)),
        };
        Told::Between {
            value: least,
            low: least.saturating_sub(spacing.saturating_mul(TIMES_MEAN)),
            high: least,
        }
    }

    /// How they are spread.
    pub(super) fn spread(&self) -> Option<Spread> {
        let at = |q| self.bins.quantile(q).map(Duration::from_nanos);
        Some(Spread {
            p10: at(0.1)?,
            median: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            max: self.max,
            samples: self.bins.count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn of(samples: &[u64]) -> RoundTrips {
        let mut trips = RoundTrips::default();
        samples.iter().for_each(|&sample| trips.observe(ms(sample)));
        trips
    }

    #[test]
    fn the_least_has_an_interval_by_the_spacing_of_the_samples_above_it() {
        let trips = of(&[26, 22, 27, 21, 25, 20, 24, 23, 40]);
        assert_eq!(trips.least(), Some(ms(20)));
        // 20 to 27 ms: one a millisecond; up to three of them less.
        let told = trips.told();
        assert_eq!(
            (told.value(), told.interval()),
            (Some(ms(20)), Some((ms(17), ms(20))))
        );
        // Many at the bottom: that is the path's.
        assert_eq!(of(&[20; 9]).told().interval(), Some((ms(20), ms(20))));
        assert_eq!(of(&[20]).told().interval(), Some((ms(0), ms(20))));
        assert_eq!(of(&[]).told().value(), None);
    }

    #[test]
    fn quantiles_are_those_of_all_samples() {
        let samples: Vec<u64> = (1..=100).collect();
        let spread = of(&samples).spread().unwrap();
        assert!(spread.median.abs_diff(ms(50)) < ms(1));
        assert!(spread.p90.abs_diff(ms(90)) < ms(1));
        assert_eq!((spread.max, spread.samples), (ms(100), 100));
    }
}
