//! Significance of differences between paired samples, with correction for multiple comparisons.

use std::sync::Arc;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Significance level: the accepted probability that a family of comparisons contains any false difference.
pub const LEVEL: f64 = 0.05;

/// Returns the two-sided p-value of the paired t-test: the probability of a mean at least this far from zero, if the
/// pairs differ by chance alone.
///
/// Constant differences are not random: the p-value is 1 if all of them are zero, and 0 if all have another common
/// value. Returns `None` for fewer than two pairs, and if a difference is not finite.
#[must_use]
pub fn paired_p(differences: &[f64]) -> Option<f64> {
    let n = differences.len();
    if n < 2 || !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    if differences.iter().all(|d| *d == differences[0]) {
        return Some(if differences[0] == 0.0 { 1.0 } else { 0.0 });
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
    let error = (squares / (n - 1) as f64 / n as f64).sqrt();
    let t = (mean / error).abs();
    let student = StudentsT::new(0.0, 1.0, (n - 1) as f64).ok()?;
    let p = 2.0 * student.sf(t);
    p.is_finite().then_some(p.min(1.0))
}

/// Corrects the p-values of several comparisons by Holm's step-down procedure (S. Holm, "A Simple Sequentially
/// Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979). The *i*-th (from 0) of *m* p-values
/// in ascending order is multiplied by *m* − *i*. Corrected values are non-decreasing, and at most 1.
///
/// A corrected value below [`LEVEL`] is a significant difference. The probability that any of these differences is
/// false is at most that level, even if the comparisons depend on one another.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![1.0; p.len()];
    let mut least = 0.0_f64;
    for (i, &place) in order.iter().enumerate() {
        least = least.max(p[place] * (p.len() - i) as f64).min(1.0);
        corrected[place] = least;
    }
    corrected
}

/// Family of comparisons that are corrected together.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Family {
    /// The comparisons at a point of the sweep: the level applies to each point separately.
    #[default]
    Point,
    /// The comparisons at all points: the level applies to the whole sweep.
    Sweep(Arc<Corrected>),
}

/// The p-values in ascending order, with their corrected values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corrected {
    plain: Vec<f64>,
    corrected: Vec<f64>,
}

impl Family {
    /// Creates the family of all comparisons of a sweep from their p-values.
    #[must_use]
    pub fn of_sweep(mut p: Vec<f64>) -> Self {
        p.sort_unstable_by(f64::total_cmp);
        let corrected = holm(&p);
        Self::Sweep(Arc::new(Corrected {
            plain: p,
            corrected,
        }))
    }

    /// Corrects the p-values of the comparisons at a point.
    #[must_use]
    pub fn correct(&self, p: &[f64]) -> Vec<f64> {
        match self {
            Self::Point => holm(p),
            Self::Sweep(all) => p.iter().map(|p| all.of(*p)).collect(),
        }
    }
}

impl Corrected {
    /// Returns the corrected value of a p-value of the family. Equal p-values have the corrected value of the first of
    /// them.
    fn of(&self, p: f64) -> f64 {
        let place = self.plain.partition_point(|known| *known < p);
        self.corrected.get(place).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::close;

    #[test]
    fn p_values_agree_with_the_tables() {
        // Mean 1, standard deviation 1, and t = √4 = 2 with 3 degrees of freedom give p = 0.139326.
        let half = 1.5_f64.sqrt() / 2.0_f64.sqrt();
        let differences = [1.0 - half, 1.0 + half, 1.0 - half, 1.0 + half];
        close(paired_p(&differences).unwrap(), 0.139_325_6);
        // With one degree of freedom, Student's t is the Cauchy distribution: p = 1 − 2/π · atan(t), here with t = 3.
        let cauchy = 1.0 - 2.0 / std::f64::consts::PI * 3.0_f64.atan();
        close(paired_p(&[1.0, 2.0]).unwrap(), cauchy);
    }

    #[test]
    fn a_p_value_is_symmetric() {
        let p = paired_p(&[0.3, 0.1, 0.5, -0.1]);
        assert_eq!(p, paired_p(&[-0.3, -0.1, -0.5, 0.1]));
        assert!(p.unwrap() > 0.05);
    }

    #[test]
    fn constant_differences_are_exact() {
        assert_eq!(paired_p(&[0.0, 0.0, 0.0]), Some(1.0));
        assert_eq!(paired_p(&[0.25, 0.25, 0.25]), Some(0.0));
    }

    #[test]
    fn a_single_pair_has_no_p_value() {
        assert_eq!(paired_p(&[]), None);
        assert_eq!(paired_p(&[7.0]), None);
        assert_eq!(paired_p(&[7.0, f64::NAN]), None);
    }

    #[test]
    fn holm_multiplies_step_by_step() {
        // The corrected values are 0.01 × 4, 0.02 × 3, 0.03 × 2 (not below the previous value), and 0.5 × 1.
        let corrected = holm(&[0.02, 0.5, 0.01, 0.03]);
        for (found, wanted) in corrected.iter().zip([0.06, 0.5, 0.04, 0.06]) {
            close(*found, wanted);
        }
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [] as [f64; 0]);
    }

    #[test]
    fn a_sweep_corrects_all_comparisons() {
        let sweep = Family::of_sweep(vec![0.02, 0.5, 0.01, 0.03]);
        for (found, wanted) in sweep.correct(&[0.01, 0.5]).iter().zip([0.04, 0.5]) {
            close(*found, wanted);
        }
        assert_eq!(Family::Point.correct(&[0.01, 0.5]), [0.02, 0.5]);
    }

    #[test]
    fn a_difference_may_vanish_among_many_comparisons() {
        let alone = holm(&[0.03]);
        let among = holm(&[0.03, 0.8, 0.4, 0.9]);
        assert!(alone[0] < LEVEL);
        close(among[0], 0.12);
    }
}
