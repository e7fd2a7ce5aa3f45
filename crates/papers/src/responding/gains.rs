//! Gains over TCP: goodput of all flows over that of the first stack in the same scenario with the
//! same seed.

use std::collections::HashMap;

use crate::evidence::Part;
use dupack_lab::results::Measure;
use dupack_lab::stats::Summary;

/// Where a run was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scenario {
    pub(super) hops: u32,
    /// In per cent.
    pub(super) loss: f64,
    /// Of the first group of flows; 1 if the file has none.
    pub(super) flows: u32,
    point: usize,
    seed: u64,
}

/// A run.
#[derive(Clone, Copy, Debug)]
struct Run {
    scenario: Scenario,
    /// Over the first stack's goodput; none if that is zero.
    gain: Option<f64>,
    /// Per cent of wireless and of congestion losses judged rightly.
    accuracy: (Option<f64>, Option<f64>),
}

/// The runs of an experiment by stack.
#[derive(Debug)]
pub(super) struct Gains {
    stacks: Vec<Vec<Run>>,
    /// How many points it has.
    pub(super) points: usize,
}

/// Any scenario.
pub(super) fn everywhere(_: &Scenario) -> bool {
    true
}

impl Gains {
    pub(super) fn of(part: &Part) -> Self {
        let results = &part.results;
        let goodput = |run: &dupack_lab::results::Run| run.values.get(Measure::TotalGoodput);
        let bases: HashMap<(usize, u64), f64> = results
            .runs
            .iter()
            .filter(|run| run.stack == 0)
            .filter_map(|run| Some(((run.point, run.seed), goodput(run)?)))
            .collect();
        let mut stacks = vec![Vec::new(); results.stacks.len()];
        for run in &results.runs {
            let experiment = &results.points[run.point].experiment;
            let radio = experiment.radio.as_ref();
            let base = bases.get(&(run.point, run.seed));
            let pair = goodput(run).zip(base.copied());
            stacks[run.stack].push(Run {
                scenario: Scenario {
                    hops: radio.map_or(0, |radio| radio.hops),
                    loss: radio.map_or(0.0, |radio| radio.loss.as_percent()),
                    flows: experiment.flows.first().map_or(1, |group| group.count),
                    point: run.point,
                    seed: run.seed,
                },
                gain: pair
                    .filter(|(_, base)| *base > 0.0)
                    .map(|(own, base)| own / base),
                accuracy: (
                    run.values.get(Measure::AccuracyWireless),
                    run.values.get(Measure::AccuracyCongestion),
                ),
            });
        }
        Self {
            stacks,
            points: results.points.len(),
        }
    }

    fn all(&self, stack: usize, place: impl Fn(&Scenario) -> bool) -> Vec<f64> {
        let runs = self.stacks.get(stack).into_iter().flatten();
        runs.filter(|run| place(&run.scenario))
            .filter_map(|run| run.gain)
            .collect()
    }

    /// Gains of a stack over the scenarios of `place`.
    pub(super) fn gain(&self, stack: usize, place: impl Fn(&Scenario) -> bool) -> Option<Summary> {
        Summary::of(&self.all(stack, place))
    }

    /// Mean gain at a point.
    pub(super) fn at(&self, stack: usize, point: usize) -> Option<f64> {
        Some(self.gain(stack, |s| s.point == point)?.mean)
    }

    /// The difference of the gains of two stacks, paired by scenario and seed.
    pub(super) fn difference(&self, stack: usize, other: usize) -> Option<Summary> {
        let others: HashMap<(usize, u64), f64> = self
            .stacks
            .get(other)?
            .iter()
            .filter_map(|run| Some(((run.scenario.point, run.scenario.seed), run.gain?)))
            .collect();
        let runs = self.stacks.get(stack)?.iter();
        let differences: Vec<f64> = runs
            .filter_map(|run| {
                let pair = others.get(&(run.scenario.point, run.scenario.seed))?;
                Some(run.gain? - pair)
            })
            .collect();
        Summary::of(&differences)
    }

    /// The best of `stacks` over the scenarios of `place` with its mean gain.
    pub(super) fn best(
        &self,
        stacks: impl IntoIterator<Item = usize>,
        place: impl Fn(&Scenario) -> bool,
    ) -> Option<(usize, Summary)> {
        stacks
            .into_iter()
            .filter_map(|stack| Some((stack, self.gain(stack, &place)?)))
            .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean).then(b.0.cmp(&a.0)))
    }

    /// Per cent of wireless losses judged rightly.
    pub(super) fn wireless(&self, stack: usize) -> Option<Summary> {
        let runs = self.stacks.get(stack)?.iter();
        Summary::of(&runs.filter_map(|run| run.accuracy.0).collect::<Vec<_>>())
    }

    /// Per cent of congestion losses judged rightly.
    pub(super) fn congestion(&self, stack: usize) -> Option<Summary> {
        let runs = self.stacks.get(stack)?.iter();
        Summary::of(&runs.filter_map(|run| run.accuracy.1).collect::<Vec<_>>())
    }

    /// Gains of a stack in this group and in another, together.
    pub(super) fn together(&self, other: &Self, stack: usize) -> Option<Summary> {
        let mut gains = self.all(stack, everywhere);
        gains.extend(other.all(stack, everywhere));
        Summary::of(&gains)
    }

    /// The mean gain in each scenario, over its seeds.
    pub(super) fn by_point(&self, stack: usize) -> Vec<f64> {
        (0..self.points)
            .filter_map(|point| self.at(stack, point))
            .collect()
    }
}

#[cfg(test)]
impl Gains {
    /// Gains by stack and point, one seed each.
    pub(super) fn fixture(stacks: &[&[f64]]) -> Self {
        let run = |(point, gain): (usize, &f64)| Run {
            scenario: Scenario {
                hops: 1 + point as u32,
                loss: 1.0,
                flows: 1,
                point,
                seed: 1,
            },
            gain: Some(*gain),
            accuracy: (None, None),
        };
        Self {
            stacks: stacks
                .iter()
                .map(|gains| gains.iter().enumerate().map(run).collect())
                .collect(),
            points: stacks[0].len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_pooled_and_paired() {
        let gains = Gains::fixture(&[&[1.0, 1.0], &[1.2, 2.0], &[1.1, 1.7]]);
        assert!((gains.gain(1, everywhere).unwrap().mean - 1.6).abs() < 1e-12);
        assert!((gains.gain(1, |s| s.hops == 2).unwrap().mean - 2.0).abs() < 1e-12);
        assert_eq!(gains.best([0, 1, 2], everywhere).unwrap().0, 1);
        let difference = gains.difference(1, 2).unwrap();
        assert!((difference.mean - 0.2).abs() < 1e-12);
        assert!((difference.min - 0.1).abs() < 1e-12 && (difference.max - 0.3).abs() < 1e-12);
    }

    #[test]
    fn of_equals_the_first_is_the_best() {
        let gains = Gains::fixture(&[&[1.0], &[1.0]]);
        assert_eq!(gains.best([0, 1], everywhere).unwrap().0, 0);
    }
}
