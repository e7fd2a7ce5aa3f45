//! How long a stack would have taken, and how sure that is.
//!
//! Three things are uncertain. What chance makes of a transfer: the mean is asked for, of which more seeds tell more.
//! What the path is: its numbers have intervals, and durations on paths drawn from them vary by more than chance. And
//! by what a real path differs from any simulated one.
//!
//! Of the last two the capture tells more than its numbers: how long the captured sender took. Where it took longer
//! than it does in simulations, the path is worse than its numbers say, or something slows all that is sent over it,
//! and another sender would have been slower, too. By how much is linear regression, in logarithms: the share of what
//! the captured duration varies by that is the path's, and that both have in common. Not by what the captured sender
//! lost more or less than it does in simulations: the path's loss was measured by the same losses, and they tell of it
//! but once. So what its duration depends on them is taken away first.

use dupack_lab::stats::{Summary, mean};

use super::runs::Outcome;
use dupack_diagnosis::path::DEVIATIONS;

/// What a simulation is off by that no seed shows, half of an interval of 95 %: most points of docs/testbed.md agree with
/// the wire to so much.
pub(super) const MODEL: f64 = 0.05;

/// A predicted quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The best guess.
    pub mean: f64,
    /// The lower end of the interval of 95 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What a stack does: by seed on the best path, and by seed on those drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcomes<'a> {
    pub best: &'a [Outcome],
    pub drawn: &'a [Outcome],
}

/// What the captured sender did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Did {
    pub seconds: f64,
    pub losses: f64,
}

/// A duration, and the variance of what it is off by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guess {
    pub mean: f64,
    pub variance: f64,
}

/// How long a stack would have taken, where the captured sender did this and is simulated with the same seeds.
pub(super) fn guess(stack: Outcomes<'_>, captured: Outcomes<'_>, did: Did) -> Guess {
    let seconds: Vec<f64> = stack.best.iter().map(|one| one.seconds).collect();
    let simulated = mean(&seconds).unwrap_or(0.0);
    let chance = variance(&seconds) / seconds.len().max(1) as f64;
    let durations = |of: &[Outcome]| -> Vec<f64> { of.iter().map(|one| ln(one.seconds)).collect() };
    let (best, drawn) = (durations(stack.best), durations(stack.drawn));
    let by_losses = by_losses(captured.best);
    let beside_losses = |seconds: f64, losses: f64| ln(seconds) - by_losses * ln(losses + 1.0);
    let beside = |of: &[Outcome]| -> Vec<f64> {
        let all = of.iter().map(|one| beside_losses(one.seconds, one.losses));
        all.collect()
    };
    let (its_best, its_drawn) = (beside(captured.best), beside(captured.drawn));
    let model = (MODEL / DEVIATIONS).powi(2);
    // What the drawn paths add to chance, to either and to both.
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

/// By how much the logarithm of the duration grows with that of the losses, by chance.
fn by_losses(outcomes: &[Outcome]) -> f64 {
    let of =
        |of: fn(&Outcome) -> f64| -> Vec<f64> { outcomes.iter().map(|one| ln(of(one))).collect() };
    let (seconds, losses) = (of(|one| one.seconds), of(|one| one.losses + 1.0));
    let slope = covariance(&seconds, &losses) / variance(&losses);
    if slope.is_finite() {
        slope.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// The natural logarithm of what is more than nothing.
fn ln(value: f64) -> f64 {
    value.max(f64::MIN_POSITIVE).ln()
}

/// What several guesses of these weights come to: one of them is right.
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

    /// Twenty outcomes about these means, of which `by` is the largest deviation of the durations, as a share, and
    /// `losing` of the losses.
    fn about((seconds, losses): (f64, f64), by: f64, losing: f64) -> Vec<Outcome> {
        let place = |n: i32| (f64::from(n) - 9.5) / 9.5;
        let outcome = |n| Outcome {
            seconds: seconds * (1.0 + by * place(n)),
            losses: losses * (1.0 + losing * place(n)),
            timeouts: 0.0,
            end: End::Reached,
        };
        (0..20).map(outcome).collect()
    }

    fn of<'a>(best: &'a [Outcome], drawn: &'a [Outcome]) -> Outcomes<'a> {
        Outcomes { best, drawn }
    }

    fn did(seconds: f64, losses: f64) -> Did {
        Did { seconds, losses }
    }

    #[test]
    fn what_slowed_the_captured_sender_slows_another() {
        // No chance at all, and nothing of the path is uncertain: what is left is that no simulation is right.
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
    fn what_was_chance_slows_nobody_else() {
        let (ten, four) = (about((10.0, 0.0), 0.3, 0.0), about((4.0, 0.0), 0.0, 0.0));
        let guess = guess(of(&four, &four), of(&ten, &ten), did(11.0, 0.0));
        assert!((guess.mean / 4.0 - 1.0).abs() < 0.01, "{guess:?}");
    }

    #[test]
    fn an_uncertain_path_is_less_so_by_what_the_captured_sender_took() {
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
    fn losses_tell_of_the_path_but_once() {
        // The duration is as the losses are, on any path.
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
        // What is not the losses' is the path's.
        let slower = guess(other, of(&best, &drawn), did(12.0, 100.0));
        assert!(slower.mean > 1.1 * 20.0, "{slower:?}");
    }

    #[test]
    fn guesses_that_differ_are_less_sure_together() {
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
