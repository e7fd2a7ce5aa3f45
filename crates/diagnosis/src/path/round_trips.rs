//! Round-trip times: the least, and how they are spread.
//!
//! The least that was seen is no less than the path's. How much less the path's may be is told by how
//! thick the samples lie above it: if they are spread evenly there, the distance to the path's own is
//! that between two of them, on average (the spacings of order statistics).
//!
//! Where a receiver acknowledges every second segment, and both left together, the second has waited for the
//! first: on a slow link no sample is without that. What they waited for is known once the rate is. And a short
//! segment takes less time than a full one: once there are full ones, they alone count.

use dupack_tcp::time::Duration;

use super::bins::Delays;
use crate::told::Told;

/// How many of the least samples are kept.
const LEAST: usize = 8;

/// Of samples that waited for up to so many segments that left with them, the least are kept by that number
/// (ours: a receiver that acknowledges more at once has others as well).
const AHEAD: usize = 4;

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
    sum: Duration,
    /// Of what segments the least ones are.
    length: Length,
    /// The least of those that waited for so many others of the same burst.
    behind: [Option<Duration>; AHEAD],
}

/// Whether a sample is of a segment as long as most are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Length {
    #[default]
    Short,
    Full,
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
    /// Takes a sample, of a segment that left together with so many others, and after them.
    pub(super) fn observe(&mut self, rtt: Duration, ahead: usize, length: Length) {
        self.bins.record(rtt.as_nanos());
        self.max = self.max.max(rtt);
        self.sum += rtt;
        match (self.length, length) {
            (Length::Short, Length::Full) => {
                self.length = Length::Full;
                self.len = 0;
                self.behind = [None; AHEAD];
            }
            (Length::Full, Length::Short) => return,
            _ => {}
        }
        if let Some(least) = self.behind.get_mut(ahead) {
            *least = Some(least.map_or(rtt, |least| least.min(rtt)));
        }
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

    /// The least without what segments waited for others that left with them: `packet` is the time that one
    /// takes at the bottleneck.
    pub(super) fn least_alone(&self, packet: Duration) -> Option<Duration> {
        let alone = self
            .behind
            .iter()
            .zip(0_u64..)
            .filter_map(|(least, ahead)| {
                Some((*least)?.saturating_sub(packet.saturating_mul(ahead)))
            });
        alone.chain(self.least()).min()
    }

    /// The least round-trip time of the path; `packet` as for [`Self::least_alone`], and `slowest` is the most that
    /// it may be.
    pub(super) fn told(&self, packet: Duration, slowest: Duration) -> Told<Duration> {
        let Some((least, alone)) = self.least().zip(self.least_alone(packet)) else {
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
        let lowest = self.least_alone(slowest).unwrap_or(alone).min(alone);
        Told::Between {
            value: alone,
            low: lowest.saturating_sub(spacing.saturating_mul(TIMES_MEAN)),
            high: least,
        }
    }

    /// The mean of all.
    pub(super) fn mean(&self) -> Option<Duration> {
        let count = self.bins.count();
        (count > 0).then(|| self.sum / count)
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
        samples
            .iter()
            .for_each(|&sample| trips.observe(ms(sample), 0, Length::Full));
        trips
    }

    #[test]
    fn the_least_has_an_interval_by_the_spacing_of_the_samples_above_it() {
        let trips = of(&[26, 22, 27, 21, 25, 20, 24, 23, 40]);
        assert_eq!(trips.least(), Some(ms(20)));
        // 20 to 27 ms: one a millisecond; up to three of them less.
        let told = trips.told(Duration::ZERO, Duration::ZERO);
        assert_eq!(
            (told.value(), told.interval()),
            (Some(ms(20)), Some((ms(17), ms(20))))
        );
        // Many at the bottom: that is the path's.
        assert_eq!(
            of(&[20; 9]).told(Duration::ZERO, Duration::ZERO).interval(),
            Some((ms(20), ms(20)))
        );
        assert_eq!(
            of(&[20]).told(Duration::ZERO, Duration::ZERO).interval(),
            Some((ms(0), ms(20)))
        );
        assert_eq!(of(&[]).told(Duration::ZERO, Duration::ZERO).value(), None);
    }

    #[test]
    fn what_waited_for_others_of_its_burst_is_known_with_the_rate() {
        let mut trips = RoundTrips::default();
        trips.observe(ms(26), 1, Length::Full);
        trips.observe(ms(28), 0, Length::Full);
        // A short one is under way for less.
        trips.observe(ms(12), 0, Length::Short);
        assert_eq!(trips.least_alone(Duration::ZERO), Some(ms(26)));
        let told = trips.told(ms(6), ms(6));
        assert_eq!(told.value(), Some(ms(20)));
        assert_eq!(told.interval().map(|(_, high)| high), Some(ms(26)));
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
