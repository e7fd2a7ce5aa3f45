//! Round-trip times: the minimum and the distribution.
//!
//! The observed minimum is greater than or equal to the path's minimum. The density of the samples just above the
//! observed minimum shows how much smaller the path's minimum may be: if these samples are evenly spread, the
//! difference between the two minimums is on average the distance between two neighbouring samples (spacings of order
//! statistics).
//!
//! If a receiver acknowledges every second segment, and both segments left together, the second one waited for the
//! first. On a slow link, every sample includes this waiting time. Its length is known once the link's rate is known.
//! Short segments have shorter transmission times. Therefore, after the first sample of a full segment, only samples of
//! full segments count.

use dupack_tcp::time::Duration;

use super::bins::Delays;
use crate::told::Told;

/// Number of smallest samples that are stored.
const LEAST: usize = 8;

/// Number of burst positions for which a minimum is stored: 0 to 3 segments sent together with a sample's segment and
/// before it (our choice: a receiver that often acknowledges more segments at once sometimes acknowledges fewer).
const AHEAD: usize = 4;

/// Multiple of its mean that an exponential variable exceeds in 5 % of all cases (e^−3).
const TIMES_MEAN: u64 = 3;

/// Round-trip times of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    bins: Delays,
    /// Smallest samples, sorted; the first `len` are valid.
    least: [Duration; LEAST],
    len: usize,
    max: Duration,
    sum: Duration,
    /// Length of the segments to which the smallest samples belong.
    length: Length,
    /// Minimum for each number of preceding segments in the same burst.
    behind: [Option<Duration>; AHEAD],
}

/// Length of a sample's segment, compared with a full segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Length {
    #[default]
    Short,
    Full,
}

/// Distribution of round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// 10 % quantile.
    pub p10: Duration,
    /// Median.
    pub median: Duration,
    /// 90 % quantile.
    pub p90: Duration,
    /// 99 % quantile.
    pub p99: Duration,
    /// Maximum.
    pub max: Duration,
    /// Number of samples.
    pub samples: u64,
}

impl RoundTrips {
    /// Processes a sample of a segment that was sent together with `ahead` other segments and after them.
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

    /// Returns the minimum so far.
    pub(super) fn least(&self) -> Option<Duration> {
        self.least.first().copied().filter(|_| self.len > 0)
    }

    /// Returns the minimum without the time spent waiting for segments that were sent together. `packet` is the
    /// transmission time of one packet at the bottleneck.
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

    /// Returns the minimum round-trip time of the path. `packet` has the same meaning as for [`Self::least_alone`], and
    /// `slowest` is its upper bound.
    pub(super) fn told(&self, packet: Duration, slowest: Duration) -> Told<Duration> {
        let Some((least, alone)) = self.least().zip(self.least_alone(packet)) else {
            return Told::CannotBeTold {
                why: "the capture has no ACK of a segment that was sent only once",
                remedy: "a capture with data and its ACKs",
            };
        };
        let last = self.len.checked_sub(1).and_then(|n| self.least.get(n));
        let reach = last.map_or(Duration::ZERO, |&last| last.saturating_sub(least));
        let spacing = match self.len as u64 {
            // A single sample does not show how much smaller the path's minimum is.
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

    /// Returns the mean of all samples.
    pub(super) fn mean(&self) -> Option<Duration> {
        let count = self.bins.count();
        (count > 0).then(|| self.sum / count)
    }

    /// Returns the distribution.
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
    fn the_interval_of_the_minimum_follows_the_spacing_of_samples() {
        let trips = of(&[26, 22, 27, 21, 25, 20, 24, 23, 40]);
        assert_eq!(trips.least(), Some(ms(20)));
        // There is one sample per millisecond from 20 to 27 ms, so the path's minimum may be up to 3 ms smaller.
        let told = trips.told(Duration::ZERO, Duration::ZERO);
        assert_eq!(
            (told.value(), told.interval()),
            (Some(ms(20)), Some((ms(17), ms(20))))
        );
        // Many samples equal the observed minimum, so it is the path's minimum.
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
    fn waits_within_a_burst_are_subtracted_once_the_rate_is_known() {
        let mut trips = RoundTrips::default();
        trips.observe(ms(26), 1, Length::Full);
        trips.observe(ms(28), 0, Length::Full);
        // A short segment takes less time, so its sample does not count.
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
