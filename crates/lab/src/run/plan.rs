//! An experiment that has been checked: its points, its stacks, and the runs to do.

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
use super::precision::Precision;
use super::{check, explain, size};
use crate::experiment::Experiment;
use crate::experiment::load::{Disk, ExperimentError, ReadFile, Source};
use crate::experiment::points::{Point, points};
use crate::results::{HarmRecord, Medium, Parameter, Prefer, Recorded, Results};
use crate::significance::Family;

/// An experiment that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    experiment: Experiment,
    points: Vec<Point>,
    stacks: Vec<StackSpec>,
    seeds: Vec<u64>,
    /// A scenario per point and stack, stacks varying fastest.
    scenarios: Vec<Scenario>,
    identities: Identities,
    warnings: Vec<String>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) precision: Option<Precision>,
    /// What measures harm, if it is asked for and makes sense.
    pub(super) harm: Option<Harm>,
    pub(super) harm_record: HarmRecord,
    prefer: Option<Prefer>,
}

/// One run to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Job {
    /// The point.
    pub point: usize,
    /// The stack.
    pub stack: usize,
    /// The seed.
    pub seed: u64,
}

/// Each of `times` once, in order.
pub(super) fn distinct(times: &[Duration]) -> Vec<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.dedup();
    times
}

impl Plan {
    /// Checks `experiment`, whose text is `source` and whose stacks are of `catalog`, and makes a
    /// plan of it. The files that it names are read from disk.
    ///
    /// # Errors
    /// If anything in it is impossible: the error points at the place in the text.
    pub fn new(
        experiment: Experiment,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        Self::with_files(experiment, source, catalog, &Disk)
    }

    /// As [`new`](Self::new), with `files` for the files that it names.
    ///
    /// # Errors
    /// If anything in it is impossible: the error points at the place in the text.
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
        let mut scenarios = Vec::new();
        let mut warnings = Vec::new();
        let mut round_trips = Vec::new();
        for point in &points {
            check::point(point, source)?;
            let groups = check::group_stacks(&point.experiment, source, catalog)?;
            for stack in &stacks {
                let scenario = Scenario {
                    experiment: point.experiment.clone(),
                    stack: stack.clone(),
                    group_stacks: check::for_groups(&point.experiment, &groups, stack),
                    traces: traces.clone(),
                    log: WindowLog::Off,
                    waits: WaitRecording::Data,
                };
                let built = scenario.build(seeds[0]).map_err(|fault| {
                    ExperimentError::at(source, &fault.key, fault.message, None)
                })?;
                if scenarios.is_empty() {
                    round_trips = distinct(&built.round_trips);
                }
                for warning in check::warnings(&scenario, &built) {
                    if !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
                scenarios.push(scenario);
            }
        }
        let first = &scenarios[..stacks.len()];
        let parameters = explain::parameters(&experiment, first, &round_trips);
        Ok(Self {
            experiment,
            points,
            stacks,
            seeds,
            identities: Identities::new(scenarios.len()),
            scenarios,
            warnings,
            parameters,
            precision,
            harm: None,
            harm_record: HarmRecord::NotAsked,
            prefer: None,
        })
    }

    /// The runs to do, without those that `precision` may add: all stacks of a seed at a point
    /// together, so that what is finished early can be compared.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        self.jobs_at(0..self.points.len())
    }

    /// The first of the runs at `point`: the first stack with the first seed.
    #[must_use]
    pub fn first_job(&self, point: usize) -> Job {
        Job {
            point,
            stack: 0,
            seed: self.seeds[0],
        }
    }

    /// Those of [`jobs`](Self::jobs) at `points`.
    pub(super) fn jobs_at(&self, points: Range<usize>) -> Vec<Job> {
        let all = self.seeds.iter().flat_map(|&seed| {
            let points = points.clone();
            points.flat_map(move |point| self.jobs_of(point, seed))
        });
        all.collect()
    }

    /// A run of every stack at `point` with `seed`.
    pub(super) fn jobs_of(&self, point: usize, seed: u64) -> impl Iterator<Item = Job> + use<> {
        (0..self.stacks.len()).map(move |stack| Job { point, stack, seed })
    }

    /// What a run of `job` consists of.
    #[must_use]
    pub fn scenario(&self, job: Job) -> &Scenario {
        &self.scenarios[self.place(job)]
    }

    const fn place(&self, job: Job) -> usize {
        job.point * self.stacks.len() + job.stack
    }

    /// The fingerprint of `job`.
    ///
    /// # Panics
    /// If `job` is none of this plan's.
    #[must_use]
    pub fn fingerprint(&self, job: Job) -> Fingerprint {
        let place = self.place(job);
        let scenario = &self.scenarios[place];
        self.identities.fingerprint(place, scenario, job.seed)
    }

    /// What was asked.
    pub(super) const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Every stack that any of its runs has, those that measure harm included; the same may come often.
    pub fn all_stacks(&self) -> impl Iterator<Item = &StackSpec> {
        let harm = self.harm.iter().flat_map(Harm::scenarios);
        let scenarios = self.scenarios.iter().chain(harm);
        scenarios.flat_map(|of| std::iter::once(&of.stack).chain(&of.group_stacks))
    }

    /// The stacks under comparison.
    pub(super) fn stacks(&self) -> &[StackSpec] {
        &self.stacks
    }

    /// The seeds, in their order.
    pub(super) fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The points.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// A point in words.
    #[must_use]
    pub fn label(&self, point: usize) -> String {
        self.points[point].label()
    }

    /// Every effective parameter, for the stacks of the first point, and where it comes from.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Pairs that defeat each other.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Results without any run yet.
    #[must_use]
    pub fn empty_results(&self) -> Results {
        self.empty_results_at(0..self.points.len())
    }

    /// Results of `points` alone without any run yet: the first of these is the first of theirs.
    pub(super) fn empty_results_at(&self, points: Range<usize>) -> Results {
        Results {
            medium: Medium::Simulated,
            experiment: self.experiment.clone(),
            points: self.points[points.clone()].to_vec(),
            stacks: self.stacks.iter().map(ToString::to_string).collect(),
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

    /// The same plan for a reader to whom this counts most: its results say so.
    #[must_use]
    pub const fn preferring(mut self, prefer: Option<Prefer>) -> Self {
        self.prefer = prefer;
        self
    }

    /// The recorded traces of `points`, of which the first is the first of the results.
    fn recorded(&self, points: Range<usize>) -> Vec<Recorded> {
        let first = points.start;
        let places = points.flat_map(|point| {
            let scenario = &self.scenarios[point * self.stacks.len()];
            let e = &scenario.experiment;
            recordings(e).into_iter().filter_map(move |(key, file)| {
                let trace = scenario.traces.get(file)?;
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

/// For whoever gives a file that is no trace.
const TRACE_FORMAT: &str =
    "a trace has a line per 1500-byte delivery opportunity, in milliseconds, ascending";

/// Reads every trace that a point uses.
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
                    _ => "the path starts at the experiment file's folder",
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
