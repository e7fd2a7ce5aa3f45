//! Verdict at a point: the stacks that no other stack dominates, by several measures.
//!
//! A stack *beats*, or dominates, another if it is better by at least one of the [`JUDGED`] measures and worse by none.
//! "Better" means a significant paired difference over the seeds that exceeds its margin ([`Margins`]). The p-values of
//! all comparisons at the point are corrected together ([`crate::significance`]). "Worse" is decided by a single
//! comparison without correction: the correction demands more evidence that stacks differ, and must not make it easier
//! for a stack to count as equally good.
//!
//! An undominated stack gets a ★, unless its harm or waste is excessive ([`limits`]), or its runs are not random. A
//! stack with excessive harm or waste dominates no other stack. If more than half of the stacks would get a ★, there is
//! no answer: the reader must choose a criterion ([`Prefer`]), and the stacks must differ significantly by this
//! criterion.

mod contrast;
mod cost;
pub mod limits;
mod store;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use contrast::{Contrast, Effect, Side};
pub use cost::{rules, rules_among};
pub use limits::Margins;
pub use store::{
    comparison_rows, comparisons_csv, comparisons_head, json, verdict_rows, verdicts_csv,
    verdicts_head,
};

use self::contrast::better_side;
use self::limits::{HARM_MOST, WASTE_MOST_PERCENT};
use super::{Better, Measure, Results};
use crate::significance::{Family, LEVEL, holm};
use crate::stats;

/// Measures that the verdict uses, if they were measured.
pub const JUDGED: [Measure; 10] = [
    Measure::Goodput,
    Measure::DelayMedian,
    Measure::DelayP95,
    Measure::RetransmissionShare,
    Measure::Timeouts,
    Measure::Fairness,
    Measure::HarmGoodput,
    Measure::HarmDelay,
    Measure::FramesInTime,
    Measure::StallTime,
];

/// Criterion that the reader prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Prefer {
    /// Goodput.
    Goodput,
    /// Low queueing delay: its 95th percentile.
    Delay,
    /// Little harm to a competing flow.
    Friendly,
}

impl Prefer {
    /// All criteria.
    pub const ALL: [Self; 3] = [Self::Goodput, Self::Delay, Self::Friendly];

    /// Returns the name that `--prefer` takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Delay => "delay",
            Self::Friendly => "friendly",
        }
    }

    /// Returns the measure behind the criterion.
    #[must_use]
    pub const fn measure(self) -> Measure {
        match self {
            Self::Goodput => Measure::Goodput,
            Self::Delay => Measure::DelayP95,
            Self::Friendly => Measure::HarmGoodput,
        }
    }
}

/// Presence of randomness in a stack's runs at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// The runs of different seeds differ.
    Had,
    /// There is one run.
    OneRun,
    /// Every seed gave the same run.
    SameRuns,
}

/// A stack at a point, with its measured values.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Name of the stack.
    pub name: String,
    /// Presence of randomness.
    pub chance: Chance,
    /// Seeds and values by measure, with ascending seeds.
    pub measured: Vec<(Measure, Vec<(u64, f64)>)>,
    /// Retransmissions that link losses do not explain, in percent of the segments sent.
    pub own_waste_percent: Option<f64>,
}

impl Contender {
    /// Returns the seeds and values of `measure`.
    #[must_use]
    pub fn samples(&self, measure: Measure) -> &[(u64, f64)] {
        let found = self.measured.iter().find(|(m, _)| *m == measure);
        found.map_or(&[], |(_, samples)| samples)
    }

    /// Returns the mean of `measure`.
    #[must_use]
    pub fn mean(&self, measure: Measure) -> Option<f64> {
        let values: Vec<f64> = self.samples(measure).iter().map(|(_, v)| *v).collect();
        stats::mean(&values)
    }

    fn of(results: &Results, point: usize, stack: usize) -> Self {
        let runs = results.runs_of(point, stack).iter();
        let runs: Vec<_> = runs.filter(|run| results.is_sound(run)).collect();
        let chance = match runs.as_slice() {
            [] | [_] => Chance::OneRun,
            [first, others @ ..] => {
                let hash = results.hash_of(first);
                let same = |run: &&super::Run| hash.is_some() && results.hash_of(run) == hash;
                match others.iter().all(same) {
                    true => Chance::SameRuns,
                    false => Chance::Had,
                }
            }
        };
        let flows = runs.first().map_or(0, |run| run.flow_goodputs.len());
        let judged = JUDGED.into_iter();
        // Fairness needs several flows.
        let judged = judged.filter(|m| *m != Measure::Fairness || flows > 1);
        let samples = |measure| {
            let values = runs.iter();
            let values = values.filter_map(|run| Some((run.seed, run.values.get(measure)?)));
            (measure, values.collect::<Vec<_>>())
        };
        let own_waste: Vec<f64> = runs.iter().filter_map(|run| own_waste(run)).collect();
        Self {
            name: results.stacks[stack].clone(),
            chance,
            measured: judged.map(samples).collect(),
            own_waste_percent: stats::mean(&own_waste),
        }
    }
}

/// Returns the retransmissions of a run that link losses do not explain, in percent of the segments sent.
fn own_waste(run: &super::Run) -> Option<f64> {
    let share = run.values.get(Measure::RetransmissionShare)?;
    let resent = run.values.get(Measure::Retransmissions)?;
    let lost = run.values.get(Measure::LinkLosses).unwrap_or(0.0);
    // share = retransmitted / sent.
    let lost_share = if resent > 0.0 {
        share * lost / resent
    } else {
        0.0
    };
    Some((share - lost_share).max(0.0))
}

/// Reason for a warning about a stack.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A competing flow loses this share of its goodput.
    Harm(f64),
    /// This percentage of the stack's segments are retransmissions that link losses do not explain.
    Waste(f64),
}

/// Rank of a stack at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// ★: undominated.
    Star,
    /// ☆: undominated, but there is no answer because more than half of the stacks are undominated.
    Open,
    /// !: excessive harm or waste.
    Warned,
    /// ≈: dominated, but not significantly different from the best by the preferred measure.
    Tied,
    /// Dominated, or without random runs.
    Plain,
}

impl Mark {
    /// Returns the sign in front of a stack's name.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Star => "★",
            Self::Open => "☆",
            Self::Warned => "!",
            Self::Tied => "≈",
            Self::Plain => " ",
        }
    }

    /// Returns the name in CSV and JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::Open => "open",
            Self::Warned => "warned",
            Self::Tied => "tied",
            Self::Plain => "plain",
        }
    }
}

/// A stack that is better than another by some measures and worse by none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeatenBy {
    /// Index of the better stack.
    pub stack: usize,
    /// Measures by which the stack is better.
    pub measures: Vec<Measure>,
}

/// Judgement on one stack.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Judgement {
    /// Rank of the stack.
    pub mark: Mark,
    /// Warnings about the stack.
    pub warnings: Vec<Warning>,
    /// Stacks that dominate the stack.
    pub beaten_by: Vec<BeatenBy>,
}

/// Conclusion of a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// These stacks have a ★, the preferred ones first.
    Stars(Vec<usize>),
    /// These stacks are undominated, but they are more than half of all stacks. The preferred ones come first.
    TooMany(Vec<usize>),
    /// These stacks are undominated, and do not differ significantly by the preferred criterion from the first of these
    /// stacks. They are more than half of all stacks.
    NotTold(Vec<usize>),
    /// No stack has random runs: every seed gave the same run.
    SameRuns,
    /// These stacks are undominated, but their runs are not random. If only the other stacks got a ★, they would be
    /// rewarded for random runs.
    SameRunsOf(Vec<usize>),
    /// Each stack has only one run, which shows no random variation.
    OneRun,
    /// There is only one stack.
    Alone,
    /// Every stack is dominated, or has excessive harm or waste.
    Nobody,
    /// No run can be trusted.
    Worthless,
    /// Too few runs of these stacks can be trusted ([`Results::too_few_at`]).
    TooFew(Vec<usize>),
}

impl Answer {
    /// Returns the name in CSV and JSON.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Stars(_) => "stars",
            Self::TooMany(_) => "too_many",
            Self::NotTold(_) => "not_told",
            Self::SameRuns => "same_runs",
            Self::SameRunsOf(_) => "same_runs_of",
            Self::OneRun => "one_run",
            Self::Alone => "alone",
            Self::Nobody => "nobody",
            Self::Worthless => "worthless",
            Self::TooFew(_) => "too_few_runs",
        }
    }
}

/// Verdict on all stacks at a point, by all measures.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Contest {
    /// The stacks with their measured values.
    pub contenders: Vec<Contender>,
    /// Comparisons of every pair of stacks by every measure.
    pub contrasts: Vec<Contrast>,
    /// Judgement on each stack.
    pub stacks: Vec<Judgement>,
    /// Conclusion.
    pub answer: Answer,
    /// Criterion that the reader prefers, if any.
    pub prefer: Option<Prefer>,
}

impl Contest {
    /// Computes the verdict on all stacks at `point`.
    #[must_use]
    pub fn of(results: &Results, point: usize) -> Self {
        let stacks = 0..results.stacks.len();
        let contenders: Vec<_> = stacks.map(|s| Contender::of(results, point, s)).collect();
        let margins = Margins::at(results, point);
        let verdict = Self::judged(contenders, &margins, results.prefer, &results.family);
        verdict.without(results.too_few_at(point))
    }

    /// Returns the uncorrected p-values of all comparisons at `point`.
    pub(super) fn plain_p(results: &Results, point: usize) -> Vec<f64> {
        let stacks = 0..results.stacks.len();
        let contenders: Vec<_> = stacks.map(|s| Contender::of(results, point, s)).collect();
        let margins = Margins::at(results, point);
        let contrasts = contrast::contrasts(&contenders, &margins, &Family::Point);
        contrasts.iter().filter_map(|contrast| contrast.p).collect()
    }

    /// Removes the answer and the marks if too few runs of the stacks in `few` can be trusted. The remaining runs may
    /// be a biased sample: the runs during which the machine was idle.
    fn without(mut self, few: Vec<usize>) -> Self {
        if few.is_empty() || self.answer == Answer::Worthless {
            return self;
        }
        self.answer = Answer::TooFew(few);
        for judgement in &mut self.stacks {
            judgement.mark = Mark::Plain;
            judgement.warnings.clear();
        }
        self
    }

    /// Computes the verdict on `contenders`.
    #[must_use]
    pub fn among(contenders: Vec<Contender>, margins: &Margins, prefer: Option<Prefer>) -> Self {
        Self::judged(contenders, margins, prefer, &Family::Point)
    }

    fn judged(
        contenders: Vec<Contender>,
        margins: &Margins,
        prefer: Option<Prefer>,
        family: &Family,
    ) -> Self {
        let contrasts = contrast::contrasts(&contenders, margins, family);
        let judged = |stack: usize| Judgement {
            mark: Mark::Plain,
            warnings: warnings(&contenders[stack]),
            beaten_by: beaten_by(stack, contenders.len(), &contrasts),
        };
        let mut verdict = Self {
            stacks: (0..contenders.len()).map(judged).collect(),
            contenders,
            contrasts,
            answer: Answer::Nobody,
            prefer,
        };
        verdict.answer = verdict.find_answer();
        verdict.set_marks();
        verdict
    }

    /// Returns the undominated stacks without excessive harm or waste, the preferred ones first.
    fn front(&self) -> Vec<usize> {
        let is_sound = |stack: usize| self.stacks[stack].warnings.is_empty();
        let stays = |stack: &usize| {
            let mut beaten_by = self.stacks[*stack].beaten_by.iter();
            is_sound(*stack)
                && !self.contenders[*stack].samples(Measure::Goodput).is_empty()
                && !beaten_by.any(|beaten| is_sound(beaten.stack))
        };
        let front: Vec<usize> = (0..self.stacks.len()).filter(stays).collect();
        self.ordered(front, self.prefer.unwrap_or(Prefer::Goodput))
    }

    /// Sorts `stacks` by the preferred measure, the best first.
    fn ordered(&self, mut stacks: Vec<usize>, prefer: Prefer) -> Vec<usize> {
        let measure = prefer.measure();
        let worth = |stack: &usize| {
            let mean = self.contenders[*stack].mean(measure);
            let mean = mean.unwrap_or(f64::NAN);
            match better_side(measure) {
                Better::Lower => -mean,
                Better::Higher | Better::Neither => mean,
            }
        };
        // Stacks without a value come last.
        stacks.sort_by(|a, b| match (worth(a), worth(b)) {
            (a, b) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
            (a, b) => b.total_cmp(&a),
        });
        stacks
    }

    /// Returns the first of the undominated stacks by `prefer`, or `None` if its measure does not apply.
    #[must_use]
    pub fn first_by(&self, prefer: Prefer) -> Option<usize> {
        let first = self.ordered(self.front(), prefer).into_iter().next()?;
        self.contenders[first].mean(prefer.measure())?;
        Some(first)
    }

    fn find_answer(&self) -> Answer {
        let with_runs = |c: &&Contender| !c.samples(Measure::Goodput).is_empty();
        let there: Vec<&Contender> = self.contenders.iter().filter(with_runs).collect();
        if there.is_empty() {
            return Answer::Worthless;
        }
        if self.contenders.len() == 1 {
            return Answer::Alone;
        }
        let all = |chance| there.iter().all(|c| c.chance == chance);
        if all(Chance::OneRun) {
            return Answer::OneRun;
        }
        if there.iter().all(|c| c.chance != Chance::Had) {
            return Answer::SameRuns;
        }
        let front = self.front();
        let left = |stack: &&usize| self.contenders[**stack].chance != Chance::Had;
        let without_chance: Vec<usize> = front.iter().filter(left).copied().collect();
        if !without_chance.is_empty() {
            return Answer::SameRunsOf(without_chance);
        }
        match front.len() {
            0 => Answer::Nobody,
            count if 2 * count <= there.len() => Answer::Stars(front),
            _ => match self.prefer {
                None => Answer::TooMany(front),
                // If the reader prefers a criterion, the answer consists of the stacks that do not differ significantly
                // from the first stack by this criterion.
                Some(prefer) => {
                    let left = self.as_good_as_first(&front, prefer);
                    match 2 * left.len() <= there.len() {
                        true => Answer::Stars(left),
                        false => Answer::NotTold(left),
                    }
                }
            },
        }
    }

    /// Returns the first stack of `front`, and the stacks that do not differ significantly from it by the preferred
    /// measure. Only these comparisons are corrected together, because no other comparisons are made.
    fn as_good_as_first(&self, front: &[usize], prefer: Prefer) -> Vec<usize> {
        let Some((&first, others)) = front.split_first() else {
            return Vec::new();
        };
        let beside_first = |other: &usize| self.contrast(first, *other, prefer.measure());
        let found: Vec<Option<&Contrast>> = others.iter().map(beside_first).collect();
        let p: Vec<f64> = found
            .iter()
            .map(|c| c.and_then(|c| c.p).unwrap_or(1.0))
            .collect();
        let behind = |(contrast, p): (&Option<&Contrast>, f64)| {
            p < LEVEL && contrast.is_some_and(|c| c.leans_to(first))
        };
        let behind = found.iter().zip(holm(&p)).map(behind);
        let left = others.iter().zip(behind).filter(|(_, behind)| !behind);
        std::iter::once(first)
            .chain(left.map(|(other, _)| *other))
            .collect()
    }

    /// Returns the comparison of two stacks, in either order, by one measure.
    fn contrast(&self, a: usize, b: usize, measure: Measure) -> Option<&Contrast> {
        let mut all = self.contrasts.iter();
        all.find(|c| c.measure == measure && c.is_of(a, b))
    }

    fn set_marks(&mut self) {
        let everybody = (0..self.stacks.len()).filter(|s| self.stacks[*s].warnings.is_empty());
        let everybody = self.ordered(everybody.collect(), self.prefer.unwrap_or(Prefer::Goodput));
        let best = everybody.first().copied();
        let marks: Vec<Mark> = (0..self.stacks.len())
            .map(|stack| match &self.answer {
                _ if !self.stacks[stack].warnings.is_empty() => Mark::Warned,
                Answer::Stars(stars) if stars.contains(&stack) => Mark::Star,
                Answer::TooMany(front) | Answer::NotTold(front) if front.contains(&stack) => {
                    Mark::Open
                }
                Answer::Stars(_) | Answer::TooMany(_) | Answer::NotTold(_)
                    if best.is_some_and(|best| self.is_tied(best, stack)) =>
                {
                    Mark::Tied
                }
                _ => Mark::Plain,
            })
            .collect();
        for (stack, mark) in self.stacks.iter_mut().zip(marks) {
            stack.mark = mark;
        }
    }

    /// Returns `true` if `stack` is `best`, or does not differ significantly from `best` by the preferred measure.
    /// Stacks without random runs never tie.
    fn is_tied(&self, best: usize, stack: usize) -> bool {
        if self.contenders[stack].chance != Chance::Had {
            return false;
        }
        let measure = self.prefer.unwrap_or(Prefer::Goodput).measure();
        let here = self.contrast(best, stack, measure);
        stack == best || here.is_some_and(|c| c.better == Side::Neither)
    }
}

fn warnings(contender: &Contender) -> Vec<Warning> {
    let harm = contender.mean(Measure::HarmGoodput);
    let harm = harm.filter(|harm| *harm > HARM_MOST).map(Warning::Harm);
    let waste = contender.own_waste_percent;
    let waste = waste.filter(|own| *own > WASTE_MOST_PERCENT);
    harm.into_iter().chain(waste.map(Warning::Waste)).collect()
}

/// Returns the stacks, out of `count`, that are better than `stack` by at least one measure, and not worse by any
/// single comparison without correction.
fn beaten_by(stack: usize, count: usize, contrasts: &[Contrast]) -> Vec<BeatenBy> {
    let by = |other: usize| {
        let here = || contrasts.iter().filter(|c| c.is_of(stack, other));
        let won = here().filter(|c| c.is_won_by(other));
        let measures: Vec<Measure> = won.map(|c| c.measure).collect();
        let beats = !measures.is_empty() && !here().any(|c| c.leans_to(stack));
        beats.then_some(BeatenBy {
            stack: other,
            measures,
        })
    };
    let others = (0..count).filter(|other| *other != stack);
    others.filter_map(by).collect()
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Harm(harm) => write!(f, "starves CUBIC: harm {harm:.2}"),
            Self::Waste(own) => write!(
                f,
                "{own:.1} % of its segments are retransmissions that link loss does not explain"
            ),
        }
    }
}
