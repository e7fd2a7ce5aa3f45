//! What figures ask of a comparison, whether its runs are in memory or have gone to files.

use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::points::Point;
use dupack_lab::results::{Answered, Measure};
use serde::{Deserialize, Serialize};

use crate::figure::HeatCell;
use crate::setting::subtitle;

/// A mean with its interval, in the unit of the measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    /// Half the width of its 95 % confidence interval.
    pub(crate) half_width_95: Option<f64>,
}

/// A comparison as figures see it.
pub(crate) trait Shown {
    /// The experiment, with the values of its sweep that are shown.
    fn experiment(&self) -> &Experiment;

    /// The points that are shown.
    fn points(&self) -> &[Point];

    fn stacks(&self) -> &[String];

    /// Whether `measure` says something: fairness of a single flow, or the completion of endless ones, does not.
    fn tells(&self, measure: Measure) -> bool;

    /// `measure` over the seeds of `stack` at `point`.
    fn mean(&self, point: usize, stack: usize, measure: Measure) -> Option<Mean>;

    /// The ratio of each stack's goodput at `point` to that of the first.
    fn ratios(&self, point: usize) -> Vec<Option<HeatCell>>;

    /// What one must know of the path to read a figure.
    fn subtitle(&self) -> String;
}

impl Shown for Answered<'_> {
    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn points(&self) -> &[Point] {
        &self.points
    }

    fn stacks(&self) -> &[String] {
        &self.stacks
    }

    fn tells(&self, measure: Measure) -> bool {
        self.has(measure) && (measure != Measure::Fairness || self.has_several_flows())
    }

    fn mean(&self, point: usize, stack: usize, measure: Measure) -> Option<Mean> {
        let summary = self.summary(point, stack, measure)?;
        Some(Mean {
            mean: summary.mean,
            half_width_95: summary.half_width_95,
        })
    }

    fn ratios(&self, point: usize) -> Vec<Option<HeatCell>> {
        let ratios = self.goodput(point).cells.iter().map(|cell| {
            let ratio = cell.ratio.filter(|ratio| !ratio.reaches_zero);
            ratio.map(|ratio| HeatCell {
                value: ratio.mean,
                interval: ratio.interval_95,
            })
        });
        ratios.collect()
    }

    fn subtitle(&self) -> String {
        subtitle(self)
    }
}
