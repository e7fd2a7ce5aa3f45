//! Confidence intervals of counts.

/// 97.5 % quantile of the normal distribution: a 95 % interval extends by this many standard deviations to either side.
pub const DEVIATIONS: f64 = 1.959_964;

/// Returns the 95 % interval of a probability by Wilson's score (E. B. Wilson, JASA 22, 1927), for `hits` in `trials`.
/// Only `trials / clumping` trials are assumed, because clustered events carry less information than independent ones.
/// Returns `(0, 1)` without trials.
pub(crate) fn wilson(hits: f64, trials: f64, clumping: f64) -> (f64, f64) {
    let n = trials / clumping.max(1.0);
    if n <= 0.0 {
        return (0.0, 1.0);
    }
    let p = (hits / trials).clamp(0.0, 1.0);
    let z2 = DEVIATIONS * DEVIATIONS;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = DEVIATIONS / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    (
        (centre - half).max(0.0).min(p),
        (centre + half).min(1.0).max(p),
    )
}

/// Returns the ranks, counted from 0, of the order statistics that enclose the median of `n` values with 95 %
/// confidence (normal approximation of the binomial distribution). If there are few values, these are the minimum and
/// the maximum.
pub(super) fn median_ranks(n: u64) -> (u64, u64) {
    let half = DEVIATIONS * (n as f64).sqrt() / 2.0;
    let middle = n as f64 / 2.0;
    let low = (middle - half).floor().max(0.0) as u64;
    let high = (middle + half).ceil() as u64;
    (low, high.min(n.saturating_sub(1)))
}

/// Returns the probability of at least `hits` in `trials` if each trial is a hit with probability `p`. For many trials,
/// the normal distribution with a continuity correction is used; for few trials, the exact sum.
pub(super) fn at_least(hits: u64, trials: u64, p: f64) -> f64 {
    /// Number of trials above which the normal distribution is used.
    const SUMMED: u64 = 1000;
    if hits == 0 {
        return 1.0;
    }
    let p = p.clamp(0.0, 1.0);
    if trials > SUMMED {
        let n = trials as f64;
        let deviation = (n * p * (1.0 - p)).sqrt().max(f64::MIN_POSITIVE);
        return upper_normal((hits as f64 - 0.5 - n * p) / deviation);
    }
    // The sum begins with the term for zero hits. Each further term is the previous one multiplied by a ratio.
    if p >= 1.0 {
        return 1.0;
    }
    let odds = p / (1.0 - p);
    let mut term = (1.0 - p).powi(trials as i32);
    let mut below = 0.0;
    for k in 0..hits.min(trials + 1) {
        below += term;
        term *= odds * (trials - k) as f64 / (k + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

/// Returns the probability that a standard normal variable exceeds `z` (Abramowitz and Stegun 26.2.17).
fn upper_normal(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_normal(-z);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [
        0.319_381_53,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let sum = series.iter().rev().fold(0.0, |sum, c| (sum + c) * t);
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-3, "{a} is not {b}");
    }

    #[test]
    fn wilson_matches_the_tables() {
        // The interval of 10 hits in 100 trials is 5.52 % to 17.44 %.
        let (low, high) = wilson(10.0, 100.0, 1.0);
        close(low, 0.0552);
        close(high, 0.1744);
        // With a clumping of four, the interval is as wide as that of 25 trials.
        let (wide_low, wide_high) = wilson(10.0, 100.0, 4.0);
        assert!(wide_low < low && wide_high > high);
        assert_eq!(wilson(0.0, 0.0, 1.0), (0.0, 1.0));
        assert_eq!(wilson(0.0, 10.0, 1.0).0, 0.0);
    }

    #[test]
    fn tails_of_the_binomial_distribution() {
        close(at_least(2, 2, 0.5), 0.25);
        close(at_least(1, 3, 0.1), 1.0 - 0.729);
        assert_eq!(at_least(0, 5, 0.1), 1.0);
        // In 2000 trials at 10 %, 200 ± 13.4 hits are expected, so 240 is three standard deviations away.
        assert!(at_least(240, 2000, 0.1) < 0.003);
        close(at_least(200, 2000, 0.1), 0.515);
    }

    #[test]
    fn the_median_lies_between_these_ranks() {
        assert_eq!(median_ranks(100), (40, 60));
        assert_eq!(median_ranks(3), (0, 2));
        assert_eq!(median_ranks(0), (0, 0));
    }
}
