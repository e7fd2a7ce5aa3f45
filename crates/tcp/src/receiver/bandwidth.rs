//! Advertised window that follows the bandwidth measured by the receiver (TCP Westwood §II, last paragraph).
//!
//! The paper's sender filters the rate of returning ACKs. Its authors remark that the receiver can instead filter the
//! arriving data and report the result to the sender in the advertised window: min(AdvertisedWindow, RTTmin · BWE).
//! Then no sample is lost with an ACK. The paper does not evaluate this method, and does not explain how a receiver
//! knows RTTmin. Here, RTTmin is a parameter.

use crate::time::{Duration, Instant};

/// Window that follows the bandwidth: the product of the measured bandwidth and the minimum round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BandwidthWindow {
    /// RTTmin, the minimum round-trip time of the path.
    pub least_round_trip: Duration,
    /// Time constant of the filter, in multiples of the time between arrivals. The paper's sender uses ten times the
    /// time between ACKs.
    pub time_constant: u32,
}

impl BandwidthWindow {
    /// Returns the parameters of the paper's filter, for a path with this minimum round-trip time.
    #[must_use]
    pub const fn new(least_round_trip: Duration) -> Self {
        Self {
            least_round_trip,
            time_constant: 10,
        }
    }
}

/// Minimum window in segments. With a smaller window, a lost segment would not cause a duplicate ACK. The sender's
/// ssthresh has the same minimum.
const LEAST_SEGMENTS: u64 = 2;

/// Estimate of the bandwidth from the arrivals.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    config: BandwidthWindow,
    segment: u64,
    /// BWE in bytes per second.
    estimate: f64,
    /// Last sample in bytes per second.
    sample: f64,
    last: Option<Instant>,
    /// Number of bytes since `last`, because several segments may arrive at the same time.
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

    /// Adds `bytes` new bytes that arrived at `now`.
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
        // §II: first-order low-pass filter, discretised by the trapezoidal rule.
        let twice = 2.0 * f64::from(self.config.time_constant);
        self.estimate = ((twice - 1.0) * self.estimate + sample + self.sample) / (twice + 1.0);
        self.sample = sample;
    }

    /// Returns RTTmin · BWE in bytes, or the minimum window; `None` before the first estimate.
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

    /// 1000 bytes every 10 ms are 100,000 bytes/s. The first BWE is (100,000 + 0)/21; the second is 19/21 of the first
    /// plus 200,000/21.
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
        // After many samples, the window is the number of bytes that arrive in a round-trip time.
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
