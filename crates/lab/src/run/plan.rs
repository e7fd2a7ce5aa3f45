//! Plans: checked experiments with their points, stacks and runs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_net::link::DeliveryTrace;
use dupack_net::link::WaitRecording;
use dupack_tcp::sender::WindowLog;
use dupack_tcp::time::Duration;
use serde::{Deserialize, Serialize};

use super::build::{Scenario, carries, recordings};
use super::fingerprint::{Fingerprint, Identities};
use super::harm::Harm;
use super::interrupt::Purpose;
use super::precision::Precision;
use super::{check, explain, size};
use crate::experiment::Experiment;
use crate::experiment::load::{Disk, ExperimentError, ReadFile, Source};
use crate::experiment::points::{Point, points};
use crate::results::measure::STANDING;
use crate::results::{HarmRecord, Medium, Parameter, Prefer, Recorded, Results};
use crate::significance::Family;

/// An experiment that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    experiment: Experiment,
    points: Vec<Point>,
    stacks: Vec<StackSpec>,
    seeds: Vec<u64>,
    /// Stacks of the groups of flows at each point. Points with the same stacks share them.
    groups: Vec<GroupStacks>,
    traces: Arc<BTreeMap<PathBuf, DeliveryTrace>>,
    identities: Identities,
    warnings: Vec<String>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) precision: Option<Precision>,
    /// The runs that measure harm, if this was requested and is meaningful.
    pub(super) harm: Option<Harm>,
    pub(super) harm_record: HarmRecord,
    prefer: Option<Prefer>,
}

/// Stack of each group of flows, or `None` for the compared stack.
type GroupStacks = Arc<[Option<StackSpec>]>;

/// Position of a run in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Job {
    /// Index of the point.
    pub point: usize,
    /// Index of the stack.
    pub stack: usize,
    /// The seed.
    pub seed: u64,
}

/// Returns the distinct `times`, in ascending order.
pub(super) fn distinct(times: &[Duration]) -> Vec<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.dedup();
    times
}

impl Plan {
    /// Checks `experiment` and creates its plan. `source` is the text of the experiment, and `catalog` contains its
    /// stacks. The files that it names are read from disk.
    ///
    /// # Errors
    /// If the experiment is invalid. The error points at a position in the text.
    pub fn new(
        experiment: Experiment,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        Self::with_files(experiment, source, catalog, &Disk)
    }

    /// Works like [`new`](Self::new), but reads the files that the experiment names from `files`.
    ///
    /// # Errors
    /// If the experiment is invalid. The error points at a position in the text.
    pub fn with_files(
        experiment: Experiment,
        source: &Source,
        catalog: &Catalog,
        files: &dyn ReadFile,
    ) -> Result<Self, ExperimentError> {
        size::plan(&experiment, source)?;
        let points = points(&experiment, source)?;
        let stacks = check::stacks(&experiment, source, catalog)?;
        let seeds = check::seeds(&experiment, source)?;
        let precision = Precision::of(&experiment, source)?;
        let traces = Arc::new(traces(&points, source, files)?);
        let mut plan = Self {
            identities: Identities::new(points.len().saturating_mul(stacks.len())),
            groups: Vec::with_capacity(points.len()),
            traces,
            warnings: Vec::new(),
            parameters: Vec::new(),
            experiment,
            points,
            stacks,
            seeds,
            precision,
            harm: None,
            harm_record: HarmRecord::NotAsked,
            prefer: None,
        };
        for point in 0..plan.points.len() {
            plan.check_point(point, source, catalog)?;
        }
        Ok(plan)
    }

    /// Builds every stack at `point` once to check that its scenario can be built later. The simulations are dropped,
    /// because a sweep may have a million points.
    fn check_point(
        &mut self,
        point: usize,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<(), ExperimentError> {
        check::point(&self.points[point], source)?;
        let groups = check::group_stacks(&self.points[point].experiment, source, catalog)?;
        let groups = match self.groups.last() {
            Some(last) if **last == *groups => Arc::clone(last),
            _ => groups.into(),
        };
        self.groups.push(groups);
        let mut round_trips = Vec::new();
        for job in self.jobs_of(point, self.seeds[0]) {
            let scenario = self.scenario(job);
            let built = scenario
                .build(job.seed)
                .map_err(|fault| ExperimentError::at(source, &fault.key, fault.message, None))?;
            if job.stack == 0 {
                round_trips = distinct(&built.round_trips);
            }
            for warning in check::warnings(&scenario, &built) {
                if !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
            }
        }
        if point == 0 {
            let first = self.jobs_of(point, self.seeds[0]);
            let first: Vec<Scenario> = first.map(|job| self.scenario(job)).collect();
            self.parameters = explain::parameters(&self.experiment, &first, &round_trips);
        }
        Ok(())
    }

    /// Returns the compared runs, without the runs that `precision` may add. All stacks of a seed at a point are
    /// adjacent, so that early results can be compared.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        self.jobs_at(0..self.points.len())
    }

    /// Returns the first run at `point`: the first stack with the first seed.
    #[must_use]
    pub fn first_job(&self, point: usize) -> Job {
        Job {
            point,
            stack: 0,
            seed: self.seeds[0],
        }
    }

    /// Returns the compared runs at `points`.
    #[must_use]
    pub fn jobs_at(&self, points: Range<usize>) -> Vec<Job> {
        let all = self.seeds.iter().flat_map(|&seed| {
            let points = points.clone();
            points.flat_map(move |point| self.jobs_of(point, seed))
        });
        all.collect()
    }

    /// Returns a run of every stack at `point` with `seed`.
    pub fn jobs_of(&self, point: usize, seed: u64) -> impl Iterator<Item = Job> + use<> {
        (0..self.stacks.len()).map(move |stack| Job { point, stack, seed })
    }

    /// Returns the scenario of the compared run `job`.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn scenario(&self, job: Job) -> Scenario {
        let experiment = Arc::clone(&self.points[job.point].experiment);
        let stack = self.stacks[job.stack].clone();
        Scenario {
            group_stacks: check::for_groups(&experiment, &self.groups[job.point], &stack),
            experiment,
            stack,
            traces: Arc::clone(&self.traces),
            log: WindowLog::Off,
            waits: WaitRecording::Data,
        }
    }

    /// Returns the scenario of the run of `job` for `purpose`.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn scenario_for(&self, job: Job, purpose: Purpose) -> Scenario {
        match (purpose, &self.harm) {
            (Purpose::Harm, Some(harm)) => harm.scenario(self, job),
            _ => self.scenario(job),
        }
    }

    /// Returns `true` if the plan has a run of `job` for `purpose`. The seed is not checked.
    #[must_use]
    pub fn has(&self, job: Job, purpose: Purpose) -> bool {
        let stacks = match purpose {
            Purpose::Harm => self.harm.as_ref().map_or(0, Harm::companions),
            Purpose::Comparison | Purpose::Show => self.stacks.len(),
        };
        job.point < self.points.len() && job.stack < stacks
    }

    /// Estimates the number of packets of the run of `job` for `purpose`.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn likely_packets(&self, job: Job, purpose: Purpose) -> u64 {
        self.scenario_for(job, purpose).likely_packets()
    }

    /// Returns the fingerprint of the run of `job` for `purpose`.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn fingerprint_for(&self, job: Job, purpose: Purpose) -> Fingerprint {
        match (purpose, &self.harm) {
            (Purpose::Harm, Some(harm)) => harm.fingerprint(self, job),
            _ => self.fingerprint(job),
        }
    }

    /// Returns the fingerprint of the compared run `job`.
    ///
    /// # Panics
    /// If the plan has no such run.
    #[must_use]
    pub fn fingerprint(&self, job: Job) -> Fingerprint {
        let place = job.point * self.stacks.len() + job.stack;
        self.identities
            .fingerprint(place, job.seed, || self.scenario(job))
    }

    /// Returns a description of the stack of a run. For a run that measures harm, the description contains the
    /// competing flow and its companion.
    #[must_use]
    pub fn stack_words(&self, job: Job, purpose: Purpose) -> String {
        match (purpose, &self.harm) {
            (Purpose::Harm, Some(harm)) => format!("{STANDING} beside {}", harm.companion(job)),
            _ => self.stacks[job.stack].to_string(),
        }
    }

    /// Returns a description of a run: its point if there are several, its stack, and its seed.
    #[must_use]
    pub fn words(&self, job: Job, purpose: Purpose) -> String {
        let words = [
            self.label(job.point),
            self.stack_words(job, purpose),
            format!("seed {}", job.seed),
        ];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(", ")
    }

    /// Returns the experiment.
    #[must_use]
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Returns the stacks under comparison, in their canonical spelling.
    #[must_use]
    pub fn stack_names(&self) -> Vec<String> {
        self.stacks.iter().map(ToString::to_string).collect()
    }

    /// Returns the state of the harm measurement, with the reason if harm is not measured.
    #[must_use]
    pub const fn harm_record(&self) -> &HarmRecord {
        &self.harm_record
    }

    /// Returns the criterion that the reader prefers, if any.
    #[must_use]
    pub const fn prefer(&self) -> Option<Prefer> {
        self.prefer
    }

    /// Iterates over the stacks of all runs, including the runs that measure harm. A stack may appear several times.
    pub fn all_stacks(&self) -> impl Iterator<Item = &StackSpec> {
        let mut last: Option<&GroupStacks> = None;
        let distinct = self.groups.iter().filter(move |groups| {
            let same = last.is_some_and(|last| Arc::ptr_eq(last, groups));
            last = Some(groups);
            !same
        });
        let others = distinct.flat_map(|groups| groups.iter().flatten());
        let companions = self.harm.iter().flat_map(Harm::stacks);
        self.stacks.iter().chain(others).chain(companions)
    }

    /// Returns the stacks under comparison.
    #[must_use]
    pub fn stacks(&self) -> &[StackSpec] {
        &self.stacks
    }

    /// Returns the seeds in their order.
    #[must_use]
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// Returns the points.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns a description of a point.
    #[must_use]
    pub fn label(&self, point: usize) -> String {
        self.points[point].label()
    }

    /// Returns all effective parameters with their sources, for the stacks of the first point.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the warnings about options that defeat each other.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns results without runs.
    #[must_use]
    pub fn empty_results(&self) -> Results {
        self.empty_results_at(0..self.points.len())
    }

    /// Returns results of `points` without runs. The first of `points` becomes point 0 of the results.
    #[must_use]
    pub fn empty_results_at(&self, points: Range<usize>) -> Results {
        Results {
            medium: Medium::Simulated,
            experiment: self.experiment.clone(),
            points: self.points[points.clone()].to_vec(),
            stacks: self.stack_names(),
            runs: Vec::new(),
            planned: { points.len() }
                .saturating_mul(self.stacks.len())
                .saturating_mul(self.seeds.len()),
            warnings: self.warnings.clone(),
            parameters: self.parameters.clone(),
            recorded: self.recorded(points),
            harm: self.harm_record.clone(),
            prefer: self.prefer,
            family: Family::default(),
        }
    }

    /// Returns the plan with the criterion that the reader prefers. The results of the plan contain the criterion.
    #[must_use]
    pub const fn preferring(mut self, prefer: Option<Prefer>) -> Self {
        self.prefer = prefer;
        self
    }

    /// Returns the recorded traces of `points`. The first of `points` becomes point 0.
    #[must_use]
    pub fn recorded(&self, points: Range<usize>) -> Vec<Recorded> {
        let first = points.start;
        let places = points.flat_map(|point| {
            let scenario = self.scenario(self.first_job(point));
            let e = &*self.points[point].experiment;
            recordings(e).into_iter().filter_map(move |(key, file)| {
                let trace = self.traces.get(file)?;
                let carries = carries(e, &key);
                Some(Recorded::new(
                    point - first,
                    (key, file.to_owned()),
                    trace.period_ms(),
                    e.duration.as_nanos() / 1_000_000,
                    (scenario.beginning(), carries),
                ))
            })
        });
        places.collect()
    }
}

/// Help for a file that is not a trace.
const TRACE_FORMAT: &str = "a trace has one line per 1500-byte delivery opportunity, in milliseconds, in ascending \
     order";

/// Reads all traces of a point.
pub(super) fn traces(
    points: &[Point],
    source: &Source,
    files: &dyn ReadFile,
) -> Result<BTreeMap<PathBuf, DeliveryTrace>, ExperimentError> {
    let mut traces = BTreeMap::new();
    for point in points {
        for (key, name) in recordings(&point.experiment) {
            if traces.contains_key(name) {
                continue;
            }
            let fail = |message: String, help: &str| {
                ExperimentError::at(source, &key, message, Some(help.to_owned()))
            };
            let file = source.folder.join(name);
            let text = files.read(&file).map_err(|x| {
                let help = match x.kind() {
                    ErrorKind::InvalidData => TRACE_FORMAT,
                    _ => "the path is relative to the folder of the experiment file",
                };
                fail(
                    format!("cannot read the trace {}: {x}", file.display()),
                    help,
                )
            })?;
            let trace = DeliveryTrace::parse(&text)
                .map_err(|x| fail(format!("{}: {x}", file.display()), TRACE_FORMAT))?;
            traces.insert(name.to_owned(), trace);
        }
    }
    Ok(traces)
}
