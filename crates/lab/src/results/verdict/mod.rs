//! The verdict at a point: which stacks nothing else beats, by several measures.
//!
//! A stack *beats* another if it is better by one of the [`JUDGED`] measures and worse by none. Better
//! is what can be told over the seeds, paired, with the p-values of all comparisons at the point
//! corrected together ([`crate::significance`]), and is more than a [`Margins`]. Worse is what one
//! comparison by itself tells: the correction asks for more to call a difference one, and must not make
//! it easier to be as good. A stack that nothing beats gets a ★, unless it harms or wastes too much
//! ([`limits`]), or chance had no part in its runs. Those that harm or waste too much beat nobody. Where
//! more than half would get a ★, there is no answer: the reader must say what counts ([`Prefer`]), and
//! the seeds must tell by that.

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

/// What is judged by, where it was measured.
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

/// What counts most to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Prefer {
    /// Goodput.
    Goodput,
    /// A short queue: the 95th percentile of its delay.
    Delay,
    /// Little harm to a standing flow.
    Friendly,
}

impl Prefer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Goodput, Self::Delay, Self::Friendly];

    /// Its name, as `--prefer` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Delay => "delay",
            Self::Friendly => "friendly",
        }
    }

    /// The measure that it goes by.
    #[must_use]
    pub const fn measure(self) -> Measure {
        match self {
            Self::Goodput => Measure::Goodput,
            Self::Delay => Measure::DelayP95,
            Self::Friendly => Measure::HarmGoodput,
        }
    }
}

/// Whether chance had a part in a stack's runs at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// Its runs differ.
    Had,
    /// There is one run.
    OneRun,
    /// Every seed gave the same run.
    SameRuns,
}

/// A stack at a point, with what was measured of it.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name.
    pub name: String,
    /// Whether chance had a part.
    pub chance: Chance,
    /// Seeds and values by measure, the seeds ascending.
    pub measured: Vec<(Measure, Vec<(u64, f64)>)>,
    /// The share of its segments that it resent beyond what the links lost, in percent.
    pub own_waste_percent: Option<f64>,
}

impl Contender {
    /// The seeds and values of `measure`.
    #[must_use]
    pub fn samples(&self, measure: Measure) -> &[(u64, f64)] {
        let found = self.measured.iter().find(|(m, _)| *m == measure);
        found.map_or(&[], |(_, samples)| samples)
    }

    /// The mean of `measure`.
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
        // Of one flow there is nothing to be fair among.
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

/// What a run resent beyond what links lost, in percent of the segments that it sent.
fn own_waste(run: &super::Run) -> Option<f64> {
    let share = run.values.get(Measure::RetransmissionShare)?;
    let resent = run.values.get(Measure::Retransmissions)?;
    let lost = run.values.get(Measure::LinkLosses).unwrap_or(0.0);
    // share = resent / sent.
    let lost_share = if resent > 0.0 {
        share * lost / resent
    } else {
        0.0
    };
    Some((share - lost_share).max(0.0))
}

/// Something that a stack does too much of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A standing flow loses this share of its goodput.
    Harm(f64),
    /// It resends this much beyond what the links lost, in percent of what it sends.
    Waste(f64),
}

/// How a stack stands at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// ★: nothing beats it.
    Star,
    /// ☆: nothing beats it, but that is so of more than half, and says nothing.
    Open,
    /// !: it harms or wastes too much.
    Warned,
    /// ≈: something beats it, but it cannot be told from the best by the preferred measure.
    Tied,
    /// Something beats it, or chance had no part in its runs.
    Plain,
}

impl Mark {
    /// What stands for it before a stack's name.
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

    /// Its name in CSV and JSON.
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

/// A stack that is better by some measures and worse by none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeatenBy {
    /// Which.
    pub stack: usize,
    /// By what it is better.
    pub measures: Vec<Measure>,
}

/// What is said of a stack.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Judgement {
    /// How it stands.
    pub mark: Mark,
    /// What it does too much of.
    pub warnings: Vec<Warning>,
    /// Who beats it.
    pub beaten_by: Vec<BeatenBy>,
}

/// What the verdict comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// These, the preferred ones first.
    Stars(Vec<usize>),
    /// Nothing beats these, but they are more than half. The preferred ones first.
    TooMany(Vec<usize>),
    /// Nothing beats these, and what is preferred does not tell them from the first of them; they are
    /// more than half.
    NotTold(Vec<usize>),
    /// Chance had no part in any run: each seed gave the same.
    SameRuns,
    /// Nothing beats some stacks, but of these chance had no part in the runs. A ★ for the others alone
    /// would be one for leaving something to chance.
    SameRunsOf(Vec<usize>),
    /// One run of each stack says nothing about chance.
    OneRun,
    /// There is one stack, and nothing to compare it with.
    Alone,
    /// Every stack is beaten, or harms or wastes too much.
    Nobody,
    /// No run can be trusted.
    Worthless,
    /// Too few runs of these can be trusted ([`Results::too_few_at`]).
    TooFew(Vec<usize>),
}

impl Answer {
    /// Its name in CSV and JSON.
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

/// All stacks at a point, by all measures.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// The stacks with what was measured.
    pub contenders: Vec<Contender>,
    /// Every two of them by every measure.
    pub contrasts: Vec<Contrast>,
    /// What is said of each.
    pub stacks: Vec<Judgement>,
    /// What it comes to.
    pub answer: Answer,
    /// What the reader prefers, if it was said.
    pub prefer: Option<Prefer>,
}

impl Verdict {
    /// The verdict on all stacks at `point`.
    #[must_use]
    pub fn of(results: &Results, point: usize) -> Self {
        let stacks = 0..results.stacks.len();
        let contenders: Vec<_> = stacks.map(|s| Contender::of(results, point, s)).collect();
        let margins = Margins::at(results, point);
        let verdict = Self::judged(contenders, &margins, results.prefer, &results.family);
        verdict.without(results.too_few_at(point))
    }

    /// The p-values of all comparisons at `point`, not corrected.
    pub(super) fn plain_p(results: &Results, point: usize) -> Vec<f64> {
        let stacks = 0..results.stacks.len();
        let contenders: Vec<_> = stacks.map(|s| Contender::of(results, point, s)).collect();
        let margins = Margins::at(results, point);
        let contrasts = contrast::contrasts(&contenders, &margins, &Family::Point);
        contrasts.iter().filter_map(|contrast| contrast.p).collect()
    }

    /// There is no answer if of `few` too few runs can be trusted, and no mark: what is left may be the
    /// runs that the machine happened to have time for.
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

    /// The verdict on `contenders`.
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

    /// The stacks that nothing beats, without those that harm or waste too much: the preferred ones
    /// first.
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

    /// `stacks` by what is preferred, the best first.
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
        // Those without a value come last.
        stacks.sort_by(|a, b| match (worth(a), worth(b)) {
            (a, b) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
            (a, b) => b.total_cmp(&a),
        });
        stacks
    }

    /// Which of the stacks that nothing beats comes first if `prefer` counts; nobody where its
    /// measure was not taken.
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
                // Who says what counts has the answer: those that are not told from the first by that.
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

    /// The first of `front` and those that cannot be told from it by what is preferred. Nothing else is
    /// asked then, so these comparisons alone are corrected for one another.
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

    /// Two stacks, in whichever order, by one measure.
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

    /// Whether `stack` is `best`, or cannot be told from it by what is preferred. One in whose runs chance
    /// had no part is never so.
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

/// Who of `count` stacks is better than `stack` by one measure, and by none what alone would be called worse.
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
                "wastes: {own:.1} % of what it sends it sends again for no loss of the link's"
            ),
        }
    }
}
