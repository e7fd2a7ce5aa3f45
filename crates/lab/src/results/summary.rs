//! What the runs of each stack say together, and which stack does best.

use super::{Better, Measure, Results};
use crate::stats::{GeometricRatio, Summary, geometric_ratio};

/// How a stack stands at a point, by a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The best mean. Nobody is the best where no run can be trusted.
    Best,
    /// Its mean is less good, but over the seeds it cannot be told from the best (the 95 %
    /// interval of the ratio paired by seed holds 1).
    Tied,
    /// Less good.
    Behind,
}

/// A stack at a point.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cell {
    /// Which stack.
    pub stack: usize,
    /// The measure over the seeds; `None` if it does not apply.
    pub summary: Option<Summary>,
    /// Ratio to the first stack, paired by seed: a geometric mean.
    pub ratio: Option<GeometricRatio>,
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
}

impl Comparison {
    /// Compares all stacks at `point` by `measure`.
    #[must_use]
    pub fn of(results: &Results, point: usize, measure: Measure) -> Self {
        let stacks = results.stacks.len();
        let mut cells: Vec<Cell> = (0..stacks)
            .map(|stack| {
                let (base, other) = paired(results, point, measure, 0, stack);
                let all: Vec<f64> = results
                    .samples(point, stack, measure)
                    .map(|(_, v)| v)
                    .collect();
                Cell {
                    stack,
                    summary: Summary::of(&all),
                    ratio: geometric_ratio(&base, &other),
                    standing: Standing::Behind,
                }
            })
            .collect();
        let best = best(&cells, measure).filter(|_| !results.is_worthless_at(point));
        if let Some(best) = best {
            for cell in &mut cells {
                cell.standing = if cell.stack == best {
                    Standing::Best
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
        }
    }

    /// The cell of the best stack, if the measure has a better side and applies.
    #[must_use]
    pub fn winner(&self) -> Option<&Cell> {
        self.cells.iter().find(|c| c.standing == Standing::Best)
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
    geometric_ratio(&base, &other)
        .and_then(|ratio| ratio.interval_95)
        .is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
}
