//! Pairwise comparisons of stacks by each measure, with their significance.

use super::limits::Margins;
use super::{Contender, JUDGED};
use crate::results::{Better, Measure};
use crate::significance::{Family, LEVEL, paired_p};

/// Effect of replacing the first of two stacks by the second, over the seeds that both stacks have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// Factor: the geometric mean of the ratios.
    Ratio(f64),
    /// Difference in the measure's unit: the mean of the differences.
    Difference(f64),
}

/// The better of two stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first stack.
    One,
    /// The second stack.
    Other,
    /// Neither: the difference is not significant, or too small to matter.
    Neither,
}

/// Comparison of two stacks by one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contrast {
    /// Index of the first stack.
    pub one: usize,
    /// Index of the second stack.
    pub other: usize,
    /// The measure.
    pub measure: Measure,
    /// Number of seeds that both stacks have.
    pub pairs: usize,
    /// Size of the difference.
    pub effect: Effect,
    /// Two-sided p-value of the paired t-test. `None` for fewer than two pairs.
    pub p: Option<f64>,
    /// p-value after Holm's correction for all comparisons at the point or in the sweep.
    pub corrected_p: Option<f64>,
    /// The better stack.
    pub better: Side,
    /// The better stack if this comparison were the only one at the point.
    pub alone: Side,
}

impl Contrast {
    /// Returns `true` if `stack` is the better one.
    #[must_use]
    pub fn is_won_by(&self, stack: usize) -> bool {
        match self.better {
            Side::One => self.one == stack,
            Side::Other => self.other == stack,
            Side::Neither => false,
        }
    }

    /// Returns `true` if `stack` would be the better one without correction for other comparisons. This evidence is too
    /// weak to call `stack` better, but too strong to call the other stack equally good.
    #[must_use]
    pub fn leans_to(&self, stack: usize) -> bool {
        match self.alone {
            Side::One => self.one == stack,
            Side::Other => self.other == stack,
            Side::Neither => false,
        }
    }

    /// Returns `true` if the difference is significant, even if it is small.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.corrected_p.is_some_and(|p| p < LEVEL)
    }

    /// Returns `true` if this compares the stacks `a` and `b`, in either order.
    #[must_use]
    pub fn is_of(&self, a: usize, b: usize) -> bool {
        (self.one, self.other) == (a, b) || (self.one, self.other) == (b, a)
    }
}

/// Returns the better direction of a measure for a sender. Retransmission counts as a cost here.
pub(super) const fn better_side(measure: Measure) -> Better {
    match measure {
        Measure::RetransmissionShare => Better::Lower,
        _ => measure.better(),
    }
}

/// Compares every pair of `contenders` by every judged measure that both contenders have.
pub(super) fn contrasts(
    contenders: &[Contender],
    margins: &Margins,
    family: &Family,
) -> Vec<Contrast> {
    let mut all = Vec::new();
    for one in 0..contenders.len() {
        for other in one + 1..contenders.len() {
            for measure in JUDGED {
                let pairs = paired(&contenders[one], &contenders[other], measure);
                if !pairs.is_empty() {
                    all.push(contrast(one, other, measure, &pairs));
                }
            }
        }
    }
    correct(&mut all, margins, family);
    all
}

/// Returns the values of `measure` at the seeds that both contenders have.
pub(super) fn paired(one: &Contender, other: &Contender, measure: Measure) -> Vec<(f64, f64)> {
    let others = other.samples(measure);
    let own = one.samples(measure).iter();
    own.filter_map(|(seed, value)| {
        let place = others.binary_search_by_key(seed, |(s, _)| *s).ok()?;
        Some((*value, others[place].1))
    })
    .collect()
}

fn contrast(one: usize, other: usize, measure: Measure, pairs: &[(f64, f64)]) -> Contrast {
    // Goodputs are compared as ratios, since their spread is relative. A run without any goodput has no ratio.
    let as_ratio = measure == Measure::Goodput && pairs.iter().all(|(a, b)| *a > 0.0 && *b > 0.0);
    let differences: Vec<f64> = match as_ratio {
        true => pairs.iter().map(|(a, b)| (b / a).ln()).collect(),
        false => pairs.iter().map(|(a, b)| b - a).collect(),
    };
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    Contrast {
        one,
        other,
        measure,
        pairs: pairs.len(),
        effect: match as_ratio {
            true => Effect::Ratio(mean.exp()),
            false => Effect::Difference(mean),
        },
        p: paired_p(&differences),
        corrected_p: None,
        better: Side::Neither,
        alone: Side::Neither,
    }
}

/// Corrects the p-values together, and sets the better side.
fn correct(contrasts: &mut [Contrast], margins: &Margins, family: &Family) {
    let told: Vec<f64> = contrasts.iter().filter_map(|c| c.p).collect();
    let mut corrected = family.correct(&told).into_iter();
    for contrast in contrasts {
        contrast.corrected_p = contrast.p.and_then(|_| corrected.next());
        if contrast.p.is_some_and(|p| p < LEVEL) {
            contrast.alone = side(contrast, margins);
        }
        if contrast.is_told() {
            contrast.better = contrast.alone;
        }
    }
}

fn side(contrast: &Contrast, margins: &Margins) -> Side {
    let margin = margins.of(contrast.measure);
    let ahead = match contrast.effect {
        Effect::Ratio(ratio) if (1.0 / (1.0 + margin)..=1.0 + margin).contains(&ratio) => 0.0,
        Effect::Ratio(ratio) => ratio - 1.0,
        // Goodputs have a difference instead of a ratio only if a run has zero goodput. No margin applies then.
        Effect::Difference(difference) if contrast.measure == Measure::Goodput => difference,
        Effect::Difference(difference) if difference.abs() <= margin => 0.0,
        Effect::Difference(difference) => difference,
    };
    let ahead = match better_side(contrast.measure) {
        Better::Higher => ahead,
        Better::Lower => -ahead,
        Better::Neither => 0.0,
    };
    if ahead > 0.0 {
        Side::Other
    } else if ahead < 0.0 {
        Side::One
    } else {
        Side::Neither
    }
}
