//! What the runs of each stack say together, and which stack does best.

use super::medium::NO_ANSWER_HERE;
use super::{Better, Measure, Results};
use crate::stats::{Ratio, Summary, ratio};

/// How a stack stands at a point, by a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The best mean. Nobody is the best where [`NoBest`] says why.
    Best,
    /// Its mean is less good, but over the seeds it cannot be told from the best (the 95 %
    /// interval of the ratio paired by seed holds 1). Not where every seed gave it the same run.
    Tied,
    /// Less good.
    Behind,
}

/// Why nobody is the best at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoBest {
    /// No run can be trusted.
    Untrusted,
    /// Every seed gave the stack with the best mean the same run: a lead of one run may be an accident
    /// that no number of seeds shows.
    SameRun,
    /// The stack with the best mean has one run.
    OneRun,
}

impl NoBest {
    /// What stands in the place of the best stack.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Untrusted => NO_ANSWER_HERE,
            Self::SameRun => "no answer: every seed gave the same run",
            Self::OneRun => "no answer: one run shows no spread",
        }
    }
}

/// A stack at a point.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cell {
    /// Which stack.
    pub stack: usize,
    /// The measure over the seeds; `None` if it does not apply.
    pub summary: Option<Summary>,
    /// Ratio to the first stack, paired by seed. It has no interval where every seed gave both the
    /// same run.
    pub ratio: Option<Ratio>,
    /// Seeds that both it and the first stack have, over which the ratio is.
    pub pairs: usize,
    /// How it stands.
    pub standing: Standing,
}

/// All stacks at a point, by one measure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// Which point.
    pub point: usize,
    /// By which measure.
    pub measure: Measure,
    /// A cell per stack.
    pub cells: Vec<Cell>,
    /// Why nobody is the best, where there are runs.
    pub no_best: Option<NoBest>,
}

impl Comparison {
    /// Compares all stacks at `point` by `measure`.
    #[must_use]
    pub fn of(results: &Results, point: usize, measure: Measure) -> Self {
        let stacks = results.stacks.len();
        let mut cells: Vec<Cell> = (0..stacks)
            .map(|stack| {
                let (base, other) = paired(results, point, measure, 0, stack);
                let same = |stack| results.is_without_chance(point, stack);
                let mut ratio = ratio(&base, &other);
                if let Some(ratio) = ratio.as_mut().filter(|_| same(0) && same(stack)) {
                    ratio.interval_95 = None;
                }
                Cell {
                    stack,
                    summary: results.summary(point, stack, measure),
                    ratio,
                    pairs: base.len(),
                    standing: Standing::Behind,
                }
            })
            .collect();
        let best = best(&cells, measure);
        let no_best = match results.is_worthless_at(point) {
            true => Some(NoBest::Untrusted),
            false => best.and_then(|best| no_best(results, point, &cells[best])),
        };
        if let Some(best) = best.filter(|_| no_best.is_none()) {
            for cell in &mut cells {
                cell.standing = if cell.stack == best {
                    Standing::Best
                } else if results.is_without_chance(point, cell.stack) {
                    Standing::Behind
                } else if tied(results, point, measure, best, cell.stack) {
                    Standing::Tied
                } else {
                    Standing::Behind
                };
            }
        }
        Self {
            point,
            measure,
            cells,
            no_best,
        }
    }

    /// The cell of the best stack, if the measure has a better side and applies.
    #[must_use]
    pub fn winner(&self) -> Option<&Cell> {
        self.cells.iter().find(|c| c.standing == Standing::Best)
    }
}

/// Why the stack with the best mean is not called the best.
fn no_best(results: &Results, point: usize, best: &Cell) -> Option<NoBest> {
    if results.is_without_chance(point, best.stack) {
        Some(NoBest::SameRun)
    } else if best.summary.is_some_and(|summary| summary.n < 2) {
        Some(NoBest::OneRun)
    } else {
        None
    }
}

/// The samples of two stacks at the seeds that both have.
fn paired(
    results: &Results,
    point: usize,
    measure: Measure,
    one: usize,
    other: usize,
) -> (Vec<f64>, Vec<f64>) {
    let others: Vec<(u64, f64)> = results.samples(point, other, measure).collect();
    results
        .samples(point, one, measure)
        .filter_map(|(seed, value)| {
            let (_, pair) = others.iter().find(|(s, _)| *s == seed)?;
            Some((value, *pair))
        })
        .unzip()
}

fn best(cells: &[Cell], measure: Measure) -> Option<usize> {
    let means = cells
        .iter()
        .filter_map(|c| Some((c.stack, c.summary.as_ref()?.mean)));
    let by_mean = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
    match measure.better() {
        // Where nothing got across, nobody was best.
        Better::Higher => means
            .max_by(by_mean)
            .filter(|(_, mean)| *mean > 0.0)
            .map(|(stack, _)| stack),
        Better::Lower => means.min_by(by_mean).map(|(stack, _)| stack),
        Better::Neither => None,
    }
}

fn tied(results: &Results, point: usize, measure: Measure, best: usize, stack: usize) -> bool {
    let (base, other) = paired(results, point, measure, best, stack);
    if base == other && !base.is_empty() {
        return true;
    }
    ratio(&base, &other)
        .and_then(|ratio| ratio.interval_95)
        .is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
}
