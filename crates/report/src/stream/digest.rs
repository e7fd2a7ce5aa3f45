//! Digest of a point whose runs are in files, and digest of all points.

use std::collections::BTreeMap;

use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::points::Point;
use dupack_lab::results::medium::NO_ANSWER_HERE;
use dupack_lab::results::verdict::{Answer, Mark};
use dupack_lab::results::{Answered, Measure, Results};
use dupack_lab::run::Plan;
use serde::{Deserialize, Serialize};

use super::thin::Thin;
use crate::answer;
use crate::comparison::{FIGURES, NUMBERS, number_rows};
use crate::figure::HeatCell;
use crate::page::Cell;
use crate::setting::subtitle_of;
use crate::shown::{Mean, Shown};

/// Digest of a point.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Digest {
    /// Mark of each stack, as its sign.
    marks: Vec<String>,
    /// Key of the answer in `verdicts.csv`.
    answer: String,
    /// First stack with a ★, if there is one.
    first: Option<usize>,
    seeds: usize,
    /// Minimum and maximum number of pairs behind the ratios to the first stack.
    pairs: Option<(usize, usize)>,
    /// `true` if several seeds gave the same run for at least one stack.
    same_runs: bool,
    several_flows: bool,
    /// Sentence about the required precision, if the point does not reach it.
    missed: Option<String>,
    /// Values of each stack in figures, if figures show the point.
    means: Option<Vec<Means>>,
    /// Rows of the point in tables, if tables show the point.
    rows: Option<Rows>,
}

/// Values of a stack in figures.
#[derive(Debug, Serialize, Deserialize)]
struct Means {
    of: BTreeMap<Measure, Mean>,
    ratio: Option<Times>,
}

/// A ratio of goodputs. JSON cannot represent infinite numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Times {
    mean: f64,
    /// Confidence interval: its lower end, and its upper end if this is finite.
    interval: Option<(f64, Option<f64>)>,
}

/// Rows of a point in tables.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Rows {
    pub(super) answer: Vec<Vec<Cell>>,
    pub(super) numbers: Vec<Vec<Cell>>,
}

impl Digest {
    /// Returns the digest of a point. The point has the index `at` in `results`, and the index `point` among all
    /// points.
    pub(super) fn of(
        results: &Answered<'_>,
        at: usize,
        (plan, thin): (&Plan, &Thin),
        point: usize,
    ) -> Self {
        let (verdict, compared) = (results.verdict(at), results.goodput(at));
        let others = compared.cells.iter().filter(|cell| cell.stack > 0);
        let pairs = others
            .filter(|cell| cell.ratio.is_some())
            .map(|cell| cell.pairs);
        let pairs: Vec<usize> = pairs.collect();
        let mut stacks = 0..results.stacks.len();
        let first_run = results.runs_at(at).first();
        Self {
            marks: { verdict.stacks.iter() }
                .map(|judgement| judgement.mark.sign().to_owned())
                .collect(),
            answer: verdict.answer.key().to_owned(),
            first: match &verdict.answer {
                Answer::Stars(stars) => stars.first().copied(),
                _ => None,
            },
            seeds: results.seeds_at(at).len(),
            pairs: pairs.iter().min().copied().zip(pairs.iter().max().copied()),
            same_runs: stacks.any(|stack| results.is_without_chance(at, stack)),
            several_flows: first_run.is_some_and(|run| run.flow_goodputs.len() > 1),
            missed: plan.missed(results, at),
            means: { thin.figures.binary_search(&point).ok() }.map(|_| Means::all(results, at)),
            rows: { thin.table.binary_search(&point).ok() }.map(|_| Rows {
                answer: answer::rows(results, at),
                numbers: number_rows(results, at, &NUMBERS),
            }),
        }
    }
}

impl Means {
    /// Returns the values of every stack at a point.
    fn all(results: &Answered<'_>, at: usize) -> Vec<Self> {
        let ratios = results.ratios(at).into_iter().enumerate();
        let means = ratios.map(|(stack, ratio)| Self {
            of: { FIGURES.into_iter() }
                .filter_map(|measure| Some((measure, results.mean(at, stack, measure)?)))
                .collect(),
            ratio: ratio.map(Times::of),
        });
        means.collect()
    }
}

impl Times {
    fn of(ratio: HeatCell) -> Self {
        let end = |high: f64| Some(high).filter(|high| high.is_finite());
        Self {
            mean: ratio.value,
            interval: ratio.interval.map(|(low, high)| (low, end(high))),
        }
    }

    fn cell(self) -> HeatCell {
        let high = |high: Option<f64>| high.unwrap_or(f64::INFINITY);
        HeatCell {
            value: self.mean,
            interval: self.interval.map(|(low, end)| (low, high(end))),
        }
    }
}

/// Digest of all points.
#[derive(Debug)]
pub(super) struct Digests<'b> {
    bare: &'b Results,
    experiment: Experiment,
    /// The points that figures show.
    points: Vec<Point>,
    means: Vec<Vec<Means>>,
    /// Rows of the points that tables show.
    pub(super) rows: Vec<Rows>,
    /// First stack with a ★ at each point, if there is one.
    pub(super) first: Vec<Option<usize>>,
    /// Number of points with each mark, for each stack.
    marks: Vec<BTreeMap<String, usize>>,
    /// Number of points with each answer.
    answers: BTreeMap<String, usize>,
    seeds: Option<(usize, usize)>,
    pairs: Option<(usize, usize)>,
    pub(super) same_runs: bool,
    pub(super) several_flows: bool,
    pub(super) missed: Vec<String>,
}

impl<'b> Digests<'b> {
    /// Returns an empty digest of the experiment of `bare`. Figures show the part `thin` of its points.
    pub(super) fn none_of(bare: &'b Results, thin: &Thin) -> Self {
        Self {
            bare,
            experiment: thin.experiment.clone(),
            points: { thin.figures.iter() }
                .map(|place| bare.points[*place].clone())
                .collect(),
            means: Vec::new(),
            rows: Vec::new(),
            first: Vec::new(),
            marks: vec![BTreeMap::new(); bare.stacks.len()],
            answers: BTreeMap::new(),
            seeds: None,
            pairs: None,
            same_runs: false,
            several_flows: false,
            missed: Vec::new(),
        }
    }

    /// Adds the digest of the next point.
    pub(super) fn take(&mut self, digest: Digest) {
        for (marks, sign) in self.marks.iter_mut().zip(digest.marks) {
            *marks.entry(sign).or_default() += 1;
        }
        *self.answers.entry(digest.answer).or_default() += 1;
        self.first.push(digest.first);
        self.seeds = both(self.seeds, Some((digest.seeds, digest.seeds)));
        self.pairs = both(self.pairs, digest.pairs);
        self.same_runs |= digest.same_runs;
        self.several_flows |= digest.several_flows;
        self.missed.extend(digest.missed);
        self.means.extend(digest.means);
        self.rows.extend(digest.rows);
    }

    /// Returns the number of points at which a stack has this mark.
    pub(super) fn count(&self, stack: usize, mark: Mark) -> usize {
        self.marks[stack].get(mark.sign()).copied().unwrap_or(0)
    }

    /// Returns the number of points without an answer, for each reason.
    pub(super) fn without_answer(&self) -> Vec<(usize, &'static str)> {
        let others = self.answers.iter().filter(|(key, _)| *key != "stars");
        others.map(|(key, count)| (*count, why(key))).collect()
    }

    /// Returns the minimum and the maximum number of seeds of a point. Empty if there are no points.
    pub(super) fn seed_counts(&self) -> Vec<usize> {
        self.seeds
            .map_or_else(Vec::new, |(least, most)| vec![least, most])
    }

    /// Returns the minimum and the maximum number of pairs behind a ratio. Empty if there are no ratios.
    pub(super) fn pair_counts(&self) -> Vec<usize> {
        self.pairs
            .map_or_else(Vec::new, |(least, most)| vec![least, most])
    }
}

/// Returns the reason why an answer is missing. `answer` is its key in `verdicts.csv`.
fn why(answer: &str) -> &'static str {
    match answer {
        "too_many" => {
            "more than half of the stacks are undominated: choose a criterion with --prefer"
        }
        "not_told" => {
            "more than half of the stacks do not differ significantly from the first by this criterion"
        }
        "same_runs" | "same_runs_of" => {
            "every seed gave the undominated stacks the same run, because nothing in it is random"
        }
        "one_run" => "one run per stack shows no random variation",
        "alone" => "there is no other stack to compare with",
        "nobody" => "every stack is dominated, or has excessive harm or waste",
        _ => NO_ANSWER_HERE,
    }
}

/// Returns the smallest range that contains both ranges.
fn both(one: Option<(usize, usize)>, other: Option<(usize, usize)>) -> Option<(usize, usize)> {
    match (one, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (one, other) => one.or(other),
    }
}

impl Shown for Digests<'_> {
    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn points(&self) -> &[Point] {
        &self.points
    }

    fn stacks(&self) -> &[String] {
        &self.bare.stacks
    }

    fn tells(&self, measure: Measure) -> bool {
        let mut all = self.means.iter().flatten();
        all.any(|means| means.of.contains_key(&measure))
            && (measure != Measure::Fairness || self.several_flows)
    }

    fn mean(&self, point: usize, stack: usize, measure: Measure) -> Option<Mean> {
        let means = self.means.get(point)?.get(stack)?;
        means.of.get(&measure).copied()
    }

    fn ratios(&self, point: usize) -> Vec<Option<HeatCell>> {
        let here = self.means.get(point).into_iter().flatten();
        here.map(|means| means.ratio.map(Times::cell)).collect()
    }

    fn subtitle(&self) -> String {
        subtitle_of(
            &self.bare.experiment,
            &self.bare.parameters,
            &self.bare.medium,
            &self.seed_counts(),
        )
    }
}
