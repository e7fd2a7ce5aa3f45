//! Round-trip time and the retransmission timeout (RFC 6298).

use crate::time::Duration;

/// When the exponential backoff of the timeout ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffReset {
    /// With the next round-trip sample (Karn's algorithm, RFC 6298 §5.7).
    OnSample,
    /// As soon as the cumulative acknowledgment advances (Linux).
    OnAdvance,
}

/// Which segments are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// Every segment that was sent once; with timestamps every segment (RFC 7323 §4).
    EverySegment,
    /// One segment at a time, the next when its ACK is in (RFC 6298 §3's minimum; ns-2).
    OnePerWindow,
}

/// Parameters of the estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttConfig {
    /// The timeout before the first sample (RFC 6298 §2.1: 1 s).
    pub initial_rto: Duration,
    /// The least timeout (RFC 6298 §2.4 says 1 s; Linux and ns-2 use 200 ms).
    pub min_rto: Duration,
    /// The greatest timeout, backoff included (RFC 6298 §2.5: at least 60 s).
    pub max_rto: Duration,
    /// Clock granularity G (RFC 6298 §2): samples are rounded to it, and 4·RTTVAR counts for
    /// at least this much. Zero is an ideal clock.
    pub granularity: Duration,
    /// What bounds the variance term from below.
    pub variance_floor: VarianceFloor,
    /// Which segments are timed.
    pub sampling: RttSampling,
    /// When backoff ends.
    pub backoff_reset: BackoffReset,
}

/// The lower bound of the variance term in the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarianceFloor {
    /// `RTO = SRTT + max(G, 4·RTTVAR)`, then at least the minimum (RFC 6298 §2.3).
    Granularity,
    /// `RTO = SRTT + max(minimum, 4·RTTVAR)`: the minimum bounds the variance term, as Linux's
    /// `tcp_rto_min` does.
    MinRto,
}

/// The estimator: SRTT, RTTVAR, and the timeout with its backoff.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RttConfig,
    srtt: Option<Duration>,
    rttvar: Duration,
    latest: Option<Duration>,
    min: Option<Duration>,
    backoff: u32,
}

impl RttEstimator {
    /// An estimator without samples.
    #[must_use]
    pub fn new(config: RttConfig) -> Self {
        Self {
            config,
            srtt: None,
            rttvar: Duration::ZERO,
            latest: None,
            min: None,
            backoff: 0,
        }
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

    /// The least sample of the connection (RTTmin).
    #[must_use]
    pub const fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The last sample.
    #[must_use]
    pub const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Timeouts in a row without the evidence that ends backoff.
    #[must_use]
    pub const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The timeout in force, backoff included.
    #[must_use]
    pub fn rto(&self) -> Duration {
        let base = self.base_rto();
        let factor = 1_u64.checked_shl(self.backoff).unwrap_or(u64::MAX);
        base.saturating_mul(factor).min(self.config.max_rto)
    }

    /// The timeout before backoff (RFC 6298 §2.2, 2.3).
    fn base_rto(&self) -> Duration {
        let Some(srtt) = self.srtt else {
            return self.config.initial_rto;
        };
        let variance = self.rttvar * 4;
        let rto = match self.config.variance_floor {
            VarianceFloor::Granularity => srtt + variance.max(self.config.granularity),
            VarianceFloor::MinRto => srtt + variance.max(self.config.min_rto),
        };
        rto.max(self.config.min_rto)
    }

    /// Takes in a sample for the timeout (RFC 6298 §2).
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.rounded_to(self.config.granularity);
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
        self.backoff = 0;
    }

    /// Takes note of the delay of one segment as it was: for RTTmin and the latest value only.
    pub(crate) fn observe(&mut self, rtt: Duration) {
        self.latest = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    /// The cumulative acknowledgment advanced.
    pub(crate) fn advanced(&mut self) {
        if self.config.backoff_reset == BackoffReset::OnAdvance {
            self.backoff = 0;
        }
    }

    /// The timer expired: doubles the timeout (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// Whether one segment at a time is timed.
    pub(crate) fn sampling(&self) -> RttSampling {
        self.config.sampling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: RttConfig = RttConfig {
        initial_rto: Duration::from_secs(1),
        min_rto: Duration::from_millis(200),
        max_rto: Duration::from_secs(60),
        granularity: Duration::ZERO,
        variance_floor: VarianceFloor::Granularity,
        sampling: RttSampling::EverySegment,
        backoff_reset: BackoffReset::OnSample,
    };

    #[test]
    fn the_first_two_samples_by_hand() {
        let mut rtt = RttEstimator::new(CONFIG);
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        // SRTT = 100, RTTVAR = 50: RTO = 100 + 4·50.
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.rto(), Duration::from_millis(300));
        // RTTVAR = 3/4·50 + 1/4·|100 − 180| = 57.5, SRTT = 7/8·100 + 1/8·180 = 110.
        rtt.sample(Duration::from_millis(180));
        assert_eq!(rtt.rto(), Duration::from_millis(340));
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut rtt = RttEstimator::new(CONFIG);
        rtt.sample(Duration::from_millis(100));
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_millis(600));
        rtt.advanced();
        assert_eq!(rtt.rto(), Duration::from_millis(600));
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::from_millis(100));
        assert!(rtt.rto() < Duration::from_millis(300));
    }

    #[test]
    fn a_coarse_clock_rounds_samples() {
        let tick = Duration::from_millis(10);
        let mut rtt = RttEstimator::new(RttConfig {
            granularity: tick,
            ..CONFIG
        });
        rtt.sample(Duration::from_millis(14));
        assert_eq!(rtt.srtt(), Some(tick));
    }
}
