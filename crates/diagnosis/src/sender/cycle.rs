//! Bandwidth probing cycle of BBR version 1: one round trip at 1.25 times its rate, one at 0.75 times, and six at its
//! rate (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14:5, 2016).
//!
//! The number of segments sent in each quarter of the minimum round-trip time is stored. With such a cycle, the
//! autocorrelation of this series has peaks at lags of 8 and 16 round trips.

use core::ops::RangeInclusive;

use dupack_tcp::time::{Duration, Instant};

/// Number of parts per round trip.
const PARTS: f64 = 4.0;
/// Maximum number of parts stored: 32 cycles.
const KEPT: usize = 1024;
/// Minimum number of parts to detect a cycle: five cycles.
const LEAST: usize = 160;
/// Upper bound of the number of rounds in Startup.
const STARTUP: u32 = 16;
/// If the new minimum round-trip time is below this fraction of the previous one, the series starts again.
const SAME: f64 = 0.95;
/// Number of parts on each side that enter the mean that is subtracted from a part: two cycles.
const AROUND: usize = 64;
/// Length of one cycle in parts. A phase lasts for one round trip, which is a little longer than the minimum round-trip
/// time.
const ONCE: RangeInclusive<usize> = 31..=35;
/// Length of two cycles in parts.
const TWICE: RangeInclusive<usize> = 62..=70;
/// Distance, in parts, between a lag and the two lags to which its correlation is compared.
const BESIDE: usize = 5;
/// Minimum height of the correlation peak at one cycle; `STANDS_OUT_TWICE` is the minimum at two cycles. Our choice:
/// with BBR version 1 in Linux, the height is 0.22 to 0.35 at one cycle, and 0.13 to 0.27 at two cycles.
const STANDS_OUT: f64 = 0.15;
/// See `STANDS_OUT`.
const STANDS_OUT_TWICE: f64 = 0.08;
/// Maximum height of the peak at other lags, as a fraction of the peak at one cycle.
const ELSEWHERE: f64 = 0.6;
/// Minimum coefficient of variation of the segments per round trip. Our choice: with the gains of the cycle, the
/// coefficient is 1/8. A token bucket that releases a few packets at once makes the parts of round trips uneven, but
/// not whole round trips.
const VARIES: f64 = 0.06;
/// Other lags, in parts, at which there must be no high peak.
const OTHERS: [RangeInclusive<usize>; 2] = [23..=27, 42..=46];

/// Number of departures over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    began: Option<Instant>,
    /// Duration of a part in seconds.
    part: f64,
    /// Index of the part of the last departure, and the end of this part.
    place: usize,
    until: Instant,
    /// Number of segments sent in each part.
    left: Vec<u16>,
}

impl Cycle {
    /// Records `segments` departures in a round. `base` is the minimum round-trip time in seconds, or 0 if unknown.
    pub fn departed(&mut self, at: Instant, segments: usize, (round, base): (u32, f32)) {
        let part = f64::from(base) / PARTS;
        if part <= 0.0 || round < STARTUP {
            return;
        }
        if self.began.is_none() || part < SAME * self.part {
            *self = Self {
                began: Some(at),
                part,
                ..Self::default()
            };
        }
        if at >= self.until {
            self.go_to(at);
        }
        if let Some(left) = self.left.get_mut(self.place) {
            *left = left.saturating_add(u16::try_from(segments).unwrap_or(u16::MAX));
        }
    }

    /// Moves to the part that contains `at`. If that part is beyond the last one stored, later departures are not
    /// recorded.
    fn go_to(&mut self, at: Instant) {
        let began = self.began.unwrap_or(at);
        self.place = (at.since(began).as_secs_f64() / self.part) as usize;
        if self.place >= KEPT {
            self.until = Instant::FAR_FUTURE;
            return;
        }
        let end = (self.place + 1) as f64 * self.part;
        self.until = began + Duration::from_secs_f64(end);
        if self.place >= self.left.len() {
            self.left.resize(self.place + 1, 0);
        }
    }

    /// `true` if the rate rises and falls once in eight round trips.
    pub fn is_seen(&self) -> bool {
        if self.left.len() < LEAST {
            return false;
        }
        if variation_of_rounds(&self.left) < VARIES {
            return false;
        }
        let course = without_mean(&self.left);
        let power = correlation(&course, 0);
        if power <= 0.0 {
            return false;
        }
        let stands_out = |lags: RangeInclusive<usize>| {
            let of = |lag| correlation(&course, lag) / power;
            let all = lags.map(|lag| of(lag) - 0.5 * (of(lag - BESIDE) + of(lag + BESIDE)));
            all.fold(f64::NEG_INFINITY, f64::max)
        };
        let once = stands_out(ONCE);
        once >= STANDS_OUT
            && stands_out(TWICE) >= STANDS_OUT_TWICE
            && OTHERS
                .into_iter()
                .all(|lags| stands_out(lags) <= ELSEWHERE * once)
    }
}

/// Returns the coefficient of variation of the segments per round trip.
fn variation_of_rounds(left: &[u16]) -> f64 {
    let rounds: Vec<f64> = left
        .windows(PARTS as usize)
        .map(|round| round.iter().map(|segments| f64::from(*segments)).sum())
        .collect();
    let mean = rounds.iter().sum::<f64>() / rounds.len().max(1) as f64;
    // Only round trips that are less than two round trips apart are compared, so a slow drift of the rate does not
    // count.
    let apart = |pair: &[f64]| match pair {
        [one, .., other] => (one - other) * (one - other),
        _ => 0.0,
    };
    let steps = rounds.windows(2 * PARTS as usize);
    let squares = steps.clone().map(apart).sum::<f64>() / steps.len().max(1) as f64;
    (squares / 2.0).sqrt() / mean.max(f64::MIN_POSITIVE)
}

/// Returns the difference of each part from the mean of the parts around it.
fn without_mean(left: &[u16]) -> Vec<f64> {
    let mut sums = vec![0.0];
    let mut sum = 0.0;
    for segments in left {
        sum += f64::from(*segments);
        sums.push(sum);
    }
    let before = |place: usize| sums.get(place).copied().unwrap_or(sum);
    let mean = |place: usize| {
        let (from, to) = (
            place.saturating_sub(AROUND),
            (place + AROUND).min(left.len()),
        );
        (before(to) - before(from)) / (to - from).max(1) as f64
    };
    let all = left.iter().enumerate();
    all.map(|(place, segments)| f64::from(*segments) - mean(place))
        .collect()
}

/// Returns the autocorrelation of a series at a lag of `lag` parts, without normalisation.
fn correlation(course: &[f64], lag: usize) -> f64 {
    let later = course.get(lag..).unwrap_or_default();
    course
        .iter()
        .zip(later)
        .map(|(one, other)| one * other)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a sender that sends these numbers of segments, each in one round trip of 40 ms.
    fn sends(gains: &[u64]) -> Cycle {
        let mut cycle = Cycle::default();
        for (n, gain) in gains.iter().cycle().take(200).enumerate() {
            for k in 0..*gain {
                let at = n as u64 * 40_000_000 + k * 40_000_000 / gain;
                let at = Instant::ZERO + Duration::from_nanos(at);
                cycle.departed(at, 1, (STARTUP, 0.04));
            }
        }
        cycle
    }

    #[test]
    fn a_cycle_of_eight_round_trips_is_recognised() {
        assert!(sends(&[50, 30, 40, 40, 40, 40, 40, 40]).is_seen());
        assert!(!sends(&[40]).is_seen());
        assert!(!sends(&[50, 30]).is_seen());
        assert!(!sends(&[50, 30, 40, 40, 40, 40]).is_seen());
        assert!(!sends(&[50, 30, 40, 40, 40, 40, 40, 40, 40, 40, 40]).is_seen());
    }

    /// Packets leave in bursts at 100 Mbit/s, and the round-trip time is not a multiple of the time between bursts.
    #[test]
    fn bursts_at_a_constant_rate_are_no_cycle() {
        for (base, burst) in [
            (0.0327, 10),
            (0.033, 4),
            (0.0345, 2),
            (0.0348, 8),
            (0.0366, 16),
            (0.0371, 3),
        ] {
            let mut cycle = Cycle::default();
            for n in 0..80_000_u64 {
                let at = Instant::ZERO + Duration::from_micros(n / burst * burst * 120 + n % burst);
                cycle.departed(at, 1, (STARTUP, base));
            }
            assert!(!cycle.is_seen(), "{base} {burst}");
        }
    }

    #[test]
    fn the_number_of_parts_is_bounded() {
        assert!(sends(&[40]).left.len() <= KEPT);
    }
}
