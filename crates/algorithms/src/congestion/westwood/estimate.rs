//! Count of the bytes of an ACK, and the filter that computes the bandwidth (§II).

use dupack_tcp::time::{Duration, Instant};

use crate::catalog::Choice;

/// Count of an ACK that covers no more segments than duplicate ACKs have announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Counting {
    /// one segment; the others stop being announced: each segment counts once
    Once,
    /// one segment; all segments covered stop being announced: one segment counts twice
    Printed,
}

/// Sampling time of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Sampling {
    /// the time between ACKs, regarded as a fixed fraction of the time constant
    Acks,
    /// the actual time between ACKs; each half of the time constant without an ACK is a sample of zero
    Time,
}

/// Count of the bytes of ACKs that does not count data again if duplicate ACKs announced it (procedure AckedCount,
/// §II.A). The count is in bytes; the paper counts segments of equal size.
///
/// The procedure as printed ([`Counting::Printed`]) does not match its description: in the paper's own example it
/// counts 35 segments of 30. An ACK that covers n announced segments counts for one of them, and all n are subtracted
/// from the announced number; with n − 1 ([`Counting::Once`]), the count is 30.
#[derive(Clone, Copy, Debug)]
pub struct AckedCount {
    counting: Counting,
    segment: u64,
    limit: u64,
    accounted_for: u64,
}

impl AckedCount {
    /// Creates a count for segments of `smss` bytes; one ACK counts for at most `limit_segments` segments.
    #[must_use]
    pub fn new(counting: Counting, smss: u32, limit_segments: u64) -> Self {
        let segment = u64::from(smss);
        Self {
            counting,
            segment,
            limit: limit_segments * segment,
            accounted_for: 0,
        }
    }

    /// Changes the size of a full segment from `from` to `to` bytes.
    pub fn resize(&mut self, from: u32, to: u32) {
        self.segment = u64::from(to);
        self.limit = self.limit / u64::from(from.max(1)) * self.segment;
    }

    /// Returns the number of bytes for which an ACK counts. The ACK acknowledges `cumulative` bytes; a duplicate ACK
    /// acknowledges none.
    pub fn count(&mut self, cumulative: u64) -> u64 {
        let counted = if cumulative == 0 {
            self.accounted_for += self.segment;
            self.segment
        } else if cumulative <= self.segment {
            cumulative
        } else if self.accounted_for >= cumulative {
            self.accounted_for -= match self.counting {
                Counting::Once => cumulative - self.segment,
                Counting::Printed => cumulative,
            };
            self.segment
        } else {
            cumulative - core::mem::take(&mut self.accounted_for)
        };
        counted.min(self.limit)
    }

    /// Returns the bytes that duplicate ACKs have announced and that no ACK has covered yet.
    #[must_use]
    pub fn accounted_for(&self) -> u64 {
        self.accounted_for
    }
}

/// Low-pass filter of §II. Rates are in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    weights: Weights,
    estimate: f64,
    sample: f64,
    last_ack: Option<Instant>,
    /// Bytes counted since `last_ack`.
    pending: u64,
}

/// Weights of the filter.
#[derive(Clone, Copy, Debug)]
enum Weights {
    /// τ/T is constant.
    Fixed(Trapezoid),
    /// τ is constant, in seconds.
    Timed(f64),
}

/// Weights of the trapezoidal rule: of the previous estimate, and of each of the two samples.
#[derive(Clone, Copy, Debug)]
struct Trapezoid {
    keep: f64,
    add: f64,
}

impl Trapezoid {
    /// Returns the weights for a time constant of `ratio` sampling times.
    fn new(ratio: f64) -> Self {
        let denominator = 2.0 * ratio + 1.0;
        Self {
            keep: (2.0 * ratio - 1.0) / denominator,
            add: 1.0 / denominator,
        }
    }
}

/// Minimum length, in seconds, of the last part of an interval for a sample to be meaningful.
const SHORTEST_REST: f64 = 0.01;

/// Number of intervals without an ACK after which an estimate is practically zero.
const MOST_IDLE: u64 = 1000;

impl Filter {
    /// Returns a filter with a time constant of `ratio` sampling times (§II).
    pub(super) fn fixed(ratio: f64) -> Self {
        Self::new(Weights::Fixed(Trapezoid::new(ratio)))
    }

    /// Returns a filter with this time constant for every sampling time.
    pub(super) fn timed(constant: Duration) -> Self {
        Self::new(Weights::Timed(constant.as_secs_f64()))
    }

    fn new(weights: Weights) -> Self {
        Self {
            weights,
            estimate: 0.0,
            sample: 0.0,
            last_ack: None,
            pending: 0,
        }
    }

    /// Returns the estimate; zero before the first sample.
    pub(super) fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Returns the estimate; `None` before the first ACK.
    pub(super) fn begun(&self) -> Option<f64> {
        self.last_ack.map(|_| self.estimate)
    }

    pub(super) fn take(&mut self, now: Instant, bytes: u64) {
        let Some(last) = &mut self.last_ack else {
            self.last_ack = Some(now);
            return;
        };
        let bytes = self.pending + bytes;
        let interval = now.since(*last);
        if interval.is_zero() {
            self.pending = bytes;
            return;
        }
        self.pending = 0;
        *last = now;
        let (bytes, interval) = (bytes as f64, interval.as_secs_f64());
        match self.weights {
            Weights::Fixed(weights) => self.step(weights, bytes / interval),
            Weights::Timed(constant) => {
                let rest = self.idle(constant, interval);
                self.step(Trapezoid::new(constant / rest), bytes / rest);
            }
        }
    }

    fn step(&mut self, weights: Trapezoid, sample: f64) {
        self.estimate = weights.keep * self.estimate + weights.add * (sample + self.sample);
        self.sample = sample;
    }

    /// Inserts a sample of zero for each half of the time constant without an ACK, and returns the remaining part of
    /// the interval. If this part is shorter than 10 ms, the last half is returned in its place.
    fn idle(&mut self, constant: f64, interval: f64) -> f64 {
        let half = constant / 2.0;
        let mut halves = (interval / half) as u64;
        let mut rest = interval - half * halves as f64;
        if halves > 0 && rest < SHORTEST_REST {
            halves -= 1;
            rest = half;
        }
        for _ in 0..halves.min(MOST_IDLE) {
            self.step(Trapezoid::new(2.0), 0.0);
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs().max(1.0)
    }

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// Returns the counts in §II.A's example: 100 to 109 are lost, and 110 to 129 arrive. There are 20 duplicate ACKs,
    /// 5 delayed ACKs for 100 to 109, and one ACK for the remaining segments.
    fn example(counting: Counting, limit: u64) -> [u64; 3] {
        let mut acked = AckedCount::new(counting, 1, limit);
        let duplicates = (0..20).map(|_| acked.count(0)).sum();
        assert_eq!(acked.accounted_for(), 20);
        let delayed = (0..5).map(|_| acked.count(2)).sum();
        let last = acked.count(20);
        assert_eq!(acked.accounted_for(), 0);
        // An ordinary delayed ACK counts fully.
        assert_eq!((acked.count(2), acked.count(1)), (2, 1));
        [duplicates, delayed, last]
    }

    #[test]
    fn acked_count_in_the_example_of_section_2a() {
        // Each delayed ACK reduces the announced segments by one: 15 remain, so 5 of the last 20 count.
        assert_eq!(example(Counting::Once, 65_535), [20, 5, 5]);
    }

    #[test]
    fn acked_count_as_printed_counts_35_of_30() {
        // Each delayed ACK counts for one segment and reduces the announced segments by two: 10 remain, so 10 of the
        // last 20 count.
        assert_eq!(example(Counting::Printed, 65_535), [20, 5, 10]);
    }

    #[test]
    fn the_bound_of_the_authors_module_counts_27_of_30() {
        assert_eq!(example(Counting::Once, 2), [20, 5, 2]);
    }

    #[test]
    fn an_announcement_lasts_for_as_many_acks_as_it_has_segments() {
        let left = |counting| {
            let mut acked = AckedCount::new(counting, 1000, 65_535);
            for _ in 0..4 {
                acked.count(0);
            }
            [2000, 2000, 2000].map(|bytes| (acked.count(bytes), acked.accounted_for()))
        };
        assert_eq!(
            left(Counting::Once),
            [(1000, 3000), (1000, 2000), (1000, 1000)]
        );
        assert_eq!(
            left(Counting::Printed),
            [(1000, 2000), (1000, 0), (2000, 0)]
        );
    }

    #[test]
    fn one_ack_counts_for_no_more_than_the_limit() {
        let mut acked = AckedCount::new(Counting::Once, 1000, 2);
        assert_eq!(acked.count(20_000), 2000);
        acked.resize(1000, 500);
        assert_eq!(acked.count(20_000), 1000);
    }

    #[test]
    fn the_filter_by_hand() {
        let mut filter = Filter::fixed(10.0);
        assert_eq!(filter.begun(), None);
        filter.take(ms(5), 1000);
        assert_eq!(filter.begun(), Some(0.0));
        // 1000 B in 10 ms are 100,000 B/s: BWE = (100,000 + 0)/21.
        filter.take(ms(15), 1000);
        assert!(close(filter.estimate, 100_000.0 / 21.0));
        // 2000 B in 10 ms are 200,000 B/s: BWE = 19/21 · 100,000/21 + (200,000 + 100,000)/21.
        filter.take(ms(25), 2000);
        let expected = 19.0 / 21.0 * (100_000.0 / 21.0) + 300_000.0 / 21.0;
        assert!(close(filter.estimate, expected));
    }

    #[test]
    fn acks_at_the_same_instant_count_with_the_next() {
        let mut filter = Filter::fixed(10.0);
        filter.take(ms(0), 1000);
        filter.take(ms(0), 1000);
        filter.take(ms(0), 1000);
        assert_eq!(filter.estimate, 0.0);
        // The sample is 3000 B in 10 ms.
        filter.take(ms(10), 1000);
        assert!(close(filter.sample, 300_000.0));
    }

    #[test]
    fn the_filter_in_time_weighs_a_sample_by_its_time() {
        let mut filter = Filter::timed(Duration::from_secs(1));
        filter.take(ms(0), 1000);
        // 1000 B in 100 ms, r = 10: the weights are the same as above.
        filter.take(ms(100), 1000);
        assert!(close(filter.estimate, 10_000.0 / 21.0));
        // 1000 B in 200 ms, r = 5: BWE = 9/11 · BWE + (5000 + 10,000)/11.
        filter.take(ms(300), 1000);
        let expected = 9.0 / 11.0 * (10_000.0 / 21.0) + 15_000.0 / 11.0;
        assert!(close(filter.estimate, expected));
        // In the 1200 ms, there are two halves of the time constant without an ACK. Each gives 3/5 · BWE + (0 +
        // last)/5. Then the remaining 200 ms have 1000 B.
        filter.take(ms(1500), 1000);
        let idle = 0.6 * (0.6 * expected + 5000.0 / 5.0);
        assert!(close(filter.estimate, 9.0 / 11.0 * idle + 5000.0 / 11.0));
    }

    #[test]
    fn a_rest_of_less_than_10_ms_takes_half_the_time_constant_with_it() {
        let mut filter = Filter::timed(Duration::from_secs(1));
        filter.take(ms(0), 1000);
        // The interval is twice 500 ms and 5 ms: one sample of zero, and then 1000 B in 500 ms, r = 2.
        filter.take(ms(1005), 1000);
        assert!(close(filter.estimate, 2000.0 / 5.0));
        // The same again: 3/5 · BWE + (0 + 2000)/5 for the one sample of zero, then the same 1000 B.
        filter.take(ms(2010), 1000);
        let idle = 0.6 * 400.0 + 2000.0 / 5.0;
        assert!(close(filter.estimate, 0.6 * idle + 2000.0 / 5.0));
        // A very long time without data reduces the estimate to zero, at little computing cost.
        filter.take(ms(2_000_000_000), 0);
        assert!(filter.estimate < 1e-9);
    }
}
