//! Round-trip time and the retransmission timeout (RFC 6298).

use alloc::boxed::Box;

use crate::time::{Duration, Instant};

/// End of the exponential backoff of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffReset {
    /// With the next round-trip sample (Karn's algorithm, RFC 6298 §5.7).
    OnSample,
    /// As soon as the cumulative acknowledgment advances (Linux).
    OnAdvance,
}

/// Segments that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// Every segment that was sent once; with timestamps every segment (RFC 7323 §4).
    EverySegment,
    /// One segment at a time, the next when its ACK is in (RFC 6298 §3's minimum; ns-2).
    OnePerWindow,
}

/// Arithmetic of SRTT and RTTVAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttArithmetic {
    /// Nanoseconds; samples are rounded to the granularity.
    Exact,
    /// Whole ticks of the granularity, as in 4.3BSD and ns-2 (ns-2.35 `tcp.cc`, `rtt_update`). A sample is the number
    /// of clock edges between transmission and ACK, at least one. SRTT is kept in eighths and RTTVAR in quarters of a
    /// tick, both truncated to integers, and the timeout in whole ticks. Once the backoff exceeds a factor of eight,
    /// the next sample restarts the estimation (`rtt_backoff`).
    Ticks,
}

/// Parameters of the estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RttConfig {
    /// Timeout before the first sample (RFC 6298 §2.1: 1 s).
    pub initial_rto: Duration,
    /// Minimum timeout (RFC 6298 §2.4 says 1 s; Linux and ns-2 use 200 ms).
    pub min_rto: Duration,
    /// Maximum timeout, backoff included (RFC 6298 §2.5: at least 60 s).
    pub max_rto: Duration,
    /// Clock granularity G (RFC 6298 §2): samples are rounded to it, and 4·RTTVAR counts for at least this much. Zero
    /// is an ideal clock.
    pub granularity: Duration,
    /// Arithmetic of the averages.
    pub arithmetic: RttArithmetic,
    /// Lower bound of the variance term.
    pub variance_floor: VarianceFloor,
    /// Segments that are timed.
    pub sampling: RttSampling,
    /// End of backoff.
    pub backoff_reset: BackoffReset,
}

impl Default for RttConfig {
    /// RFC 6298 with an ideal clock: every segment timed, timeouts from 1 s to 60 s.
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

/// The lower bound of the variance term in the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarianceFloor {
    /// `RTO = SRTT + max(G, 4·RTTVAR)`, then at least the minimum (RFC 6298 §2.3).
    Granularity,
    /// `RTO = SRTT + max(minimum, 4·RTTVAR)`: the minimum bounds the variance term, as Linux's `tcp_rto_min` does.
    MinRto,
}

/// Shortening of RFC 6298's timeout: `factor` of it, but no earlier than `margin` after a smoothed round-trip time, and
/// never longer than before. It does not apply before the first sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RtoShortening {
    /// Share of the timeout that is left.
    pub factor: f64,
    /// Minimum time beyond SRTT for an ACK.
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

/// Round-trip time estimator: SRTT, RTTVAR, and the timeout with its backoff (RFC 6298).
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RttConfig,
    /// Shortening of the timeout, which few controls use.
    shortening: Option<Box<RtoShortening>>,
    srtt: Option<Duration>,
    rttvar: Duration,
    latest: Option<Duration>,
    min: Option<Duration>,
    /// Timeout before backoff, after the last sample.
    base_rto: Duration,
    backoff: u32,
    restart: Restart,
}

/// Restart of the estimation by the next sample.
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

    /// Returns the estimator with shorter timeouts, if a shortening is given.
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

    /// Consecutive timeouts since backoff last ended.
    #[must_use]
    pub const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Current timeout, backoff and shortening included.
    #[must_use]
    pub fn rto(&self) -> Duration {
        let base = self.base_rto;
        let factor = 1_u64.checked_shl(self.backoff).unwrap_or(u64::MAX);
        let rto = base.saturating_mul(factor).min(self.config.max_rto);
        let shortening = self.shortening.as_deref();
        shortening.map_or(rto, |s| s.of(rto, self.srtt))
    }

    /// Computes the timeout before backoff (RFC 6298 §2.2, 2.3).
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

    /// Takes in a sample for the timeout (RFC 6298 §2), of a segment acknowledged at `now`.
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
                // β = 1/4, α = 1/8; the variation first, with the old SRTT.
                self.rttvar = self.rttvar - self.rttvar / 4 + srtt.abs_diff(rtt) / 4;
                self.srtt = Some(srtt - srtt / 8 + rtt / 8);
            }
        }
    }

    /// Raises the timeout before backoff to at least `least`, until the next sample.
    pub(crate) fn raise_rto(&mut self, least: Duration) {
        self.base_rto = self.base_rto.max(least);
    }

    /// Takes in the exact delay of one segment, for RTTmin and the latest value only.
    pub(crate) fn observe(&mut self, rtt: Duration) {
        self.latest = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    /// Notes that the cumulative acknowledgment advanced.
    pub(crate) fn advanced(&mut self) {
        if self.config.backoff_reset == BackoffReset::OnAdvance {
            self.backoff = 0;
        }
    }

    /// Doubles the timeout, because the timer expired (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
        // A factor of 16.
        if self.config.arithmetic == RttArithmetic::Ticks && self.backoff >= 4 {
            self.restart = Restart::Due;
        }
    }

    /// Sets the number of consecutive timeouts, where something other than a sample determines it.
    pub(crate) fn set_backoff(&mut self, backoff: u32) {
        self.backoff = backoff;
    }

    /// Segments that are timed.
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
        // Half of 600: backoff applies to the share as well.
        half.back_off();
        assert_eq!(half.rto(), ms(300));
        // A quarter would be 75; SRTT and the margin are 120.
        assert_eq!(shortened(0.25, 20).rto(), ms(120));
        // A margin beyond RFC 6298's timeout does not make it later.
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
        // 2 ms within a tick, and across an edge: one tick each. 18 ms across two edges: two ticks.
        let srtt = |sent, acked| in_ticks(&[(sent, acked)]).srtt();
        assert_eq!(srtt(11, 13), Some(Duration::from_millis(10)));
        assert_eq!(srtt(19, 21), Some(Duration::from_millis(10)));
        assert_eq!(srtt(19, 37), Some(Duration::from_millis(20)));
        assert_eq!(srtt(21, 39), Some(Duration::from_millis(10)));
    }

    #[test]
    fn ticks_are_truncated_to_integers() {
        // One tick: SRTT 8/8, RTTVAR 2/4, timeout 1 + 2 ticks.
        assert_eq!(in_ticks(&[(0, 10)]).rto(), Duration::from_millis(30));
        // Then 4 ticks: error 3; SRTT 11/8, RTTVAR 2 + 3 − 0 = 5 quarters; timeout ⌊1.375 + 5⌋.
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
        // The same minimum, but of the variance: 10 + 200. A larger variance is not changed.
        assert_eq!(rto(linux, 1, ms(10)), ms(210));
        assert_eq!(rto(linux, 1, ms(200)), ms(600));
        // With equal samples only the clock's granularity remains of the variance.
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
        // The timeout is raised, not set.
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
        // 8/8, and an error of 9 ticks.
        assert_eq!(rtt.srtt(), Some(Duration::from_micros(21_250)));
    }
}
