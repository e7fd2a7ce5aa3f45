//! Estimate of the duration of a stack, and the uncertainty of this estimate.
//!
//! There are three sources of uncertainty:
//!
//! 1. Chance within a transfer. More seeds make the estimate of the mean duration more precise.
//! 2. The path. Its numbers have confidence intervals, and durations on paths drawn from these intervals vary by more
//!    than chance.
//! 3. The difference between a real path and any simulated path.
//!
//! The captured duration adds information about the second and the third source. If the captured sender took longer in
//! the capture than in simulations, the real path is worse than its estimates, or another effect slows all senders on
//! it. In this case, another sender would also have been slower. The factor follows from a linear regression of
//! logarithms: its exponent is the part of the covariance of both durations that the path causes, divided by the
//! variance of the captured duration. The difference between the captured and the simulated number of losses adds no
//! information, because the path's loss rate was estimated from the same losses, which must count only once. Therefore,
//! the effect of the losses on the duration is removed first.

use dupack_lab::stats::{Summary, mean};

use super::runs::SimulatedTransfer;
use dupack_diagnosis::path::DEVIATIONS;

/// Relative error of a simulation that does not depend on the seed, as half of a 95 % interval. Most points of
/// docs/testbed.md agree with real packets within this fraction.
pub(super) const MODEL: f64 = 0.05;

/// A predicted quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Best estimate.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// Outcomes of a stack: one per seed on the best estimate of the path, and one per seed on the drawn paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcomes<'a> {
    pub best: &'a [SimulatedTransfer],
    pub drawn: &'a [SimulatedTransfer],
}

/// Duration and number of losses of the captured transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Did {
    pub seconds: f64,
    pub losses: f64,
}

/// Estimated duration, and the variance of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guess {
    pub mean: f64,
    pub variance: f64,
}

/// Estimates the duration of a stack. `captured` contains simulations of the captured sender with the same seeds, and
/// `did` the captured transfer.
pub(super) fn guess(stack: Outcomes<'_>, captured: Outcomes<'_>, did: Did) -> Guess {
    let seconds: Vec<f64> = stack.best.iter().map(|one| one.seconds).collect();
    let simulated = mean(&seconds).unwrap_or(0.0);
    let chance = variance(&seconds) / seconds.len().max(1) as f64;
    let durations =
        |of: &[SimulatedTransfer]| -> Vec<f64> { of.iter().map(|one| ln(one.seconds)).collect() };
    let (best, drawn) = (durations(stack.best), durations(stack.drawn));
    let by_losses = by_losses(captured.best);
    let beside_losses = |seconds: f64, losses: f64| ln(seconds) - by_losses * ln(losses + 1.0);
    let beside = |of: &[SimulatedTransfer]| -> Vec<f64> {
        let all = of.iter().map(|one| beside_losses(one.seconds, one.losses));
        all.collect()
    };
    let (its_best, its_drawn) = (beside(captured.best), beside(captured.drawn));
    let model = (MODEL / DEVIATIONS).powi(2);
    // Variance that the drawn paths add to the variance by chance, for each of the two senders, and their covariance.
    let of_path = (variance(&drawn) - variance(&best)).max(0.0);
    let of_its_path = (variance(&its_drawn) - variance(&its_best)).max(0.0);
    let both = covariance(&drawn, &its_drawn) - covariance(&best, &its_best);
    let both = both.clamp(0.0, (of_path * of_its_path).sqrt()) + model;
    let of_captured = variance(&its_best) + of_its_path + model;
    let beyond = beside_losses(did.seconds, did.losses) - mean(&its_best).unwrap_or(0.0);
    let mean = simulated * (both / of_captured * beyond).exp();
    let left = (of_path + model - both * both / of_captured).max(0.0) + model;
    Guess {
        mean,
        variance: chance + left * mean * mean,
    }
}

/// Returns the slope of the logarithm of the duration over the logarithm of the number of losses, due to chance.
fn by_losses(outcomes: &[SimulatedTransfer]) -> f64 {
    let of = |of: fn(&SimulatedTransfer) -> f64| -> Vec<f64> {
        outcomes.iter().map(|one| ln(of(one))).collect()
    };
    let (seconds, losses) = (of(|one| one.seconds), of(|one| one.losses + 1.0));
    let slope = covariance(&seconds, &losses) / variance(&losses);
    if slope.is_finite() {
        slope.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Returns the natural logarithm of a value. Values that are not positive are replaced by the smallest positive number.
fn ln(value: f64) -> f64 {
    value.max(f64::MIN_POSITIVE).ln()
}

/// Combines several weighted guesses, one of which is right.
pub(super) fn together(guesses: &[(f64, Guess)]) -> Option<Guess> {
    let weights: f64 = guesses.iter().map(|(weight, _)| weight).sum();
    if !(weights.is_finite() && weights > 0.0) {
        return None;
    }
    let over = |of: &dyn Fn(&Guess) -> f64| -> f64 {
        let weighted = guesses.iter().map(|(weight, guess)| weight * of(guess));
        weighted.sum::<f64>() / weights
    };
    let mean = over(&|guess| guess.mean);
    let variance = over(&|guess| guess.variance + (guess.mean - mean).powi(2));
    Some(Guess { mean, variance })
}

impl Guess {
    pub(super) fn estimate(&self) -> Estimate {
        let half = DEVIATIONS * self.variance.sqrt();
        Estimate {
            mean: self.mean,
            low: (self.mean - half).max(0.0),
            high: self.mean + half,
        }
    }
}

fn variance(samples: &[f64]) -> f64 {
    let deviation = Summary::of(samples).and_then(|summary| summary.standard_deviation);
    deviation.unwrap_or(0.0).powi(2)
}

fn covariance(one: &[f64], other: &[f64]) -> f64 {
    let pairs = one.len().min(other.len());
    let (Some(of_one), Some(of_other)) = (mean(one), mean(other)) else {
        return 0.0;
    };
    let products = one.iter().zip(other);
    let sum: f64 = products.map(|(a, b)| (a - of_one) * (b - of_other)).sum();
    sum / pairs.saturating_sub(1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::runs::End;
    use super::*;

    /// Returns twenty outcomes with these mean durations and losses. `by` is the maximum relative deviation of the
    /// durations, and `losing` the maximum relative deviation of the losses.
    fn about((seconds, losses): (f64, f64), by: f64, losing: f64) -> Vec<SimulatedTransfer> {
        let place = |n: i32| (f64::from(n) - 9.5) / 9.5;
        let outcome = |n| SimulatedTransfer {
            seconds: seconds * (1.0 + by * place(n)),
            losses: losses * (1.0 + losing * place(n)),
            timeouts: 0.0,
            end: End::Reached,
        };
        (0..20).map(outcome).collect()
    }

    fn of<'a>(best: &'a [SimulatedTransfer], drawn: &'a [SimulatedTransfer]) -> Outcomes<'a> {
        Outcomes { best, drawn }
    }

    fn did(seconds: f64, losses: f64) -> Did {
        Did { seconds, losses }
    }

    #[test]
    fn a_path_that_slowed_the_captured_sender_slows_another() {
        // The durations do not vary, and the path is certain, so only the error of simulations remains.
        let (ten, four) = (about((10.0, 0.0), 0.0, 0.0), about((4.0, 0.0), 0.0, 0.0));
        let guess = guess(of(&four, &four), of(&ten, &ten), did(11.0, 0.0));
        assert!((guess.mean - 4.4).abs() < 1e-9, "{guess:?}");
        let estimate = guess.estimate();
        assert!(
            estimate.high - guess.mean < 0.06 * guess.mean,
            "{estimate:?}"
        );
    }

    #[test]
    fn chance_does_not_slow_another_sender() {
        let (ten, four) = (about((10.0, 0.0), 0.3, 0.0), about((4.0, 0.0), 0.0, 0.0));
        let guess = guess(of(&four, &four), of(&ten, &ten), did(11.0, 0.0));
        assert!((guess.mean / 4.0 - 1.0).abs() < 0.01, "{guess:?}");
    }

    #[test]
    fn the_captured_duration_reduces_the_uncertainty_of_the_path() {
        let (best, other_best) = (about((10.0, 0.0), 0.05, 0.0), about((20.0, 0.0), 0.0, 0.0));
        let (drawn, other_drawn) = (about((10.0, 0.0), 0.4, 0.0), about((20.0, 0.0), 0.4, 0.0));
        let other = of(&other_best, &other_drawn);
        let unsure = guess(other, of(&best, &best), did(10.0, 0.0));
        let sure = guess(other, of(&best, &drawn), did(10.0, 0.0));
        assert!(sure.variance < unsure.variance / 4.0, "{sure:?} {unsure:?}");
        let slower = guess(other, of(&best, &drawn), did(12.0, 0.0));
        assert!((slower.mean / sure.mean - 1.2).abs() < 0.02, "{slower:?}");
    }

    #[test]
    fn losses_count_only_once() {
        // The duration is proportional to the losses on any path.
        let (best, other_best) = (about((10.0, 100.0), 0.2, 0.2), about((20.0, 0.0), 0.0, 0.0));
        let (drawn, other_drawn) = (about((10.0, 100.0), 0.4, 0.4), about((20.0, 0.0), 0.4, 0.0));
        let other = of(&other_best, &other_drawn);
        let once = guess(other, of(&best, &drawn), did(12.0, 120.0));
        assert!((once.mean / 20.0 - 1.0).abs() < 0.02, "{once:?}");
        let nothing = guess(other, of(&best, &best), did(10.0, 100.0));
        assert!(
            once.variance > 0.9 * nothing.variance,
            "{once:?} {nothing:?}"
        );
        // The part of the duration that the losses do not explain is attributed to the path.
        let slower = guess(other, of(&best, &drawn), did(12.0, 100.0));
        assert!(slower.mean > 1.1 * 20.0, "{slower:?}");
    }

    #[test]
    fn differing_guesses_have_a_larger_variance_together() {
        let one = Guess {
            mean: 10.0,
            variance: 1.0,
        };
        let other = Guess { mean: 14.0, ..one };
        let both = together(&[(1.0, one), (1.0, other)]).unwrap();
        assert_eq!((both.mean, both.variance), (12.0, 5.0));
        let mostly = together(&[(3.0, one), (1.0, other)]).unwrap();
        assert_eq!(mostly.mean, 11.0);
        assert_eq!(together(&[]), None);
    }
}
