//! What the runs of each stack say together, one measure at a time. Which stack to take is for
//! [`verdict`](super::verdict) to say.

use super::{Measure, Results};
use crate::stats::{Ratio, Summary, ratio};

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
        let cells: Vec<Cell> = (0..stacks)
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
                }
            })
            .collect();
        Self {
            point,
            measure,
            cells,
        }
    }
}

/// What the runs of a stack at a point say together by a measure: a row of `summary.csv`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SummaryRow {
    /// Which point.
    pub point: usize,
    /// By which measure.
    pub measure: Measure,
    /// Which stack.
    pub stack: usize,
    /// The measure over the seeds.
    pub summary: Summary,
    /// Ratio to the first stack, as [`Cell::ratio`].
    pub ratio: Option<Ratio>,
    /// Seeds that both it and the first stack have.
    pub pairs: usize,
}

impl SummaryRow {
    /// Those of `point`: by measure and stack, for what was measured.
    #[must_use]
    pub fn of(results: &Results, point: usize) -> Vec<Self> {
        let cells = Measure::ALL.into_iter().flat_map(|measure| {
            let cells = Comparison::of(results, point, measure).cells;
            cells.into_iter().map(move |cell| (measure, cell))
        });
        let row = |(measure, cell): (Measure, Cell)| {
            Some(Self {
                point,
                measure,
                stack: cell.stack,
                summary: cell.summary?,
                ratio: cell.ratio,
                pairs: cell.pairs,
            })
        };
        cells.filter_map(row).collect()
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
            let place = others.binary_search_by_key(&seed, |(s, _)| *s).ok()?;
            Some((value, others[place].1))
        })
        .unzip()
}
