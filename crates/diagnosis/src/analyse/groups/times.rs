//! Times of a group, and the quantiles of these times.

use dupack_tcp::time::Duration;

use crate::analyse::requests::Quantiles;
use crate::path::bins::LogBins;

/// Maximum number of times for which quantiles are exact. With more times, the error is at most 1.6 % (our choice: half
/// a kilobyte).
pub const EXACT_MAX: usize = 64;

/// Histogram of times. It takes about 2 kB of memory for times from a millisecond to a minute.
type Bins = LogBins<5>;

/// Set of times whose memory does not grow with their number.
#[derive(Clone, Debug, Default)]
pub struct Times {
    exact: Vec<Duration>,
    bins: Option<Box<Bins>>,
    max: Duration,
}

impl Times {
    /// Creates a set of one time.
    pub(super) fn of(time: Duration) -> Self {
        Self {
            exact: vec![time],
            bins: None,
            max: time,
        }
    }

    /// Adds the times of another set.
    pub(super) fn add(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        if let Some(theirs) = &other.bins {
            self.binned().add(theirs);
            return;
        }
        for time in &other.exact {
            if self.bins.is_none() && self.exact.len() < EXACT_MAX {
                self.exact.push(*time);
            } else {
                self.binned().record(time.as_nanos());
            }
        }
    }

    /// Returns the bins, and moves all times to them.
    fn binned(&mut self) -> &mut Bins {
        let exact = std::mem::take(&mut self.exact);
        let bins = self.bins.get_or_insert_with(Box::default);
        for time in exact {
            bins.record(time.as_nanos());
        }
        bins
    }

    /// Returns the number of bytes allocated on the heap.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        let binned = self.bins.as_ref().map_or(0, |bins| bins.memory());
        self.exact.len() * size_of::<Duration>() + binned
    }

    /// Returns the number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        let binned = self.bins.as_ref().map_or(0, |bins| bins.count());
        self.exact.len() as u64 + binned
    }

    /// Returns the quantiles by the nearest rank; `None` if there are no times.
    #[must_use]
    pub fn quantiles(&self) -> Option<Quantiles> {
        let max = self.max;
        if let Some(bins) = &self.bins {
            let at = |q| Some(Duration::from_nanos(bins.quantile(q)?).min(max));
            return Some(Quantiles {
                p50: at(0.5)?,
                p95: at(0.95)?,
                max,
            });
        }
        let mut all = self.exact.clone();
        all.sort_unstable();
        let at = |percent: usize| {
            let rank = (all.len() * percent).div_ceil(100);
            all.get(rank.saturating_sub(1)).copied()
        };
        Some(Quantiles {
            p50: at(50)?,
            p95: at(95)?,
            max,
        })
    }
}
