//! Cells: shared state of an agent and the congestion control that follows its orders.
//!
//! The control is a plug-in inside the simulation, and the agent is outside. Both share a cell: between steps, the
//! agent writes orders into the cell, and during steps, the control records ACKs in it. Only one thread at a time owns
//! the environment with the agent and the control, so there is no contention. The fields are atomics so that the cell
//! can be shared; relaxed loads and stores cost no more than plain ones.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dupack_tcp::facts::AckFacts;
use dupack_tcp::time::{Duration, Instant};

/// Orders of the agent, and measurements of its control.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Cell {
    /// Window in bytes; used only if the agent sets it.
    window: Real,
    /// Pacing rate in payload bytes per second; used only if the agent sets the pacing rate.
    rate: Real,
    /// Factor for the window at the next ACK.
    factor: Real,
    acks: Count,
    timeouts: Count,
    delivered: Count,
    samples: Count,
    rtt_least: Count,
    rtt_last: Count,
    /// Start time of the current measurements.
    since: Count,
    /// Sums of r, t, t² and t·r over the round-trip samples r, where t is the time of the sample after `since`. All are
    /// in seconds.
    sums: [Real; 4],
}

/// Information from ACKs since the measurements were last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Notes {
    /// Number of ACKs.
    pub(crate) acks: u64,
    /// Number of retransmission timeouts.
    pub(crate) timeouts: u64,
    /// Payload bytes that ACKs reported as delivered for the first time.
    pub(crate) delivered_bytes: u64,
    /// Statistics of the round-trip times, if any were measured.
    pub(crate) rtt: Option<RoundTrips>,
}

/// Statistics of the round-trip times in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundTrips {
    /// Mean, in seconds.
    pub(crate) mean: f64,
    /// Minimum, in seconds.
    pub(crate) least: f64,
    /// Last sample, in seconds.
    pub(crate) last: f64,
    /// Slope of the least-squares line through the samples, in seconds per second; 0 if all samples were measured at
    /// the same time.
    pub(crate) slope: f64,
}

impl Cell {
    /// Creates a cell whose initial orders are a window in bytes and a rate in bytes per second.
    pub(crate) fn new(window: f64, rate: f64) -> Self {
        Self {
            window: Real::new(window),
            rate: Real::new(rate),
            factor: Real::new(1.0),
            acks: Count::default(),
            timeouts: Count::default(),
            delivered: Count::default(),
            samples: Count::default(),
            rtt_least: Count(AtomicU64::new(u64::MAX)),
            rtt_last: Count::default(),
            since: Count::default(),
            sums: [const { Real(AtomicU64::new(0)) }; 4],
        }
    }

    pub(crate) fn window(&self) -> f64 {
        self.window.get()
    }

    pub(crate) fn set_window(&self, bytes: f64) {
        self.window.set(bytes);
    }

    pub(crate) fn rate(&self) -> f64 {
        self.rate.get()
    }

    pub(crate) fn set_rate(&self, bytes_per_second: f64) {
        self.rate.set(bytes_per_second);
    }

    /// Orders a factor for the window, in addition to factors not yet applied.
    pub(crate) fn multiply(&self, factor: f64) {
        self.factor.set(self.factor.get() * factor);
    }

    /// Returns the factor to apply to the window now, and resets it to 1.
    pub(crate) fn take_factor(&self) -> f64 {
        let factor = self.factor.get();
        if factor != 1.0 {
            self.factor.set(1.0);
        }
        factor
    }

    /// Records an ACK.
    pub(crate) fn note_ack(&self, ack: &AckFacts<'_>) {
        self.acks.add(1);
        self.delivered.add(ack.delivered_bytes);
        if let Some(rtt) = ack.rtt {
            self.note_rtt(ack.now, rtt);
        }
    }

    fn note_rtt(&self, now: Instant, rtt: Duration) {
        let nanos = rtt.as_nanos();
        self.samples.add(1);
        self.rtt_last.set(nanos);
        if nanos < self.rtt_least.get() {
            self.rtt_least.set(nanos);
        }
        let since = Instant::from_nanos(self.since.get());
        let (r, t) = (rtt.as_secs_f64(), now.since(since).as_secs_f64());
        let [sum_r, sum_t, sum_tt, sum_tr] = &self.sums;
        sum_r.add(r);
        sum_t.add(t);
        sum_tt.add(t * t);
        sum_tr.add(t * r);
    }

    /// Records a timeout.
    pub(crate) fn note_timeout(&self) {
        self.timeouts.add(1);
    }

    /// Returns the number of ACKs and timeouts since the measurements were last taken.
    pub(crate) fn happenings(&self) -> u64 {
        self.acks.get() + self.timeouts.get()
    }

    /// Returns the measurements and starts new ones at `now`.
    pub(crate) fn take(&self, now: Instant) -> Notes {
        let samples = self.samples.take();
        let [sum_r, sum_t, sum_tt, sum_tr] = self.sums.each_ref().map(Real::take);
        let least = self.rtt_least.get();
        let seconds = |nanos| Duration::from_nanos(nanos).as_secs_f64();
        self.rtt_least.set(u64::MAX);
        self.since.set(now.as_nanos());
        Notes {
            acks: self.acks.take(),
            timeouts: self.timeouts.take(),
            delivered_bytes: self.delivered.take(),
            rtt: (samples > 0).then(|| {
                let n = samples as f64;
                // This is n times the variance of the times. Due to rounding, it may be a tiny value instead of 0.
                let spread = sum_tt - sum_t * sum_t / n;
                let slope = (sum_tr - sum_t * sum_r / n) / spread;
                let is_spread = samples > 1 && spread > 1e-12 * sum_tt;
                RoundTrips {
                    mean: sum_r / n,
                    least: seconds(least),
                    last: seconds(self.rtt_last.get()),
                    slope: if is_spread { slope } else { 0.0 },
                }
            }),
        }
    }
}

/// Real number in a cell.
#[derive(Debug)]
struct Real(AtomicU64);

impl Real {
    const fn new(value: f64) -> Self {
        Self(AtomicU64::new(value.to_bits()))
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }

    fn add(&self, value: f64) {
        self.set(self.get() + value);
    }

    fn take(&self) -> f64 {
        let value = self.get();
        self.set(0.0);
        value
    }
}

/// Integer in a cell.
#[derive(Debug, Default)]
struct Count(AtomicU64);

impl Count {
    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    fn add(&self, value: u64) {
        self.set(self.get() + value);
    }

    fn take(&self) -> u64 {
        let value = self.get();
        self.set(0);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(samples: &[(u64, u64)]) -> Option<RoundTrips> {
        let cell = Cell::new(1.0, 1.0);
        cell.take(Instant::from_nanos(1_000_000_000));
        for (at_ms, rtt_ms) in samples {
            let now = Instant::from_nanos(1_000_000_000 + at_ms * 1_000_000);
            cell.note_rtt(now, Duration::from_millis(*rtt_ms));
        }
        cell.take(Instant::from_nanos(2_000_000_000)).rtt
    }

    #[test]
    fn round_trips_have_mean_minimum_last_and_slope() {
        // The round-trip time starts at 40 ms and grows by 1 ms every 10 ms: the slope is 0.1 s/s.
        let rtt = noted(&[(0, 40), (10, 41), (20, 42), (30, 43)]).unwrap();
        assert!((rtt.mean - 0.0415).abs() < 1e-12, "{rtt:?}");
        assert_eq!((rtt.least, rtt.last), (0.040, 0.043));
        assert!((rtt.slope - 0.1).abs() < 1e-9, "{rtt:?}");
        // The round-trip time falls and rises again: the slope is 0.
        let rtt = noted(&[(0, 41), (10, 40), (20, 41)]).unwrap();
        assert!(rtt.slope.abs() < 1e-9, "{rtt:?}");
    }

    #[test]
    fn one_time_has_no_slope_and_no_sample_has_no_round_trip() {
        let rtt = noted(&[(7, 40), (7, 44)]).unwrap();
        assert_eq!(rtt.slope, 0.0);
        assert_eq!(noted(&[(7, 40)]).unwrap().slope, 0.0);
        assert_eq!(noted(&[]), None);
    }

    #[test]
    fn taking_the_notes_empties_them() {
        let cell = Cell::new(1.0, 1.0);
        cell.note_timeout();
        cell.note_rtt(Instant::ZERO, Duration::from_millis(40));
        assert_eq!(cell.happenings(), 1);
        assert_eq!(cell.take(Instant::ZERO).timeouts, 1);
        assert_eq!(cell.take(Instant::ZERO), Notes::default());
    }

    #[test]
    fn factors_multiply_until_they_are_taken() {
        let cell = Cell::new(1.0, 1.0);
        cell.multiply(2.0);
        cell.multiply(1.5);
        assert_eq!(cell.take_factor(), 3.0);
        assert_eq!(cell.take_factor(), 1.0);
    }
}
