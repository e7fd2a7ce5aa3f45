//! Round-trip time and the retransmission timeout (RFC 6298).

use alloc::boxed::Box;

use crate::time::{Duration, Instant};

/// Event that ends the exponential backoff of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffReset {
    /// The next round-trip sample (Karn's algorithm, RFC 6298 §5.7).
    OnSample,
    /// An advance of the cumulative acknowledgment, or a sample (Linux).
    OnAdvance,
}

/// Segments whose round-trip time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// Every segment that was sent only once. With timestamps, also retransmitted segments (RFC 7323 §4).
    EverySegment,
    /// One segment at a time: the next one is chosen after the ACK of the previous one (the minimum of RFC 6298 §3;
    /// ns-2).
    OnePerWindow,
}

/// Arithmetic of SRTT and RTTVAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttArithmetic {
    /// In nanoseconds. Samples are rounded to the granularity.
    Exact,
    /// Whole ticks of the granularity, as in 4.3BSD and ns-2 (ns-2.35 `tcp.cc`, `rtt_update`). A sample is the number
    /// of clock edges between transmission and ACK, at least one. SRTT is stored in eighths of a tick and RTTVAR in
    /// quarters of a tick, both truncated to integers. The timeout is a whole number of ticks. If the backoff factor
    /// exceeds eight, the next sample restarts the estimation (`rtt_backoff`).
    Ticks,
}

/// Parameters of the round-trip time estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RttConfig {
    /// Timeout before the first sample (RFC 6298 §2.1: 1 s).
    pub initial_rto: Duration,
    /// Minimum timeout (1 s in RFC 6298 §2.4; 200 ms in Linux and ns-2).
    pub min_rto: Duration,
    /// Maximum timeout, including backoff (RFC 6298 §2.5: at least 60 s).
    pub max_rto: Duration,
    /// Clock granularity G (RFC 6298 §2). Samples are rounded to multiples of G, and G is the minimum of 4·RTTVAR in
    /// the timeout. Zero means an ideal clock.
    pub granularity: Duration,
    /// Arithmetic of the averages.
    pub arithmetic: RttArithmetic,
    /// Lower bound of the variance term.
    pub variance_floor: VarianceFloor,
    /// Segments whose round-trip time is measured.
    pub sampling: RttSampling,
    /// Event that ends the backoff.
    pub backoff_reset: BackoffReset,
}

impl Default for RttConfig {
    /// Returns the parameters of RFC 6298 with an ideal clock: every segment is timed, and timeouts range from 1 s to
    /// 60 s.
    fn default() -> Self {
        Self {
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            granularity: Duration::ZERO,
            arithmetic: RttArithmetic::Exact,
            variance_floor: VarianceFloor::Granularity,
            sampling: RttSampling::EverySegment,
            backoff_reset: BackoffReset::OnSample,
        }
    }
}

/// Lower bound of the variance term in the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarianceFloor {
    /// `RTO = max(minimum, SRTT + max(G, 4·RTTVAR))` (RFC 6298 §2.3, §2.4).
    Granularity,
    /// `RTO = SRTT + max(minimum, 4·RTTVAR)`: the minimum bounds the variance term, as Linux's `tcp_rto_min` does.
    MinRto,
}

/// Shortening of the timeout of RFC 6298. The timeout is multiplied by `factor`, but it is at least SRTT plus `margin`,
/// and never longer than without the shortening. There is no shortening before the first sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoShortening {
    /// Factor by which the timeout is multiplied.
    pub factor: f64,
    /// Minimum difference between the timeout and SRTT.
    pub margin: Duration,
}

impl RtoShortening {
    fn of(&self, rto: Duration, srtt: Option<Duration>) -> Duration {
        let Some(srtt) = srtt else { return rto };
        Duration::from_secs_f64(rto.as_secs_f64() * self.factor)
            .max(srtt + self.margin)
            .min(rto)
    }
}

/// Round-trip time estimator: SRTT, RTTVAR, and the retransmission timeout with backoff (RFC 6298).
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RttConfig,
    /// Shortening of the timeout. It is boxed because few controls use it.
    shortening: Option<Box<RtoShortening>>,
    srtt: Option<Duration>,
    rttvar: Duration,
    latest: Option<Duration>,
    min: Option<Duration>,
    /// Timeout without backoff, computed from the last sample.
    base_rto: Duration,
    backoff: u32,
    restart: Restart,
}

/// State of the restart of the estimation: `Due` if the next sample restarts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restart {
    No,
    Due,
}

impl RttEstimator {
    /// Returns an estimator without samples.
    #[must_use]
    pub fn new(config: RttConfig) -> Self {
        Self {
            config,
            shortening: None,
            srtt: None,
            rttvar: Duration::ZERO,
            latest: None,
            min: None,
            base_rto: config.initial_rto,
            backoff: 0,
            restart: Restart::No,
        }
    }

    /// Returns the estimator with this shortening of timeouts, if any.
    #[must_use]
    pub fn shortened(mut self, shortening: Option<RtoShortening>) -> Self {
        self.shortening = shortening.map(Box::new);
        self
    }

    /// Smoothed round-trip time, once there is a sample.
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Round-trip time variation.
    #[must_use]
    pub const fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// Minimum sample of the connection (RTTmin).
    #[must_use]
    pub const fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The last sample.
    #[must_use]
    pub const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Number of consecutive timeouts since the last end of a backoff.
    #[must_use]
    pub const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Current timeout, including backoff and shortening.
    #[must_use]
    pub fn rto(&self) -> Duration {
        let base = self.base_rto;
        let factor = 1_u64.checked_shl(self.backoff).unwrap_or(u64::MAX);
        let rto = base.saturating_mul(factor).min(self.config.max_rto);
        let shortening = self.shortening.as_deref();
        shortening.map_or(rto, |s| s.of(rto, self.srtt))
    }

    /// Computes the timeout without backoff (RFC 6298 §2.2, §2.3).
    fn work_out_base_rto(&self, srtt: Duration) -> Duration {
        let variance = self.rttvar * 4;
        let rto = match self.config.variance_floor {
            VarianceFloor::Granularity => srtt + variance.max(self.config.granularity),
            VarianceFloor::MinRto => srtt + variance.max(self.config.min_rto),
        };
        let rto = match self.config.arithmetic {
            RttArithmetic::Exact => rto,
            RttArithmetic::Ticks => {
                let tick = self.config.granularity.as_nanos().max(1);
                Duration::from_nanos(rto.as_nanos() / tick * tick)
            }
        };
        rto.max(self.config.min_rto)
    }

    /// Updates SRTT, RTTVAR and the timeout with the sample of a segment acknowledged at `now` (RFC 6298 §2).
    pub(crate) fn sample(&mut self, rtt: Duration, now: Instant) {
        self.backoff = 0;
        match self.config.arithmetic {
            RttArithmetic::Exact => self.sample_exact(rtt.rounded_to(self.config.granularity)),
            RttArithmetic::Ticks => self.sample_ticks(rtt, now),
        }
        if let Some(srtt) = self.srtt {
            self.base_rto = self.work_out_base_rto(srtt);
        }
    }

    fn sample_ticks(&mut self, rtt: Duration, now: Instant) {
        let tick = self.config.granularity.as_nanos().max(1);
        let edge = |at: u64| at / tick;
        let now = now.as_nanos();
        let crossed = edge(now) - edge(now.saturating_sub(rtt.as_nanos()));
        let sample = crossed.max(1) as i64;
        let first = self.restart == Restart::Due;
        self.restart = Restart::No;
        let (srtt8, rttvar4) = match self.srtt {
            Some(srtt) if !first => {
                let srtt8 = (srtt.as_nanos() * 8 / tick) as i64;
                let rttvar4 = (self.rttvar.as_nanos() * 4 / tick) as i64;
                let error = sample - (srtt8 >> 3);
                (
                    (srtt8 + error).max(1),
                    (rttvar4 + error.abs() - (rttvar4 >> 2)).max(1),
                )
            }
            _ => (8 * sample, 2 * sample),
        };
        self.srtt = Some(Duration::from_nanos(srtt8 as u64 * tick / 8));
        self.rttvar = Duration::from_nanos(rttvar4 as u64 * tick / 4);
    }

    fn sample_exact(&mut self, rtt: Duration) {
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = rtt / 2;
            }
            Some(srtt) => {
                // β = 1/4, α = 1/8. RTTVAR is updated first because it uses the old SRTT.
                self.rttvar = self.rttvar - self.rttvar / 4 + srtt.abs_diff(rtt) / 4;
                self.srtt = Some(srtt - srtt / 8 + rtt / 8);
            }
        }
    }

    /// Raises the timeout without backoff to at least `least`, until the next sample.
    pub(crate) fn raise_rto(&mut self, least: Duration) {
        self.base_rto = self.base_rto.max(least);
    }

    /// Updates RTTmin and the latest sample with the exact delay of one segment. SRTT and RTTVAR do not change.
    pub(crate) fn observe(&mut self, rtt: Duration) {
        self.latest = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    /// Called when the cumulative acknowledgment advanced. Ends the backoff with [`BackoffReset::OnAdvance`].
    pub(crate) fn advanced(&mut self) {
        if self.config.backoff_reset == BackoffReset::OnAdvance {
            self.backoff = 0;
        }
    }

    /// Doubles the timeout, because the timer expired (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
        // The backoff factor is now at least 16.
        if self.config.arithmetic == RttArithmetic::Ticks && self.backoff >= 4 {
            self.restart = Restart::Due;
        }
    }

    /// Sets the number of consecutive timeouts, and thereby the backoff, without a sample.
    pub(crate) fn set_backoff(&mut self, backoff: u32) {
        self.backoff = backoff;
    }

    /// Segments whose round-trip time is measured.
    pub(crate) fn sampling(&self) -> RttSampling {
        self.config.sampling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    const CONFIG: RttConfig = RttConfig {
        initial_rto: Duration::from_secs(1),
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(60),
        granularity: Duration::ZERO,
        arithmetic: RttArithmetic::Exact,
        variance_floor: VarianceFloor::Granularity,
        sampling: RttSampling::EverySegment,
        backoff_reset: BackoffReset::OnSample,
    };

    #[test]
    fn the_first_two_samples_by_hand() {
        let mut rtt = RttEstimator::new(CONFIG);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        // SRTT = 100, RTTVAR = 50: RTO = 100 + 4·50.
        rtt.sample(Duration::from_millis(100), NOW);
        assert_eq!(rtt.rto(), Duration::from_millis(300));
        // RTTVAR = 3/4·50 + 1/4·|100 − 180| = 57.5, SRTT = 7/8·100 + 1/8·180 = 110.
        rtt.sample(Duration::from_millis(180), NOW);
        assert_eq!(rtt.rto(), Duration::from_millis(340));
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut rtt = RttEstimator::new(CONFIG);
        rtt.sample(Duration::from_millis(100), NOW);
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_millis(600));
        rtt.advanced();
        assert_eq!(rtt.rto(), Duration::from_millis(600));
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::from_millis(100), NOW);
        assert!(rtt.rto() < Duration::from_millis(300));
    }

    #[test]
    fn a_shortened_timeout_is_a_share_but_later_than_a_round_trip() {
        let ms = Duration::from_millis;
        let shortened = |factor, margin| {
            let shortening = RtoShortening {
                factor,
                margin: ms(margin),
            };
            let mut rtt = RttEstimator::new(CONFIG).shortened(Some(shortening));
            assert_eq!(rtt.rto(), Duration::from_secs(1));
            // SRTT = 100, RTO = 300.
            rtt.sample(ms(100), NOW);
            rtt
        };
        let mut half = shortened(0.5, 20);
        assert_eq!(half.rto(), ms(150));
        // Half of 600: the backoff applies to the shortened timeout as well.
        half.back_off();
        assert_eq!(half.rto(), ms(300));
        // A quarter is 75, but the minimum is SRTT + margin = 120.
        assert_eq!(shortened(0.25, 20).rto(), ms(120));
        // A margin that exceeds the timeout of RFC 6298 does not lengthen the timeout.
        assert_eq!(shortened(0.5, 900).rto(), ms(300));
    }

    #[test]
    fn a_coarse_clock_rounds_samples() {
        let tick = Duration::from_millis(10);
        let mut rtt = RttEstimator::new(RttConfig {
            granularity: tick,
            ..CONFIG
        });
        rtt.sample(Duration::from_millis(14), NOW);
        assert_eq!(rtt.srtt(), Some(tick));
    }

    /// Returns an estimator with ticks of 10 ms, after the samples `(sent, acknowledged)` in ms.
    fn in_ticks(samples: &[(u64, u64)]) -> RttEstimator {
        let mut rtt = RttEstimator::new(RttConfig {
            granularity: Duration::from_millis(10),
            arithmetic: RttArithmetic::Ticks,
            min_rto: Duration::ZERO,
            ..CONFIG
        });
        for &(sent, acked) in samples {
            let now = Instant::ZERO + Duration::from_millis(acked);
            rtt.sample(Duration::from_millis(acked - sent), now);
        }
        rtt
    }

    #[test]
    fn ticks_are_edges_of_the_clock() {
        // A sample of 2 ms is one tick, both within a tick and across a clock edge. A sample of 18 ms is two ticks if
        // it crosses two edges, and one tick if it crosses one.
        let srtt = |sent, acked| in_ticks(&[(sent, acked)]).srtt();
        assert_eq!(srtt(11, 13), Some(Duration::from_millis(10)));
        assert_eq!(srtt(19, 21), Some(Duration::from_millis(10)));
        assert_eq!(srtt(19, 37), Some(Duration::from_millis(20)));
        assert_eq!(srtt(21, 39), Some(Duration::from_millis(10)));
    }

    #[test]
    fn ticks_are_truncated_to_integers() {
        // After a sample of one tick, SRTT is 8/8, RTTVAR is 2/4, and the timeout is 1 + 2 ticks.
        assert_eq!(in_ticks(&[(0, 10)]).rto(), Duration::from_millis(30));
        // The second sample is 4 ticks, so the error is 3. SRTT is 11/8, RTTVAR is 2 + 3 − 0 = 5 quarters, and the
        // timeout is ⌊1.375 + 5⌋ ticks.
        let rtt = in_ticks(&[(0, 10), (0, 40)]);
        assert_eq!(rtt.srtt(), Some(Duration::from_micros(13_750)));
        assert_eq!(rtt.rto(), Duration::from_millis(60));
    }

    #[test]
    fn a_long_backoff_restarts_the_estimation() {
        let mut rtt = in_ticks(&[(0, 10)]);
        for _ in 0..4 {
            rtt.back_off();
        }
        let now = Instant::ZERO + Duration::from_millis(100);
        rtt.sample(Duration::from_millis(100), now);
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(100)));
    }

    #[test]
    fn the_timeout_and_its_variance_have_a_minimum() {
        let ms = Duration::from_millis;
        let rto = |config: RttConfig, samples: u32, sample| {
            let mut rtt = RttEstimator::new(config);
            for _ in 0..samples {
                rtt.sample(sample, NOW);
            }
            rtt.rto()
        };
        // 10 + 4 · 5 is less than the minimum timeout.
        assert_eq!(rto(CONFIG, 1, ms(10)), ms(200));
        let linux = RttConfig {
            variance_floor: VarianceFloor::MinRto,
            ..CONFIG
        };
        // Here the same minimum applies to the variance term: 10 + 200. A larger variance term does not change.
        assert_eq!(rto(linux, 1, ms(10)), ms(210));
        assert_eq!(rto(linux, 1, ms(200)), ms(600));
        // With equal samples, RTTVAR approaches 0, and the variance term is the clock granularity.
        let coarse = RttConfig {
            granularity: ms(100),
            ..CONFIG
        };
        assert_eq!(rto(coarse, 200, ms(300)), ms(400));
    }

    #[test]
    fn a_raised_timeout_lasts_until_the_next_sample() {
        let mut rtt = RttEstimator::new(CONFIG);
        rtt.raise_rto(Duration::from_secs(3));
        assert_eq!(rtt.rto(), Duration::from_secs(3));
        // `raise_rto` does not lower the timeout.
        rtt.raise_rto(Duration::from_secs(2));
        assert_eq!(rtt.rto(), Duration::from_secs(3));
        rtt.sample(Duration::from_millis(100), NOW);
        assert_eq!(rtt.rto(), Duration::from_millis(300));
    }

    #[test]
    fn backoff_ends_on_an_advance_if_the_rule_says_so() {
        let backoff_after = |rule| {
            let mut rtt = RttEstimator::new(RttConfig {
                backoff_reset: rule,
                ..CONFIG
            });
            for _ in 0..3 {
                rtt.back_off();
            }
            rtt.advanced();
            rtt.backoff()
        };
        assert_eq!(backoff_after(BackoffReset::OnSample), 3);
        assert_eq!(backoff_after(BackoffReset::OnAdvance), 0);
    }

    #[test]
    fn the_minimum_and_the_latest_delay_are_kept() {
        let mut rtt = RttEstimator::new(CONFIG);
        assert_eq!((rtt.min(), rtt.latest()), (None, None));
        for millis in [100, 80, 90] {
            rtt.observe(Duration::from_millis(millis));
        }
        let [least, latest] = [80, 90].map(|ms| Some(Duration::from_millis(ms)));
        assert_eq!((rtt.min(), rtt.latest(), rtt.srtt()), (least, latest, None));
    }

    #[test]
    fn three_consecutive_timeouts_do_not_restart_the_estimation() {
        let mut rtt = in_ticks(&[(0, 10)]);
        for _ in 0..3 {
            rtt.back_off();
        }
        let now = Instant::ZERO + Duration::from_millis(100);
        rtt.sample(Duration::from_millis(100), now);
        // SRTT was 8/8 ticks, and the error is 9 ticks: 17/8 ticks.
        assert_eq!(rtt.srtt(), Some(Duration::from_micros(21_250)));
    }
}
