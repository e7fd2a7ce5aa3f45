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
