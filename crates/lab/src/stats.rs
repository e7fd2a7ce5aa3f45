//! Statistics of small samples: means with confidence intervals, paired ratios, quantiles and fairness.
//!
//! Samples that are not finite (a quotient by zero, a measure that does not apply) are excluded from every summary,
//! which reduces `n`. No function in this module returns a NaN.

pub mod ratio;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

pub use ratio::{Centre, PairedRatio, Ratio, paired_ratio, ratio, times};

/// Size, centre and spread of a sample, in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of finite samples, at least one.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor n − 1). `None` for fewer than two samples.
    pub standard_deviation: Option<f64>,
    /// Half width of the mean's 95 % confidence interval (Student's t). `None` for fewer than two samples.
    pub half_width_95: Option<f64>,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
}

impl Summary {
    /// Summarises the finite samples. Returns `None` if there are none.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let finite: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
        let mean = mean(&finite)?;
        let n = finite.len();
        let min = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let max = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let standard_deviation = (n >= 2).then(|| {
            let squares: f64 = finite.iter().map(|x| (x - mean) * (x - mean)).sum();
            (squares / (n - 1) as f64).sqrt()
        });
        let half_width_95 =
            standard_deviation.and_then(|s| Some(t_quantile_975(n - 1)? * s / (n as f64).sqrt()));
        Some(Self {
            n,
            mean,
            standard_deviation,
            half_width_95,
            min,
            max,
        })
    }

    /// Returns the ends of the mean's 95 % confidence interval, or `None` for fewer than two samples.
    #[must_use]
    pub fn interval_95(&self) -> Option<(f64, f64)> {
        self.half_width_95
            .map(|half| (self.mean - half, self.mean + half))
    }
}

/// Returns the arithmetic mean, or `None` if there are no samples or the mean is not finite.
#[must_use]
pub fn mean(samples: &[f64]) -> Option<f64> {
    // Dividing first loses a digit, but cannot overflow. It is needed only for very large samples.
    let n = samples.len() as f64;
    let sum: f64 = samples.iter().sum();
    let mean = if sum.is_finite() {
        sum / n
    } else {
        samples.iter().map(|x| x / n).sum()
    };
    mean.is_finite().then_some(mean)
}

/// Returns the `q`-quantile (0 ≤ q ≤ 1) by linear interpolation between order statistics: Hyndman and Fan's type 7, the
/// default of R and NumPy. Sorts `samples` and ignores values that are not finite. Returns `None` without samples, or
/// if `q` is out of range.
#[must_use]
pub fn quantile(samples: &mut [f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    // Values that are not finite are moved to the end and cut off.
    samples.sort_unstable_by(|a, b| {
        b.is_finite()
            .cmp(&a.is_finite())
            .then_with(|| a.total_cmp(b))
    });
    let finite = &samples[..samples.partition_point(|x| x.is_finite())];
    let position = q * finite.len().checked_sub(1)? as f64;
    let below = *finite.get(position.floor() as usize)?;
    let above = *finite.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

/// Returns Jain's fairness index of the flows' shares, (Σx)² / (n·Σx²): 1 if all are equal, 1/n if one flow has
/// everything (Jain, Chiu and Hawe 1984). Returns `None` without flows, if all shares are zero, or if a share is
/// negative or not finite.
#[must_use]
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 || !shares.iter().all(|x| x.is_finite() && *x >= 0.0) {
        return None;
    }
    // Values are divided by the largest share, so that squares do not overflow.
    let sum: f64 = shares.iter().map(|x| x / largest).sum();
    let squares: f64 = shares.iter().map(|x| (x / largest) * (x / largest)).sum();
    Some(sum * sum / (shares.len() as f64 * squares))
}

/// Returns the quantile of Student's t at 97.5 %, for a two-sided 95 % interval.
fn t_quantile_975(degrees_of_freedom: usize) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64)
        .ok()?
        .inverse_cdf(0.975);
    t.is_finite().then_some(t)
}

/// Formats a mean with its 95 % interval: `8.83 ±0.02`.
#[must_use]
pub fn spread(summary: &Summary, decimals: usize) -> String {
    match summary.half_width_95 {
        // If all values are equal, every seed gave the same run.
        Some(half) if summary.min < summary.max => {
            format!("{:.decimals$} ±{:.decimals$}", summary.mean, half)
        }
        _ => format!("{:.decimals$}", summary.mean),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[track_caller]
    pub(crate) fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    #[test]
    fn summary_of_known_samples() {
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("samples");
        assert_eq!((summary.n, summary.min, summary.max), (8, 2.0, 9.0));
        close(summary.mean, 5.0);
        let deviation = (32.0_f64 / 7.0).sqrt();
        close(summary.standard_deviation.expect("n > 1"), deviation);
        // t(0.975, 7) = 2.364624
        close(
            summary.half_width_95.expect("n > 1"),
            2.364_624_252 * deviation / 8.0_f64.sqrt(),
        );
    }

    #[test]
    fn student_quantiles_agree_with_the_tables() {
        for (degrees, t) in [
            (1, 12.706_204_7),
            (2, 4.302_652_7),
            (4, 2.776_445_1),
            (29, 2.045_229_6),
        ] {
            close(t_quantile_975(degrees).expect("finite"), t);
        }
    }

    #[test]
    fn one_sample_has_no_spread_and_none_has_no_summary() {
        let summary = Summary::of(&[3.5]).expect("one sample");
        assert_eq!(summary.standard_deviation, None);
        assert_eq!(summary.interval_95(), None);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(
            Summary::of(&[f64::NAN, 1.0, 3.0]).map(|s| (s.n, s.mean)),
            Some((2, 2.0))
        );
    }

    #[test]
    fn quantiles_interpolate() {
        let mut samples = [4.0, 1.0, 3.0, f64::NAN, 2.0];
        assert_eq!(quantile(&mut samples, 0.0), Some(1.0));
        assert_eq!(quantile(&mut samples, 0.25), Some(1.75));
        assert_eq!(quantile(&mut samples, 0.5), Some(2.5));
        assert_eq!(quantile(&mut samples, 1.0), Some(4.0));
        assert_eq!(quantile(&mut samples, 1.1), None);
        assert_eq!(quantile(&mut samples, f64::NAN), None);
        assert_eq!(quantile(&mut [], 0.5), None);
    }

    #[test]
    fn jain_index_of_known_shares() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        close(jain_index(&[1.0, 2.0]).expect("positive"), 0.9);
        assert_eq!(jain_index(&[0.0, 0.0]), None);
        assert_eq!(jain_index(&[]), None);
        assert_eq!(jain_index(&[1.0, f64::NAN]), None);
    }
}
