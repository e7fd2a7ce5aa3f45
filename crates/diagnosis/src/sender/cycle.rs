//! The cycle by which version 1 of BBR probes for bandwidth: a round trip at 1.25 times its rate, one at 0.75 times,
//! and six at its rate (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14:5, 2016).
//!
//! What left in each quarter of the least round-trip time is kept. If it follows a cycle, it resembles itself eight and
//! sixteen round trips later, and more so than somewhat earlier or later.

use core::ops::RangeInclusive;

use dupack_tcp::time::{Duration, Instant};

/// Parts of a round trip.
const PARTS: f64 = 4.0;
/// So many parts are kept: 32 cycles.
const KEPT: usize = 1024;
/// So many tell a cycle: five.
const LEAST: usize = 160;
/// Startup takes no more rounds than this.
const STARTUP: u32 = 16;
/// A least round trip that falls below this share of the one before makes other parts.
const SAME: f64 = 0.95;
/// The mean that is left out is of so many parts before and after: two cycles.
const AROUND: usize = 64;
/// A cycle takes so many parts (a phase ends when its round trip does, which is a little longer than the least) …
const ONCE: RangeInclusive<usize> = 31..=35;
/// … and two so many.
const TWICE: RangeInclusive<usize> = 62..=70;
/// Correlations so many parts before and after are those that a cycle stands out of.
const BESIDE: usize = 5;
/// It stands out by so much after one cycle, and after two. Ours: version 1 of Linux has 0.22 to 0.35 and 0.13 to 0.27.
const STANDS_OUT: f64 = 0.15;
/// See `STANDS_OUT`.
const STANDS_OUT_TWICE: f64 = 0.08;
/// After other times nothing stands out by more than this share of that.
const ELSEWHERE: f64 = 0.6;
/// What leaves in a round trip varies by so large a share of the mean, in the standard deviation. Ours: of the gains of the cycle it is
/// an eighth; a bucket that lets a few packets go at once makes parts of round trips uneven, and round trips hardly.
const VARIES: f64 = 0.06;
/// Such other times.
const OTHERS: [RangeInclusive<usize>; 2] = [23..=27, 42..=46];

/// What left when.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    began: Option<Instant>,
    /// Seconds of a part.
    part: f64,
    /// The place of the last part that something left in, and when it ends.
    place: usize,
    until: Instant,
    /// Segments that left in each.
    left: Vec<u16>,
}

impl Cycle {
    /// So many segments left in this round; the least round trip takes `base` seconds, or 0 if it is not known.
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

    /// To the part that this time is in; beyond those that are kept, to none.
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

    /// Whether the rate rises and falls once in eight round trips.
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

/// The standard deviation of what left in a round trip, as a share of the mean around it.
fn variation_of_rounds(left: &[u16]) -> f64 {
    let rounds: Vec<f64> = left
        .windows(PARTS as usize)
        .map(|round| round.iter().map(|segments| f64::from(*segments)).sum())
        .collect();
    let mean = rounds.iter().sum::<f64>() / rounds.len().max(1) as f64;
    // Neighbours, so that a rate that drifts does not count.
    let apart = |pair: &[f64]| match pair {
        [one, .., other] => (one - other) * (one - other),
        _ => 0.0,
    };
    let steps = rounds.windows(2 * PARTS as usize);
    let squares = steps.clone().map(apart).sum::<f64>() / steps.len().max(1) as f64;
    (squares / 2.0).sqrt() / mean.max(f64::MIN_POSITIVE)
}

/// How much more left in each part than in those around it.
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

/// How much a course resembles itself so many parts later.
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

    /// A sender whose rate has these gains, each for a round trip of 40 ms.
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
    fn a_cycle_of_eight_round_trips_is_told_from_others() {
        assert!(sends(&[50, 30, 40, 40, 40, 40, 40, 40]).is_seen());
        assert!(!sends(&[40]).is_seen());
        assert!(!sends(&[50, 30]).is_seen());
        assert!(!sends(&[50, 30, 40, 40, 40, 40]).is_seen());
        assert!(!sends(&[50, 30, 40, 40, 40, 40, 40, 40, 40, 40, 40]).is_seen());
    }

    /// Packets of 100 Mbit/s that leave eight at once, over a path whose round trip is no multiple of that.
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
    fn it_keeps_no_more_than_so_much() {
        assert!(sends(&[40]).left.len() <= KEPT);
    }
}
