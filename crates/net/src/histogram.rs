//! Log-linear histogram of time spans: quantiles are accurate to 0.8 %, in bounded memory.
//!
//! Each power of two is divided into 64 buckets of equal width (the scheme of HdrHistogram, Gil Tene, 2012). A value is
//! reported as the middle of its bucket, so the error is at most half of 1/64 of the value. Spans below 64 ns are
//! exact.

use dupack_tcp::time::Duration;

/// Number of spans by length.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// One counter per bucket. The list grows to the bucket of the longest span, and has at most 3776 buckets.
    buckets: Vec<u64>,
    count: u64,
    total_ns: u128,
    max: Duration,
}

const BITS: u32 = 6;
const PER_OCTAVE: u64 = 1 << BITS;

impl Histogram {
    /// Adds one span.
    #[inline]
    pub fn record(&mut self, span: Duration) {
        let bucket = bucket_of(span.as_nanos());
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.total_ns += u128::from(span.as_nanos());
        self.max = self.max.max(span);
    }

    /// Removes all spans.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
        self.count = 0;
        self.total_ns = 0;
        self.max = Duration::ZERO;
    }

    /// Returns the number of recorded spans.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean, exact to a nanosecond; `None` if the histogram is empty.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.total_ns.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(mean as u64))
    }

    /// Returns the longest span, exactly; zero if the histogram is empty.
    #[must_use]
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Returns the quantile `q` (nearest rank): the smallest recorded span such that at least the fraction `q` of all
    /// spans is not longer, or `None` if the histogram is empty. A `q` of 0.5 gives the median.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        let bucket = self.buckets.iter().position(|&count| {
            below += count;
            below >= rank
        })?;
        Some(middle_of(bucket).min(self.max))
    }

    /// Adds all spans of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.max = self.max.max(other.max);
    }
}

/// Returns the bucket of a span. Below 64, this is the value itself; above, there are 64 buckets for each position of
/// the leading one bit.
fn bucket_of(nanos: u64) -> usize {
    let octave = (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS + 1);
    ((u64::from(octave) << BITS) + (nanos >> octave)) as usize
}

fn middle_of(bucket: usize) -> Duration {
    let bucket = bucket as u64;
    let octave = (bucket / PER_OCTAVE).saturating_sub(1);
    let low = (bucket - octave * PER_OCTAVE) << octave;
    Duration::from_nanos(low + ((1 << octave) >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_are_narrow() {
        let mut last = 0;
        let mut value = 0_u64;
        while value < 1 << 62 {
            let bucket = bucket_of(value);
            assert!(bucket == last || bucket == last + 1, "{value}");
            last = bucket;
            let middle = middle_of(bucket).as_nanos();
            // Half of 1/64 is 0.78 %.
            let error = middle.abs_diff(value) as f64;
            assert!(
                error <= value as f64 * 0.0079,
                "{value} reported as {middle}"
            );
            value += 1 + (value >> 7);
        }
        assert_eq!(bucket_of(u64::MAX), 3775);
    }

    #[test]
    fn quantiles_of_a_uniform_distribution() {
        let mut histogram = Histogram::default();
        for micros in 1..=10_000 {
            histogram.record(Duration::from_micros(micros));
        }
        for (q, micros) in [(0.5, 5_000.0), (0.95, 9_500.0), (0.01, 100.0)] {
            let got = histogram.quantile(q).unwrap().as_secs_f64() * 1e6;
            assert!((got - micros).abs() < 0.009 * micros, "{q}: {got}");
        }
        // The mean is (1 + 10000)/2 µs.
        assert_eq!(histogram.mean(), Some(Duration::from_nanos(5_000_500)));
        assert_eq!(
            histogram.quantile(1.0).unwrap(),
            Duration::from_millis(10).min(histogram.max())
        );
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (None, None));
        histogram.record(Duration::from_millis(1));
        histogram.clear();
        assert_eq!((histogram.quantile(0.5), histogram.count()), (None, 0));
    }

    #[test]
    fn merged_histograms_count_together() {
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        a.record(Duration::from_nanos(10));
        b.record(Duration::from_nanos(20));
        b.record(Duration::from_nanos(30));
        a.merge(&b);
        assert_eq!((a.count(), a.max()), (3, Duration::from_nanos(30)));
        assert_eq!(a.quantile(0.5), Some(Duration::from_nanos(20)));
    }
}
