//! What came out of an experiment: every run, and what the runs of a stack say together.

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
pub use groups::{Group, GroupShare, Groups};
pub use measure::{Better, Measure, Values};
pub use medium::{Doubt, Medium, WireRecord};
pub use recorded::{Beginning, Carries, Recorded};
pub use summary::{Cell, Comparison, SummaryRow};
pub use verdict::{Prefer, Verdict};

use std::cmp::Ordering;

use crate::experiment::points::Point;
use crate::experiment::{Experiment, SweepValue};
use crate::significance::Family;
use crate::stats::Summary;

/// One run: a stack at a point of the sweep with a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Which point, by its place among the points.
    pub point: usize,
    /// Which stack, by its place in the experiment.
    pub stack: usize,
    /// Its seed.
    pub seed: u64,
    /// What was measured.
    pub values: Values,
    /// Each flow's goodput in Mbit/s, in the order of the flows.
    pub flow_goodputs: Vec<f64>,
    /// Hash over everything that happened to every packet: the same file and seed give the
    /// same hash. Zero on real packets, which have none.
    pub trace_hash: u64,
}

/// An effective parameter, for `--explain` and for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// What it belongs to: a stack's algorithm, the sender, the receiver, the path.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// Its value, with its unit.
    pub value: String,
    /// Where the value comes from: the file or the flags, or the default's source.
    pub source: String,
}

/// What is known of the harm that stacks do ([`crate::run::Harm`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HarmRecord {
    /// Nobody asked.
    #[default]
    NotAsked,
    /// It says nothing here.
    Senseless {
        /// Why, for people.
        why: String,
    },
    /// It is among the measures.
    Measured,
}

/// An experiment with everything that came out of it.
#[derive(Clone, Debug)]
pub struct Results {
    /// Over what the runs were made.
    pub medium: Medium,
    /// What was asked.
    pub experiment: Experiment,
    /// The points of its sweep.
    pub points: Vec<Point>,
    /// The stacks in their canonical spelling.
    pub stacks: Vec<String>,
    /// The runs that finished, sorted by point, stack and seed.
    pub runs: Vec<Run>,
    /// How many runs there should have been.
    pub planned: usize,
    /// Pairs that defeat each other, as `check` found them.
    pub warnings: Vec<String>,
    /// Every effective parameter.
    pub parameters: Vec<Parameter>,
    /// The recorded traces that links follow, point by point.
    pub recorded: Vec<Recorded>,
    /// What is known of harm.
    pub harm: HarmRecord,
    /// What counts most to the reader, if it was said: it orders the verdicts.
    pub prefer: Option<Prefer>,
    /// Which comparisons are corrected for one another.
    pub family: Family,
}

impl Results {
    /// Corrects the comparisons of the whole sweep for one another, instead of those at each point.
    pub fn correct_over_sweep(&mut self) {
        let points = 0..self.points.len();
        let p = points.flat_map(|point| Verdict::plain_p(self, point));
        self.family = Family::of_sweep(p.collect());
    }

    /// The runs at `point`, by stack and seed.
    #[must_use]
    pub fn runs_at(&self, point: usize) -> &[Run] {
        within(&self.runs, |run| run.point.cmp(&point))
    }

    /// The runs of `stack` at `point`, by seed.
    #[must_use]
    pub fn runs_of(&self, point: usize, stack: usize) -> &[Run] {
        within(&self.runs, |run| {
            (run.point, run.stack).cmp(&(point, stack))
        })
    }

    /// The values of `measure` over the seeds of `stack` at `point`, with their seeds. Runs that
    /// cannot be trusted are left out.
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

    /// Whether `measure` applies to any run.
    #[must_use]
    pub fn has(&self, measure: Measure) -> bool {
        self.runs
            .iter()
            .any(|run| run.values.get(measure).is_some())
    }

    /// `measure` over the seeds of `stack` at `point`; none if it does not apply. There is no interval
    /// where every seed gave the same run: their number says nothing. Harm has runs of its own, in which the
    /// standing flow starts by chance.
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

    /// Whether all of several seeds gave `stack` the same run at `point`, as the hash of everything
    /// that happened shows.
    #[must_use]
    pub fn is_without_chance(&self, point: usize, stack: usize) -> bool {
        let [first, others @ ..] = self.runs_of(point, stack) else {
            return false;
        };
        let same = |run: &Run| run.trace_hash == first.trace_hash;
        self.medium == Medium::Simulated && !others.is_empty() && others.iter().all(same)
    }

    /// Whether all of several seeds gave a stack at a point the same run.
    #[must_use]
    pub fn has_runs_without_chance(&self) -> bool {
        (0..self.points.len())
            .any(|point| (0..self.stacks.len()).any(|stack| self.is_without_chance(point, stack)))
    }

    /// Whether there are several TCP flows.
    #[must_use]
    pub fn has_several_flows(&self) -> bool {
        let first = self.runs.first();
        first.is_some_and(|run| run.flow_goodputs.len() > 1)
    }

    /// A run's hash, if its medium has one.
    #[must_use]
    pub fn hash_of(&self, run: &Run) -> Option<u64> {
        (self.medium == Medium::Simulated).then_some(run.trace_hash)
    }

    /// A stack's name at a point: marked, with how many of its runs are left, if some of them
    /// cannot be trusted.
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

    /// Whether a run can be trusted.
    #[must_use]
    pub fn is_sound(&self, run: &Run) -> bool {
        let mut doubts = self.medium.doubts(run.point, run.stack);
        !doubts.any(|doubt| doubt.seed == run.seed)
    }

    /// The stacks of which so many runs at `point` cannot be trusted that there is no answer: fewer than
    /// [`SOUND_LEAST`](medium::SOUND_LEAST) are left, or fewer than half. A stack of which all can be
    /// trusted is none of these, however few they are.
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

    /// The points that have no answer because runs cannot be trusted.
    #[must_use]
    pub fn points_of_too_few(&self) -> Vec<usize> {
        let points = 0..self.points.len();
        let of_too_few = points.filter(|point| !self.too_few_at(*point).is_empty());
        of_too_few.collect()
    }

    /// Whether there are runs and none of them can be trusted.
    #[must_use]
    pub fn is_worthless(&self) -> bool {
        !self.runs.is_empty() && !self.runs.iter().any(|run| self.is_sound(run))
    }

    /// Runs that are missing because the experiment was interrupted, or because they failed.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.planned.saturating_sub(self.runs.len())
    }
}

/// Those of `runs`, which are sorted, that `place` says are equal.
fn within(runs: &[Run], place: impl Fn(&Run) -> Ordering) -> &[Run] {
    let start = runs.partition_point(|run| place(run).is_lt());
    let rest = &runs[start..];
    &rest[..rest.partition_point(|run| place(run).is_eq())]
}

/// The number in a swept value and the unit it is in: percent, ms, Mbit/s, kB, packets.
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
