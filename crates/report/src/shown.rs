//! View of a comparison for figures. The runs may be in memory or in files.

use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::points::Point;
use dupack_lab::results::{Answered, Measure};
use serde::{Deserialize, Serialize};

use crate::figure::HeatCell;
use crate::setting::subtitle;

/// Mean with its confidence interval, in the unit of the measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    /// Half the width of the 95 % confidence interval, if there is one.
    pub(crate) half_width_95: Option<f64>,
}

/// A comparison in the form that figures need.
pub(crate) trait Shown {
    /// Returns the experiment. Its sweep contains only the values that are shown.
    fn experiment(&self) -> &Experiment;

    /// Returns the points that are shown.
    fn points(&self) -> &[Point];

    fn stacks(&self) -> &[String];

    /// Returns `true` if `measure` is meaningful. For example, the fairness of a single flow and the completion time of
    /// endless flows are not meaningful.
    fn tells(&self, measure: Measure) -> bool;

    /// Returns the mean of `measure` over the seeds of `stack` at `point`.
    fn mean(&self, point: usize, stack: usize, measure: Measure) -> Option<Mean>;

    /// Returns the ratio of each stack's goodput to the first stack's goodput at `point`.
    fn ratios(&self, point: usize) -> Vec<Option<HeatCell>>;

    /// Returns the subtitle of figures, which describes the path.
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
