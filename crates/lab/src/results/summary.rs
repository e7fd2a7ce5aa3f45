//! Statistics of the runs of each stack, one measure at a time. [`verdict`](super::verdict) chooses between stacks.

use super::{Measure, Results};
use crate::stats::{Ratio, Summary, ratio};

/// A stack at a point.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cell {
    /// Index of the stack.
    pub stack: usize,
    /// Summary of the measure over the seeds. `None` if the measure does not apply.
    pub summary: Option<Summary>,
    /// Ratio to the first stack, paired by seed. The ratio has no interval if the runs of both stacks are the same for
    /// every seed.
    pub ratio: Option<Ratio>,
    /// Number of seeds that the stack and the first stack have in common. The ratio is computed over these seeds.
    pub pairs: usize,
}

/// All stacks at a point, by one measure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// Index of the point.
    pub point: usize,
    /// The measure.
    pub measure: Measure,
    /// One cell per stack.
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

/// Statistics of a stack at a point by one measure: a row of `summary.csv`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SummaryRow {
    /// Index of the point.
    pub point: usize,
    /// The measure.
    pub measure: Measure,
    /// Index of the stack.
    pub stack: usize,
    /// Summary of the measure over the seeds.
    pub summary: Summary,
    /// Ratio to the first stack, as in [`Cell::ratio`].
    pub ratio: Option<Ratio>,
    /// Number of seeds that the stack and the first stack have in common.
    pub pairs: usize,
}

impl SummaryRow {
    /// Returns the rows at `point`, ordered by measure and stack, for the measures that apply.
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

/// Returns the samples of two stacks at the seeds that both stacks have.
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
