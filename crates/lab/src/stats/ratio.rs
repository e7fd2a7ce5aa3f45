//! Ratio of two quantities over pairs of the same seed.
//!
//! If all values are positive, the ratios of the pairs are summarised. A pair with a zero has no ratio, or a ratio of
//! zero, and excluding it would hide the worst results. With such a pair, the ratio of the two means is used, with
//! Fieller's interval (E. C. Fieller, "Some Problems in Interval Estimation", Journal of the Royal Statistical Society
//! B 16, 1954): all ratios that a t-test of `other − ratio · base` does not reject. The interval is studentised, so it
//! is wide for few pairs. It has no upper end if the base may be zero.

use serde::{Deserialize, Serialize};

use super::{Summary, mean, t_quantile_975};

/// Kind of central value of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Centre {
    /// Geometric mean of the ratios of the pairs.
    GeometricMean,
    /// Ratio of the means of the two sides, used if a pair has a zero.
    RatioOfMeans,
}

impl Centre {
    /// Returns the name in CSV and for readers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GeometricMean => "geometric mean",
            Self::RatioOfMeans => "ratio of means",
        }
    }
}

/// Ratio of two quantities over pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ratio {
    /// The ratio. Exchanging the two sides inverts it.
    pub mean: f64,
    /// Ends of the 95 % confidence interval. The upper end is infinite if the base may be zero. `None` for a single
    /// pair.
    pub interval_95: Option<(f64, f64)>,
    /// Kind of central value.
    pub centre: Centre,
    /// Number of pairs.
    pub pairs: usize,
    /// Number of pairs in which one or both sides are zero.
    pub zeros: usize,
    /// `true` if the 95 % confidence interval of the mean of either side reaches zero. Such a ratio is meaningless and
    /// is not shown to readers.
    pub reaches_zero: bool,
}

/// Returns the ratio `other / base` over pairs, or `None` if there are no pairs, all base values are zero, or a value
/// is negative. Pairs with a value that is not finite are ignored.
///
/// Without zeros, the ratio is the geometric mean of the pairs' ratios, with an interval by Student's t on the
/// logarithms. Ratios are spread symmetrically on a logarithmic scale: a few pairs with a small base would distort an
/// arithmetic mean, and extend its interval below zero. With a zero, the ratio is the ratio of the means.
#[must_use]
pub fn ratio(base: &[f64], other: &[f64]) -> Option<Ratio> {
    let pairs = finite(base, other);
    if pairs.iter().any(|&(base, other)| base < 0.0 || other < 0.0) {
        return None;
    }
    let zeros = pairs.iter().filter(|pair| has_zero(pair)).count();
    let (mean, interval_95, centre) = if zeros == 0 {
        let (mean, interval) = geometric(&pairs)?;
        (mean, interval, Centre::GeometricMean)
    } else {
        let (mean, interval) = of_means(&pairs)?;
        (mean, interval, Centre::RatioOfMeans)
    };
    Some(Ratio {
        mean,
        interval_95,
        centre,
        pairs: pairs.len(),
        zeros,
        reaches_zero: reaches_zero(&pairs),
    })
}

/// Returns `true` if the confidence interval of the mean of either side of `pairs` reaches zero. Returns `false` if the
/// two sides are equal in every pair, because the ratio is then known.
fn reaches_zero(pairs: &[(f64, f64)]) -> bool {
    let reaches = |of: fn(&(f64, f64)) -> f64| {
        let side: Vec<f64> = pairs.iter().map(of).collect();
        let interval = Summary::of(&side).and_then(|side| side.interval_95());
        interval.is_some_and(|(low, high)| low <= 0.0 && high > 0.0)
    };
    let is_same = pairs.iter().all(|(base, other)| base == other);
    !is_same && (reaches(|pair| pair.0) || reaches(|pair| pair.1))
}

/// Summary of the ratios of paired samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairedRatio {
    /// Summary of the ratios. `None` if there are no pairs, or all base values are zero.
    ///
    /// If a pair has a zero, this summarises the ratio of the means: the half width reaches to the farther end of its
    /// interval, and is infinite if there is no upper end. There is no standard deviation.
    pub ratio: Option<Summary>,
    /// Number of pairs in the summary.
    pub pairs: usize,
    /// Number of pairs that are not in the summary, because one side is missing or not finite.
    pub skipped: usize,
}

/// Summarises `other / base`, pair by pair. Both slices are in the order of the seeds.
///
/// Two stacks with the same seed have the same losses, so most of the noise cancels in the ratio of a pair. The ratio
/// of the means retains this noise, and is used only if a pair has a zero.
#[must_use]
pub fn paired_ratio(base: &[f64], other: &[f64]) -> PairedRatio {
    let pairs = finite(base, other);
    let ratio = if pairs.iter().any(has_zero) {
        of_means(&pairs).map(|(mean, interval)| estimate(pairs.len(), mean, interval))
    } else {
        let ratios: Vec<f64> = pairs.iter().map(|(base, other)| other / base).collect();
        Summary::of(&ratios)
    };
    PairedRatio {
        ratio,
        pairs: pairs.len(),
        skipped: base.len().max(other.len()) - pairs.len(),
    }
}

/// Formats a ratio with its 95 % interval: `2.00 (1.85–2.16)`, or `–` if the interval of either side reaches zero.
#[must_use]
pub fn times(ratio: &Ratio) -> String {
    match ratio.interval_95 {
        _ if ratio.reaches_zero => "–".to_owned(),
        Some((low, high)) if high.is_infinite() => format!("{:.2} ({low:.2}–∞)", ratio.mean),
        Some((low, high)) if high - low >= 0.005 => {
            format!("{:.2} ({low:.2}–{high:.2})", ratio.mean)
        }
        _ => format!("{:.2}", ratio.mean),
    }
}

/// Returns the pairs with finite values.
fn finite(base: &[f64], other: &[f64]) -> Vec<(f64, f64)> {
    let pairs = base.iter().copied().zip(other.iter().copied());
    pairs
        .filter(|(base, other)| base.is_finite() && other.is_finite())
        .collect()
}

fn has_zero(&(base, other): &(f64, f64)) -> bool {
    base == 0.0 || other == 0.0
}

/// Ratio and ends of its 95 % interval.
type Estimated = (f64, Option<(f64, f64)>);

/// Returns the geometric mean of the ratios of positive pairs.
fn geometric(pairs: &[(f64, f64)]) -> Option<Estimated> {
    let logarithms: Vec<f64> = pairs
        .iter()
        .map(|(base, other)| (other / base).ln())
        .collect();
    let summary = Summary::of(&logarithms)?;
    let interval = summary.interval_95();
    let interval = interval.map(|(low, high)| (low.exp(), high.exp()));
    Some((summary.mean.exp(), interval))
}

/// Returns the ratio of the means, with Fieller's interval.
fn of_means(pairs: &[(f64, f64)]) -> Option<Estimated> {
    let side = |of: fn(&(f64, f64)) -> f64| mean(&pairs.iter().map(of).collect::<Vec<_>>());
    let base = side(|pair| pair.0).filter(|base| *base != 0.0)?;
    let ratio = side(|pair| pair.1)? / base;
    if !ratio.is_finite() {
        return None;
    }
    // Two sides that are equal in every pair have the ratio 1, regardless of the spread of the base.
    let interval = match pairs.len() {
        1 => None,
        _ if pairs.iter().all(|(base, other)| base == other) => Some((ratio, ratio)),
        _ => fieller(pairs),
    };
    Some((ratio, interval))
}

/// Returns the minimum and maximum of the non-negative ratios that a t-test of `other − ratio · base` does not reject
/// at 5 %. These are the ratios with `a·ratio² − 2·b·ratio + c ≤ 0`, where `a`, `b` and `c` are the squares and the
/// product of the means, minus t² times their (co)variances. If the base does not differ significantly from zero (`a ≤
/// 0`), there is no upper end.
fn fieller(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = pairs.len() as f64;
    let t = t_quantile_975(pairs.len() - 1)?;
    let base = mean(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>())?;
    let other = mean(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
    let spread = |of: &dyn Fn(f64, f64) -> f64| {
        let sum: f64 = pairs
            .iter()
            .map(|pair| of(pair.0 - base, pair.1 - other))
            .sum();
        t * t * sum / (n - 1.0) / n
    };
    let a = base * base - spread(&|x, _| x * x);
    let b = base * other - spread(&|x, y| x * y);
    let c = other * other - spread(&|_, y| y * y);
    if a > 0.0 {
        let root = (b * b - a * c).max(0.0).sqrt();
        return Some((((b - root) / a).max(0.0), (b + root) / a));
    }
    // If the interval of the base includes zero, the ratios lie outside the two roots. Only the ratios above the upper
    // root are kept, since ratios are not negative.
    let root = (b * b - a * c).max(0.0).sqrt();
    let above = match c > 0.0 && a < 0.0 {
        true => (b - root) / a,
        false => 0.0,
    };
    Some((above.max(0.0), f64::INFINITY))
}

/// Returns a ratio as a summary with a symmetric interval. Its half width reaches the end that is farther from the
/// ratio.
fn estimate(pairs: usize, mean: f64, interval: Option<(f64, f64)>) -> Summary {
    let (min, max) = interval.unwrap_or((mean, mean));
    Summary {
        n: pairs,
        mean,
        standard_deviation: None,
        half_width_95: interval.map(|(low, high)| (mean - low).max(high - mean)),
        min,
        max,
    }
}

#[cfg(test)]
mod tests {
    use dupack_net::random::Stream;

    use super::*;

    #[track_caller]
    fn close(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() < by, "{a} is not {b}");
    }

    #[test]
    fn without_zeros_the_ratio_is_that_of_the_pairs() {
        let result = paired_ratio(&[1.0, 2.0, 4.0], &[2.0, 4.0, 8.0]);
        let summary = result.ratio.unwrap();
        assert_eq!((result.pairs, result.skipped), (3, 0));
        assert_eq!((summary.n, summary.mean), (3, 2.0));
        assert_eq!(summary.half_width_95, Some(0.0));
        assert_eq!(paired_ratio(&[1.0], &[1.0, 2.0]).skipped, 1);

        // The geometric mean of 2 and 8 is √(2 · 8) = 4.
        let found = ratio(&[1.0, 1.0], &[2.0, 8.0]).unwrap();
        close(found.mean, 4.0, 1e-12);
        assert_eq!((found.pairs, found.zeros), (2, 0));
        assert_eq!(found.centre, Centre::GeometricMean);
        let (low, high) = found.interval_95.unwrap();
        // The interval is symmetric in the logarithms.
        close(low * high, 16.0, 1e-9);
    }

    /// Four of twelve seeds had zero goodput. A mean over the other eight would hide this.
    #[test]
    fn zeros_count() {
        let base = [1.0; 12];
        let mut other = [1.2; 12];
        other[..4].fill(0.0);
        let found = ratio(&base, &other).unwrap();
        assert_eq!(
            (found.pairs, found.zeros, found.centre),
            (12, 4, Centre::RatioOfMeans)
        );
        // The mean of eight values of 1.2 and four of 0 is 8 · 1.2 / 12.
        close(found.mean, 0.8, 1e-12);
        let (low, high) = found.interval_95.unwrap();
        // The base has no spread, so this is the t-interval of the other side's mean. For eight values of 1.2 and four
        // of 0, the variance is 12/11 · 1.44 · 2/9 = 0.34909, and t with 11 degrees of freedom is 2.20099. The interval
        // is 0.8 ± 2.20099 · √(0.34909/12).
        let half = 2.200_985 * (0.349_090_9_f64 / 12.0).sqrt();
        close(low, 0.8 - half, 1e-5);
        close(high, 0.8 + half, 1e-5);
        let summary = paired_ratio(&base, &other).ratio.unwrap();
        assert_eq!((summary.n, summary.standard_deviation), (12, None));
        close(summary.mean, 0.8, 1e-12);
        close(summary.half_width_95.unwrap(), 0.8 - low, 1e-12);
    }

    /// Random value of one side of a pair.
    type Draw = fn(&mut Stream) -> f64;

    fn zero_or(stream: &mut Stream, share: f64, value: Draw) -> f64 {
        let is_zero = stream.unit() < share;
        let value = value(stream);
        if is_zero { 0.0 } else { value }
    }

    /// 95 % intervals contain the true ratio in at least 92 % of cases, for five or more pairs. Goodputs vary little or
    /// are exponentially distributed, and up to two fifths of them are zero.
    #[test]
    fn the_interval_covers_the_ratio() {
        let even: Draw = |stream| 1.0 + stream.unit();
        let exponential: Draw = |stream| -(1.0 - stream.unit()).ln();
        let kinds = [
            // For the base, then for the other side: the probability of zero and the distribution. The last value is
            // the ratio of the means.
            (0.0, even, 0.2, even, 0.8),
            (0.0, even, 0.4, even, 0.6),
            (0.2, even, 0.3, even, 0.7 / 0.8),
            (0.0, exponential, 0.2, exponential, 0.8),
        ];
        for (kind, (base_zeros, base, other_zeros, other, truth)) in kinds.into_iter().enumerate() {
            for pairs in [5, 10, 20] {
                let mut stream = Stream::derive(pairs, "coverage");
                let (mut covered, mut all) = (0, 0);
                while all < 1000 {
                    let mut side = |share, draw| -> Vec<f64> {
                        (0..pairs)
                            .map(|_| zero_or(&mut stream, share, draw))
                            .collect()
                    };
                    let (base, other) = (side(base_zeros, base), side(other_zeros, other));
                    let Some(found) = ratio(&base, &other) else {
                        continue;
                    };
                    if found.centre == Centre::GeometricMean {
                        continue;
                    }
                    all += 1;
                    let (low, high) = found.interval_95.unwrap();
                    covered += u32::from((low..=high).contains(&truth));
                }
                // With 1000 samples, the standard error of a share of 95 % is 0.7 %.
                let share = f64::from(covered) / 1000.0;
                assert!(share > 0.92, "kind {kind}, {pairs} pairs: {share}");
            }
        }
    }

    #[test]
    fn with_many_pairs_the_interval_is_that_of_the_delta_method() {
        let mut stream = Stream::derive(1, "samples");
        let base: Vec<f64> = (0..400).map(|_| 1.0 + stream.unit()).collect();
        let doubled = |base: &f64| match stream.unit() < 0.25 {
            true => 0.0,
            false => 2.0 * base,
        };
        let other: Vec<f64> = base.iter().map(doubled).collect();
        let found = ratio(&base, &other).unwrap();
        let both = base.iter().zip(&other);
        let residuals: Vec<f64> = both
            .map(|(base, other)| other - found.mean * base)
            .collect();
        let deviation = Summary::of(&residuals).unwrap().standard_deviation.unwrap();
        let half = 1.966 * deviation / 20.0 / mean(&base).unwrap();
        let (low, high) = found.interval_95.unwrap();
        close(found.mean, 1.5, 2.0 * half);
        close((high - low) / 2.0, half, 0.01 * half);
    }

    #[test]
    fn a_base_that_may_be_zero_leaves_the_ratio_without_an_upper_end() {
        let found = ratio(&[0.0, 0.0, 0.0, 1.0], &[1.0, 1.0, 1.0, 1.0]).unwrap();
        close(found.mean, 4.0, 1e-12);
        // With t = 3.182, the mean of the base is 0.25 ± 0.80, so it may be zero. 0.57·r² + 0.5·r − 1 ≥ 0 holds from
        // 0.956 on.
        let (low, high) = found.interval_95.unwrap();
        close(low, 0.956, 0.001);
        assert!(high.is_infinite(), "{high}");
        assert_eq!(times(&found), "–");
        let summary = paired_ratio(&[0.0, 1.0], &[1.0, 1.0]).ratio.unwrap();
        assert_eq!(summary.half_width_95, Some(f64::INFINITY));
        // If both means may be zero, their ratio is arbitrary.
        let (low, high) = ratio(&[0.0, 0.0, 1.0], &[0.0, 0.0, 3.0])
            .unwrap()
            .interval_95
            .unwrap();
        assert_eq!((low, high), (0.0, f64::INFINITY));
    }

    #[test]
    fn a_ratio_is_not_shown_if_an_interval_reaches_zero() {
        // The logarithms are spread so widely that the interval covers many powers of ten.
        let base = [1.0, 1.0, 1e-5];
        let found = ratio(&base, &[2.0, 2.0, 2.0]).unwrap();
        let (low, high) = found.interval_95.unwrap();
        assert!(high / low > 1e6, "{low} {high}");
        assert_eq!((found.reaches_zero, times(&found).as_str()), (true, "–"));
        // The same applies if the other side has such a spread.
        assert_eq!(times(&ratio(&[2.0, 2.0, 2.0], &base).unwrap()), "–");
        let told = ratio(&[1.0, 1.1, 0.9], &[2.0, 2.2, 1.8]).unwrap();
        assert_eq!((told.reaches_zero, times(&told).as_str()), (false, "2.00"));
        // The ratio of zero to a base that is not zero is known.
        let nothing = ratio(&[1.0, 1.1], &[0.0, 0.0]).unwrap();
        assert_eq!(
            (nothing.reaches_zero, times(&nothing).as_str()),
            (false, "0.00")
        );
    }

    #[test]
    fn invalid_ratios_are_none() {
        assert_eq!(ratio(&[0.0, 0.0], &[1.0, 2.0]), None);
        assert_eq!(ratio(&[], &[]), None);
        assert_eq!(ratio(&[-1.0], &[1.0]), None);
        assert_eq!(paired_ratio(&[0.0], &[1.0]).ratio, None);
        let found = ratio(&[f64::NAN, 1.0], &[1.0, 2.0]).unwrap();
        assert_eq!((found.pairs, found.mean, found.interval_95), (1, 2.0, None));
        // If the values are equal in every pair, the ratio is known.
        let same = ratio(&[0.0, 3.0], &[0.0, 3.0]).unwrap();
        assert_eq!(same.interval_95, Some((1.0, 1.0)));
    }
}
