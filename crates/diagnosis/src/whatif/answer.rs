//! The answer: how long another stack would have taken.

use dupack_algorithms::catalog::StackSpec;
use dupack_lab::run::{Interrupt, Progress};
use dupack_lab::stats::{Ratio, Summary, ratio};

use super::gate::{Passed, Simulated};
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
    /// How many times as long as the captured sender, simulated beside it on the same paths; nothing where it may
    /// have been one of several.
    pub ratio: Option<Ratio>,
    /// Whether it can be relied on.
    pub offer: Offer,
    /// The senders on which it rests: each did what the captured one did, which may have been any of them.
    pub senders: Vec<String>,
}

/// Whether an answer can be relied on, the more the earlier it stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let mut from_each: Vec<Vec<Answer>> = Vec::new();
        for sender in self.environments() {
            let Some(answers) = self.ask_as(sender, stacks, progress, interrupt)? else {
                return Ok(None);
            };
            from_each.push(answers);
        }
        let Some((first, others)) = from_each.split_first() else {
            return Ok(None);
        };
        let together = first.iter().enumerate().map(|(n, answer)| {
            let beside = others.iter().filter_map(|answers| answers.get(n));
            let all: Vec<&Answer> = std::iter::once(answer).chain(beside).collect();
            Some(Answer {
                senders: self.senders.iter().map(Simulated::name).collect(),
                ..together(&all)?
            })
        });
        Ok(Some(together.flatten().collect()))
    }

    /// Of the senders that passed one of each kind: another stack would have had the dialect and the options of
    /// the captured one, and nothing else of it.
    fn environments(&self) -> Vec<&Simulated> {
        let mut kinds: Vec<&Simulated> = Vec::new();
        for sender in &self.senders {
            let same = |known: &&Simulated| {
                let (one, other) = (&known.captured, &sender.captured);
                one.dialect == other.dialect && one.sender == other.sender
            };
            if !kinds.iter().any(same) {
                kinds.push(sender);
            }
        }
        kinds
    }

    /// What `stacks` would have taken if the captured sender was this one.
    fn ask_as(
        &self,
        sender: &Simulated,
        stacks: &[StackSpec],
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Answer>>, String> {
        let question = &self.question;
        let simulation = question.simulation(&sender.captured, progress, interrupt);
        // A plan has every stack once.
        let is_captured = |stack: &&StackSpec| stack.to_string() == sender.stack.to_string();
        let others = stacks.iter().filter(|stack| !is_captured(stack));
        let beside = std::iter::once(&sender.stack).chain(others);
        let beside: Vec<StackSpec> = beside.cloned().collect();
        let drawn = simulation.of(&beside, Over::Drawn, question.seeds)?;
        let best = simulation.of(stacks, Over::Best, question.seeds)?;
        let (Some(drawn), Some(best)) = (drawn, best) else {
            return Ok(None);
        };
        let Some((captured, others)) = drawn.split_first() else {
            return Ok(None);
        };
        let mut others = others.iter();
        let drawn = stacks.iter().filter_map(|stack| match is_captured(&stack) {
            true => Some(captured),
            false => others.next(),
        });
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

/// One answer of those that several senders lead to: its interval covers theirs. Nothing without any.
fn together(answers: &[&Answer]) -> Option<Answer> {
    let first = *answers.first()?;
    let count = answers.len() as f64;
    let over = |of: fn(&Answer) -> Estimate| {
        let all = || answers.iter().map(|answer| of(answer));
        Estimate {
            mean: all().map(|one| one.mean).sum::<f64>() / count,
            low: all().map(|one| one.low).fold(f64::INFINITY, f64::min),
            high: all().map(|one| one.high).fold(0.0, f64::max),
        }
    };
    let duration = over(|answer| answer.duration);
    let worst = answers.iter().map(|answer| answer.offer).max();
    let offer = worst.unwrap_or(first.offer).max(of_width(&duration));
    Some(Answer {
        stack: first.stack.clone(),
        duration,
        goodput: over(|answer| answer.goodput),
        ratio: first.ratio.filter(|_| answers.len() == 1),
        offer,
        senders: Vec::new(),
    })
}

/// Whether an interval is of use.
fn of_width(duration: &Estimate) -> Offer {
    let half = (duration.high - duration.low) / 2.0;
    if half > WIDEST * duration.mean {
        Offer::TooWide
    } else {
        Offer::Given
    }
}

fn answer(stack: &StackSpec, best: &[Outcome], drawn: &[Outcome], megabits: f64) -> Answer {
    let duration = estimate(&seconds(best), &seconds(drawn));
    let mut all = best.iter().chain(drawn);
    let offer = if all.any(|outcome| outcome.end == End::NotReached) {
        Offer::DoesNotEnd
    } else {
        of_width(&duration)
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
        senders: Vec::new(),
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
