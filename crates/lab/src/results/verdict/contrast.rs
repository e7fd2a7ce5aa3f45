//! Every two stacks by every measure: which is better, and can it be told?

use super::limits::Margins;
use super::{Contender, JUDGED};
use crate::results::{Better, Measure};
use crate::significance::{Family, LEVEL, paired_p};

/// How far the second of two stacks is from the first, over the seeds that both have.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// This many times as much: the geometric mean of the ratios.
    Ratio(f64),
    /// This much more, in the measure's unit: the mean of the differences.
    Difference(f64),
}

/// Which of two stacks is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    One,
    /// The second.
    Other,
    /// It cannot be told, or the difference is too small to matter.
    Neither,
}

/// Two stacks by one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contrast {
    /// The first, by its place.
    pub one: usize,
    /// The second.
    pub other: usize,
    /// By what they are compared.
    pub measure: Measure,
    /// How many seeds both have.
    pub pairs: usize,
    /// How far apart they are.
    pub effect: Effect,
    /// The two-sided p-value of the paired t-test; none below two pairs.
    pub p: Option<f64>,
    /// The same, corrected by Holm for all comparisons at the point, or of the sweep.
    pub corrected_p: Option<f64>,
    /// Which is better.
    pub better: Side,
    /// Which would be better if this comparison were the only one at the point.
    pub alone: Side,
}

impl Contrast {
    /// Whether `stack` is the better one of the two.
    #[must_use]
    pub fn is_won_by(&self, stack: usize) -> bool {
        match self.better {
            Side::One => self.one == stack,
            Side::Other => self.other == stack,
            Side::Neither => false,
        }
    }

    /// Whether `stack` would be the better one of the two if nothing else were compared. Too little to
    /// call it better, but too much to call it no worse.
    #[must_use]
    pub fn leans_to(&self, stack: usize) -> bool {
        match self.alone {
            Side::One => self.one == stack,
            Side::Other => self.other == stack,
            Side::Neither => false,
        }
    }

    /// Whether the intervals tell the two apart, however little.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.corrected_p.is_some_and(|p| p < LEVEL)
    }

    /// Whether it is about these two, in whichever order.
    #[must_use]
    pub fn is_of(&self, a: usize, b: usize) -> bool {
        (self.one, self.other) == (a, b) || (self.one, self.other) == (b, a)
    }
}

/// Which side of a measure is better for a sender: resending is a cost here.
pub(super) const fn better_side(measure: Measure) -> Better {
    match measure {
        Measure::RetransmissionShare => Better::Lower,
        _ => measure.better(),
    }
}

/// Every two of `contenders` by every judged measure that both have.
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

/// The values of `measure` at the seeds that both have.
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
    // Goodputs spread as ratios do; a run in which nothing got across has none.
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

/// Corrects the p-values for one another, and says which side is better.
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
        // Where there is no ratio, a difference of goodputs is between something and nothing.
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
