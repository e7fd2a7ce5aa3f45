//! Results of an experiment: every run, and the statistics of the runs of each stack.

mod answered;
pub mod coordinate;
pub mod groups;
mod hashes;
pub mod measure;
pub mod medium;
pub mod recorded;
pub mod sheet;
pub mod store;
pub mod summary;
pub mod verdict;

pub use answered::Answered;
pub use coordinate::Coordinate;
pub use dupack_algorithms::catalog::Level;
pub use groups::{Group, GroupShare, Groups};
pub use measure::{Better, Measure, Values};
pub use medium::{Doubt, Medium, WireRecord};
pub use recorded::{Beginning, Carries, Recorded};
pub use summary::{Cell, Comparison, SummaryRow};
pub use verdict::{Contest, Prefer};

use std::cmp::Ordering;

use crate::experiment::points::Point;
use crate::experiment::{Experiment, SweepValue};
use crate::significance::Family;
use crate::stats::Summary;

/// One run: a stack at a point of the sweep with a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Index of the run's point.
    pub point: usize,
    /// Index of its stack in the experiment.
    pub stack: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Measured values.
    pub values: Values,
    /// Goodput of each flow in Mbit/s, in the order of the flows.
    pub flow_goodputs: Vec<f64>,
    /// Hash of the complete history of every packet. The same file and seed give the same hash. Zero for runs on real
    /// packets, which have no hash.
    pub trace_hash: u64,
}

/// An effective parameter, for `--explain` and for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Owner: an algorithm of a stack, the sender, the receiver, or the path.
    pub owner: String,
    /// Name of the parameter.
    pub name: String,
    /// Value of the parameter, with its unit.
    pub value: String,
    /// Source of the value: the file, the flags, or the source of the default.
    pub source: String,
    /// Level of the parameter. A value from the file or the flags is always basic.
    pub level: Level,
}

/// State of the harm measurement ([`Plan::measuring_harm`](crate::run::Plan::measuring_harm)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HarmRecord {
    /// Harm was not requested.
    #[default]
    NotAsked,
    /// Harm is not meaningful for this experiment.
    Senseless {
        /// Reason, for readers.
        why: String,
    },
    /// Harm is among the measures.
    Measured,
}

/// An experiment with all its results.
#[derive(Clone, Debug)]
pub struct Results {
    /// Medium of the runs.
    pub medium: Medium,
    /// The experiment.
    pub experiment: Experiment,
    /// Points of the sweep.
    pub points: Vec<Point>,
    /// The stacks in their canonical spelling.
    pub stacks: Vec<String>,
    /// Finished runs, sorted by point, stack and seed.
    pub runs: Vec<Run>,
    /// Number of planned runs.
    pub planned: usize,
    /// Warnings about options that defeat each other.
    pub warnings: Vec<String>,
    /// All effective parameters.
    pub parameters: Vec<Parameter>,
    /// The recorded traces that links follow, point by point.
    pub recorded: Vec<Recorded>,
    /// State of the harm measurement.
    pub harm: HarmRecord,
    /// Criterion that the reader prefers, if any. It determines the order of the stacks in a verdict.
    pub prefer: Option<Prefer>,
    /// Family of comparisons that are corrected together.
    pub family: Family,
}

impl Results {
    /// Corrects all comparisons of the sweep together. By default, the comparisons at each point are corrected
    /// together.
    pub fn correct_over_sweep(&mut self) {
        let points = 0..self.points.len();
        let p = points.flat_map(|point| Contest::plain_p(self, point));
        self.family = Family::of_sweep(p.collect());
    }

    /// Returns the runs at `point`, ordered by stack and seed.
    #[must_use]
    pub fn runs_at(&self, point: usize) -> &[Run] {
        within(&self.runs, |run| run.point.cmp(&point))
    }

    /// Returns the runs of `stack` at `point`, ordered by seed.
    #[must_use]
    pub fn runs_of(&self, point: usize, stack: usize) -> &[Run] {
        within(&self.runs, |run| {
            (run.point, run.stack).cmp(&(point, stack))
        })
    }

    /// Returns the seeds and values of `measure` for `stack` at `point`. Runs that cannot be trusted are left out.
    pub fn samples(
        &self,
        point: usize,
        stack: usize,
        measure: Measure,
    ) -> impl Iterator<Item = (u64, f64)> + '_ {
        let here = self.runs_of(point, stack).iter();
        let sound = here.filter(move |run| self.is_sound(run));
        sound.filter_map(move |run| Some((run.seed, run.values.get(measure)?)))
    }

    /// Returns `true` if `measure` applies to any run.
    #[must_use]
    pub fn has(&self, measure: Measure) -> bool {
        self.runs
            .iter()
            .any(|run| run.values.get(measure).is_some())
    }

    /// Summarises `measure` over the seeds of `stack` at `point`. Returns `None` if the measure does not apply. There
    /// is no interval if every seed gave the same run, because the number of runs then carries no information. Measures
    /// of harm are an exception: they come from separate runs, in which the start of the competing flow is random.
    #[must_use]
    pub fn summary(&self, point: usize, stack: usize, measure: Measure) -> Option<Summary> {
        let samples: Vec<f64> = self
            .samples(point, stack, measure)
            .map(|(_, v)| v)
            .collect();
        let mut summary = Summary::of(&samples)?;
        let same = || samples.iter().all(|sample| *sample == samples[0]);
        if self.is_without_chance(point, stack) && (!measure.is_of_harm() || same()) {
            summary.half_width_95 = None;
        }
        Some(summary)
    }

    /// Returns `true` if there are several seeds and the runs of `stack` at `point` are the same for all of them,
    /// according to the trace hashes.
    #[must_use]
    pub fn is_without_chance(&self, point: usize, stack: usize) -> bool {
        let [first, others @ ..] = self.runs_of(point, stack) else {
            return false;
        };
        let same = |run: &Run| run.trace_hash == first.trace_hash;
        self.medium == Medium::Simulated && !others.is_empty() && others.iter().all(same)
    }

    /// Returns `true` if the runs of some stack at some point are the same for all of several seeds.
    #[must_use]
    pub fn has_runs_without_chance(&self) -> bool {
        (0..self.points.len())
            .any(|point| (0..self.stacks.len()).any(|stack| self.is_without_chance(point, stack)))
    }

    /// Returns `true` if there are several TCP flows.
    #[must_use]
    pub fn has_several_flows(&self) -> bool {
        let first = self.runs.first();
        first.is_some_and(|run| run.flow_goodputs.len() > 1)
    }

    /// Returns the hash of a run, if the medium has hashes.
    #[must_use]
    pub fn hash_of(&self, run: &Run) -> Option<u64> {
        (self.medium == Medium::Simulated).then_some(run.trace_hash)
    }

    /// Returns the name of a stack at a point. If some of its runs cannot be trusted, the name is marked with the
    /// number of remaining runs.
    #[must_use]
    pub fn name_at(&self, point: usize, stack: usize) -> String {
        let name = &self.stacks[stack];
        match self.medium.doubts(point, stack).count() {
            0 => name.clone(),
            doubts => {
                let all = self.runs_of(point, stack).len();
                format!("{name} {}{}/{all}", medium::DOUBT, all - doubts.min(all))
            }
        }
    }

    /// Returns `true` if a run can be trusted.
    #[must_use]
    pub fn is_sound(&self, run: &Run) -> bool {
        let mut doubts = self.medium.doubts(run.point, run.stack);
        !doubts.any(|doubt| doubt.seed == run.seed)
    }

    /// Returns the stacks with too few trustworthy runs for an answer at `point`: fewer than
    /// [`SOUND_LEAST`](medium::SOUND_LEAST), or fewer than half. A stack without untrustworthy runs is never among
    /// them, even if it has few runs.
    #[must_use]
    pub fn too_few_at(&self, point: usize) -> Vec<usize> {
        let is_one = |stack: &usize| {
            let here = self.runs_of(point, *stack);
            let all = here.len();
            let sound = here.iter().filter(|run| self.is_sound(run)).count();
            sound < all && (sound < medium::SOUND_LEAST || 2 * sound < all)
        };
        (0..self.stacks.len()).filter(is_one).collect()
    }

    /// Returns the points without an answer because runs cannot be trusted.
    #[must_use]
    pub fn points_of_too_few(&self) -> Vec<usize> {
        let points = 0..self.points.len();
        let of_too_few = points.filter(|point| !self.too_few_at(*point).is_empty());
        of_too_few.collect()
    }

    /// Returns `true` if there are runs and none of them can be trusted.
    #[must_use]
    pub fn is_worthless(&self) -> bool {
        !self.runs.is_empty() && !self.runs.iter().any(|run| self.is_sound(run))
    }

    /// Returns the number of runs that are missing because the experiment was interrupted or because they failed.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.planned.saturating_sub(self.runs.len())
    }
}

/// Returns the runs for which `place` is `Equal`. `runs` is sorted.
fn within(runs: &[Run], place: impl Fn(&Run) -> Ordering) -> &[Run] {
    let start = runs.partition_point(|run| place(run).is_lt());
    let rest = &runs[start..];
    &rest[..rest.partition_point(|run| place(run).is_eq())]
}

/// Returns the number in a swept value and its unit: percent, ms, Mbit/s, kB or packets.
#[must_use]
pub fn scaled(value: &SweepValue) -> Option<(f64, &'static str)> {
    use crate::units::{Buffer, ByteCount, Delay, Probability, Rate};
    match value {
        SweepValue::Integer(number) => Some((*number as f64, "")),
        SweepValue::Real(number) => Some((*number, "")),
        SweepValue::Switch(_) => None,
        SweepValue::Text(text) => {
            if let Ok(p) = text.parse::<Probability>() {
                return Some((p.as_percent(), "%"));
            }
            if let Ok(rate) = text.parse::<Rate>() {
                return Some((rate.as_megabits_per_second(), "Mbit/s"));
            }
            if let Ok(delay) = text.parse::<Delay>() {
                return Some((delay.as_seconds() * 1e3, "ms"));
            }
            if let Ok(Buffer::Packets(packets)) = text.parse::<Buffer>() {
                return Some((f64::from(packets), "packets"));
            }
            let bytes = text.parse::<ByteCount>().ok()?;
            Some((bytes.as_bytes() as f64 / 1e3, "kB"))
        }
    }
}
