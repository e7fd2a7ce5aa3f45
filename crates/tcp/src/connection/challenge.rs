//! Rate limit for a connection's responses to segments that may be forged (challenge ACKs).
//!
//! RFC 5961 requires an ACK in response to a suspicious segment. If the true peer sent the segment, it learns the
//! connection's sequence numbers from this ACK. §7 limits the rate of these ACKs. A common limit for the whole host
//! would reveal information about other connections (CVE-2016-5696), because an attacker can exhaust a known limit and
//! count the responses. Therefore, each connection has its own limit; the number of ACKs and the phase of the period
//! follow from the connection's secret. The same limit applies to other responses to segments without data, so that two
//! ends that disagree on sequence numbers do not exchange ACKs forever.

use crate::time::{Duration, Instant};

/// Length of the period in which responses are counted. RFC 5961 §7 suggests 5 s. It is shorter here, because a true
/// peer that is out of sync may have to wait for the next period.
const PERIOD: Duration = Duration::from_secs(1);

/// Minimum limit of responses per period. RFC 5961 §7 suggests 10 in 5 s for the whole host.
const ANSWERS_MIN: u64 = 10;

/// Number of possible values of the secret number that is added to `ANSWERS_MIN`.
const ANSWERS_SPREAD: u64 = 11;

/// Rate limit for a connection's responses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiter {
    secret: u64,
    period: u64,
    given: u64,
}

impl Limiter {
    pub(super) const fn new(secret: u64) -> Self {
        Self {
            secret,
            period: 0,
            given: 0,
        }
    }

    /// Returns `true` and counts a response if one more response is permitted now.
    #[must_use]
    pub(super) fn admits(&mut self, now: Instant) -> bool {
        let phase = mix(self.secret) % PERIOD.as_nanos();
        let period = now.as_nanos().saturating_add(phase) / PERIOD.as_nanos();
        if period != self.period {
            self.period = period;
            self.given = 0;
        }
        if self.given >= ANSWERS_MIN + mix(self.secret ^ mix(period)) % ANSWERS_SPREAD {
            return false;
        }
        self.given += 1;
        true
    }
}

/// Finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). A stronger function is not needed: the attacker does
/// not know the secret, and can only guess a number below 11.
const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Returns the number of responses in the period number `period` if far more are requested.
    fn answers(secret: u64, period: u64) -> u64 {
        let mut limiter = Limiter::new(secret);
        let phase = mix(secret) % PERIOD.as_nanos();
        let start = period * PERIOD.as_nanos() - phase;
        (0..1000)
            .filter(|n| limiter.admits(Instant::from_nanos(start + n * 1000)))
            .count() as u64
    }

    #[test]
    fn the_bound_is_kept_and_differs_by_secret_and_period() {
        let counts: Vec<u64> = (1..40).map(|n| answers(7, n)).collect();
        assert!(
            counts
                .iter()
                .all(|c| (ANSWERS_MIN..ANSWERS_MIN + ANSWERS_SPREAD).contains(c))
        );
        assert!(counts.iter().any(|c| *c != counts[0]));
        assert!((1..40).any(|secret| answers(secret, 5) != answers(0, 5)));
    }

    #[test]
    fn mixing_matches_splitmix64() {
        // The expected values are the first two outputs for the seed 0.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn a_period_is_a_second_with_a_secret_phase() {
        let phase = mix(7) % PERIOD.as_nanos();
        assert!(phase > 0 && phase < PERIOD.as_nanos());
        let begin = 5 * PERIOD.as_nanos() - phase;
        let mut limiter = Limiter::new(7);
        while limiter.admits(Instant::from_nanos(begin)) {}
        assert!(!limiter.admits(Instant::from_nanos(begin + PERIOD.as_nanos() - 1)));
        assert!(limiter.admits(Instant::from_nanos(begin + PERIOD.as_nanos())));
    }
}
