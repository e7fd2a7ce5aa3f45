//! The answer: how long another stack would have taken.

use dupack_algorithms::catalog::StackSpec;
use dupack_lab::run::{Interrupt, Progress};
use dupack_lab::stats::{Ratio, Summary, ratio};

use super::gate::Passed;
use super::runs::{End, Outcome, Over};

/// An interval of 95 % reaches so many standard deviations to either side.
const DEVIATIONS: f64 = 1.959_964;

/// What a simulation is off by that no seed shows (ours: the simulator agrees with the wire to some percent).
const MODEL: f64 = 0.03;

/// A prediction with a half width above this share of it is of no use, and not offered.
const WIDEST: f64 = 0.25;

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

/// What a stack would have taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The stack.
    pub stack: StackSpec,
    /// From the first segment to the last ACK, in seconds.
    pub duration: Estimate,
    /// Acknowledged payload, in Mbit/s.
    pub goodput: Estimate,
    /// How many times as long as the captured sender, simulated beside it on the same paths.
    pub ratio: Option<Ratio>,
    /// Whether it can be relied on.
    pub offer: Offer,
}

/// Whether an answer can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It can.
    Given,
    /// The capture does not tell the path well enough: the interval is too wide.
    TooWide,
    /// The transfer does not end in so many times the captured time.
    DoesNotEnd,
}

impl Passed<'_> {
    /// What `stacks` would have taken; nothing if it was interrupted.
    ///
    /// # Errors
    /// If one of them cannot run on the path: in words.
    pub fn ask(
        &self,
        stacks: &[StackSpec],
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Answer>>, String> {
        let question = &self.question;
        let simulation = question.simulation(progress, interrupt);
        let beside: Vec<StackSpec> = [&self.stack].into_iter().chain(stacks).cloned().collect();
        let drawn = simulation.of(&beside, Over::Drawn, question.seeds)?;
        let best = simulation.of(stacks, Over::Best, question.seeds)?;
        let (Some(drawn), Some(best)) = (drawn, best) else {
            return Ok(None);
        };
        let Some((captured, drawn)) = drawn.split_first() else {
            return Ok(None);
        };
        let megabits = question.path.transfer.bytes as f64 * 8.0 / 1e6;
        let answers = stacks.iter().zip(&best).zip(drawn);
        let answers = answers.map(|((stack, best), drawn)| Answer {
            stack: stack.clone(),
            ratio: ratio(&seconds(captured), &seconds(drawn)),
            ..answer(stack, best, drawn, megabits)
        });
        Ok(Some(answers.collect()))
    }
}

fn answer(stack: &StackSpec, best: &[Outcome], drawn: &[Outcome], megabits: f64) -> Answer {
    let duration = estimate(&seconds(best), &seconds(drawn));
    let half = (duration.high - duration.low) / 2.0;
    let mut all = best.iter().chain(drawn);
    let offer = if all.any(|outcome| outcome.end == End::NotReached) {
        Offer::DoesNotEnd
    } else if half > WIDEST * duration.mean {
        Offer::TooWide
    } else {
        Offer::Given
    };
    let per = |seconds: f64| megabits / seconds.max(f64::MIN_POSITIVE);
    Answer {
        stack: stack.clone(),
        duration,
        goodput: Estimate {
            mean: per(duration.mean),
            low: per(duration.high),
            high: per(duration.low),
        },
        ratio: None,
        offer,
    }
}

/// The mean on the best path. It is uncertain by chance, which more seeds make less of, and by the path: what
/// the drawn ones vary more than the best one does.
fn estimate(best: &[f64], drawn: &[f64]) -> Estimate {
    let variance = |samples: &[f64]| {
        let deviation = Summary::of(samples).and_then(|summary| summary.standard_deviation);
        deviation.unwrap_or(0.0).powi(2)
    };
    let mean = dupack_lab::stats::mean(best).unwrap_or(0.0);
    let chance = variance(best);
    let of_mean = chance / best.len().max(1) as f64;
    let of_path = (variance(drawn) - chance).max(0.0);
    let half = DEVIATIONS * (of_mean + of_path).sqrt() + MODEL * mean;
    Estimate {
        mean,
        low: (mean - half).max(0.0),
        high: mean + half,
    }
}

fn seconds(outcomes: &[Outcome]) -> Vec<f64> {
    outcomes.iter().map(|outcome| outcome.seconds).collect()
}
