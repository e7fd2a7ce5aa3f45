//! Advertised window that follows the bandwidth measured by the receiver (TCP Westwood §II, last paragraph).
//!
//! The paper's sender filters the rate of returning ACKs. Its authors remark that the receiver can filter the arriving
//! data instead, and report the result to the sender by the advertised window: min(AdvertisedWindow, RTTmin · BWE). A
//! lost ACK is then no lost sample. The paper does not evaluate this, and does not say how a receiver knows RTTmin;
//! here it is given.

use crate::time::{Duration, Instant};

/// Window that follows the bandwidth: the measured bandwidth times the minimum round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BandwidthWindow {
    /// RTTmin, the minimum round-trip time of the path.
    pub least_round_trip: Duration,
    /// Time constant of the filter, in multiples of the time between arrivals. The sender's filter has ten as well, in
    /// multiples of the time between ACKs.
    pub time_constant: u32,
}

impl BandwidthWindow {
    /// Returns the paper's filter, for a path with this minimum round-trip time.
    #[must_use]
    pub const fn new(least_round_trip: Duration) -> Self {
        Self {
            least_round_trip,
            time_constant: 10,
        }
    }
}

/// Minimum window in segments. With a smaller window, a lost segment causes no duplicate ACK. The sender's ssthresh has
/// the same minimum.
const LEAST_SEGMENTS: u64 = 2;

/// Estimate of the bandwidth from the arrivals.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    config: BandwidthWindow,
    segment: u64,
    /// BWE in bytes per second.
    estimate: f64,
    /// The last sample.
    sample: f64,
    last: Option<Instant>,
    /// Bytes since `last`: several segments may arrive at once.
    pending: u64,
}

impl Arrivals {
    /// Returns an estimate without samples, for segments of `mss` bytes.
    pub(super) fn new(config: BandwidthWindow, mss: u32) -> Self {
        Self {
            config,
            segment: u64::from(mss),
            estimate: 0.0,
            sample: 0.0,
            last: None,
            pending: 0,
        }
    }

    /// Takes in `bytes` bytes that are new.
    pub(super) fn take(&mut self, now: Instant, bytes: u64) {
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        self.pending += bytes;
        let interval = now.since(last);
        if interval.is_zero() {
            return;
        }
        self.last = Some(now);
        let sample = core::mem::take(&mut self.pending) as f64 / interval.as_secs_f64();
        // §II: a first-order low-pass filter by the trapezoidal rule.
        let twice = 2.0 * f64::from(self.config.time_constant);
        self.estimate = ((twice - 1.0) * self.estimate + sample + self.sample) / (twice + 1.0);
        self.sample = sample;
    }

    /// RTTmin · BWE in bytes; `None` before the first estimate.
    pub(super) fn window(&self) -> Option<u64> {
        let product = self.estimate * self.config.least_round_trip.as_secs_f64();
        let floor = LEAST_SEGMENTS * self.segment;
        (self.estimate > 0.0).then(|| (product as u64).max(floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    fn of(round_trip: u64) -> Arrivals {
        let config = BandwidthWindow::new(Duration::from_millis(round_trip));
        Arrivals::new(config, 1000)
    }

    /// 1000 B every 10 ms are 100,000 B/s: BWE = (100,000 + 0)/21, then 19/21 of that and 200,000/21.
    #[test]
    fn the_estimate_and_the_window_by_hand() {
        let mut arrivals = of(700);
        arrivals.take(ms(0), 1000);
        assert_eq!(arrivals.window(), None);
        arrivals.take(ms(10), 1000);
        let first = 100_000.0 / 21.0;
        assert!((arrivals.estimate - first).abs() < 1e-9);
        assert_eq!(arrivals.window(), Some((first * 0.7) as u64));
        arrivals.take(ms(20), 1000);
        let second = 19.0 / 21.0 * first + 200_000.0 / 21.0;
        assert!((arrivals.estimate - second).abs() < 1e-9);
        for n in 3..500 {
            arrivals.take(ms(10 * n), 1000);
        }
        // In the long run the window is the amount that arrives in a round trip.
        assert!(arrivals.window().is_some_and(|w| w.abs_diff(70_000) <= 1));
    }

    #[test]
    fn segments_at_the_same_instant_count_with_the_next() {
        let mut arrivals = of(100);
        for _ in 0..3 {
            arrivals.take(ms(0), 1000);
        }
        assert_eq!(arrivals.window(), None);
        arrivals.take(ms(10), 1000);
        assert!((arrivals.sample - 300_000.0).abs() < 1e-9);
    }

    #[test]
    fn the_window_is_never_less_than_two_segments() {
        let mut arrivals = of(1);
        arrivals.take(ms(0), 1000);
        arrivals.take(ms(1000), 1000);
        assert_eq!(arrivals.window(), Some(2000));
    }
}
