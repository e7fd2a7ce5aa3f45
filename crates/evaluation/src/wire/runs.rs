//! The runs on real packets as a set, one repetition after the other. An interrupted set then has some runs of each
//! sender.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dupack_engine::{
    Done, Evidence, Journal, Keeping, Outcome, RunId, Session, Set, Task, Watch, Worker,
};
use dupack_lab::experiment::load::ReadFile;
use dupack_lab::results::{Doubt, Run};
use dupack_lab::run::{Interrupt, Job, Purpose};

use super::{OnWire, RealPackets, WireRun};
use crate::error::EvaluationError;
use crate::evidence::{Conduct, ScenarioResults};

/// Name of the file in the card's folder that lists every flow of every run on real packets.
pub const FLOWS: &str = "wire-flows.csv";

const FLOW_COLUMNS: &str = "scenario,point,stack,seed,void_because,group,sender,measured,start_s,goodput_mbit_s,segments,\
                            retransmissions,offered_packets,dropped_packets,wait_median_ms,wait_p95_ms\n";

/// Result of a run: its measures, and the reasons why it is void.
#[derive(Clone)]
struct Made {
    done: Done,
    void: Vec<String>,
}

impl Outcome for Made {
    /// Returns the run to store. A void run is not stored; it is performed again when the evaluation is resumed.
    fn done(&self) -> Option<&Done> {
        self.void.is_empty().then_some(&self.done)
    }

    fn found(done: Done) -> Self {
        let void = Vec::new();
        Self { done, void }
    }

    /// Ignores the processor time: runs on real packets take wall-clock time.
    fn took(self, _: Option<Duration>) -> Self {
        self
    }

    fn at(mut self, job: Job) -> Self {
        self.done = self.done.at(job);
        self
    }
}

/// Scenarios of all senders, with the implementation that performs the runs.
struct OnPackets<'c> {
    scenarios: Vec<&'c OnWire>,
    files: &'c BTreeMap<PathBuf, String>,
    packets: &'c dyn RealPackets,
    watch: &'c dyn Watch,
    /// File to which the flows of every run are written.
    flows: Option<Mutex<PathBuf>>,
}

impl Set for OnPackets<'_> {
    type Outcome = Made;

    fn id(&self, task: Task) -> Option<RunId> {
        let (of, job) = (self.scenarios[task.part], task.job);
        Some(RunId {
            fingerprint: of.fingerprint(job),
            point: of.points[job.point].label(),
            stack: of.stack(job).to_owned(),
        })
    }

    /// Returns the same number for all runs, because they take about the same time.
    fn packets(&self, _: Task) -> u64 {
        1
    }

    fn names(&self, task: Task) -> (Cow<'_, str>, Cow<'_, str>) {
        let words = self.scenarios[task.part].words(task.job);
        ("on real packets".into(), words.into())
    }

    fn shares(&self) -> bool {
        true
    }

    fn is_reproducible(&self) -> bool {
        false
    }
}

impl Worker<Made> for OnPackets<'_> {
    fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<Made> {
        if interrupt.is_asked() {
            return None;
        }
        let (of, job) = (self.scenarios[task.part], task.job);
        let experiment = &of.points[job.point].experiment;
        let ran = self
            .packets
            .run(experiment, of.stack(job), self.files, job.seed);
        let ran = match ran {
            Ok(ran) => ran?,
            Err(error) => {
                self.watch.note(&format!("{}: {error}", of.words(job)));
                return None;
            }
        };
        if let Some(path) = &self.flows
            && let Ok(path) = path.lock()
            && let Err(error) = append(&path, &of.lines(job, &ran))
        {
            self.watch.note(&format!("{FLOWS}: {error}"));
        }
        let run = Run {
            point: job.point,
            stack: job.stack,
            seed: job.seed,
            values: ran.values,
            flow_goodputs: ran.flows.iter().map(|flow| flow.goodput_mbit_s).collect(),
            trace_hash: 0,
        };
        Some(Made {
            done: Done { run, cpu: None },
            void: ran.void,
        })
    }
}

/// Results of the scenarios.
struct Came {
    due: Vec<Task>,
    runs: Vec<(Vec<Run>, Vec<Doubt>)>,
}

impl Evidence<Made> for Came {
    fn due(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.due)
    }

    fn enter(&mut self, task: Task, made: Made) {
        let (runs, doubts) = &mut self.runs[task.part];
        let Job { point, stack, seed } = task.job;
        runs.push(made.done.run);
        if !made.void.is_empty() {
            doubts.push(Doubt {
                point,
                stack,
                seed,
                reasons: made.void,
            });
        }
    }
}

/// Performs the runs of all subjects, and each shared run once. Returns the results of each subject.
pub(crate) fn carry_out(
    subjects: &[&[OnWire]],
    files: &BTreeMap<PathBuf, String>,
    packets: &dyn RealPackets,
    conduct: &Conduct<'_>,
) -> Result<Vec<Vec<ScenarioResults>>, EvaluationError> {
    let journal = conduct.journal.map(Journal::open).transpose()?;
    let journal = journal.map(Arc::new);
    let set = OnPackets {
        scenarios: subjects.iter().copied().flatten().collect(),
        files,
        packets,
        watch: conduct.runs.watch,
        flows: conduct.journal.map(|folder| Mutex::new(folder.join(FLOWS))),
    };
    let tasks = tasks(subjects);
    check(&set, &tasks, journal.as_deref())?;
    let came = Came {
        due: tasks,
        runs: set.scenarios.iter().map(|_| Default::default()).collect(),
    };
    let keeping = journal.map_or_else(Keeping::nowhere, Keeping::within);
    let mut session = Session::new(&set, came, keeping);
    dupack_engine::carry_out(&mut session, &set, &conduct.runs);
    let mut came = session.end()?.runs.into_iter();
    let parts = subjects.iter().map(|parts| {
        let parts = parts.iter().zip(came.by_ref());
        let parts = parts.map(|(of, (runs, doubts))| of.conclude(runs, doubts));
        parts.collect()
    });
    Ok(parts.collect())
}

/// Returns all runs of all scenarios and senders, one repetition after the other.
fn tasks(subjects: &[&[OnWire]]) -> Vec<Task> {
    let mut tasks: Vec<(usize, Task)> = Vec::new();
    let mut part = 0;
    for scenarios in subjects {
        for (scenario, of) in scenarios.iter().enumerate() {
            let task = |job| Task {
                part,
                job,
                purpose: Purpose::Comparison,
            };
            tasks.extend(of.jobs().map(|job| (scenario, task(job))));
            part += 1;
        }
    }
    tasks.sort_by_key(|(scenario, task)| (task.job.seed, *scenario, task.job.point));
    tasks.into_iter().map(|(_, task)| task).collect()
}

/// Checks that all planned runs are possible on this machine.
fn check(
    set: &OnPackets<'_>,
    tasks: &[Task],
    journal: Option<&Journal>,
) -> Result<(), EvaluationError> {
    let is_held = |task: Task| {
        let found = journal.and_then(|journal| journal.find(&set.id(task)?, task.job));
        found.is_some()
    };
    let mut asked = BTreeSet::new();
    for task in tasks.iter().filter(|task| !is_held(**task)) {
        let of = set.scenarios[task.part];
        if asked.insert((task.part, task.job.point, task.job.stack)) {
            let experiment = &of.points[task.job.point].experiment;
            let files: &dyn ReadFile = set.files;
            let checked = { set.packets }.check(experiment, of.stack(task.job), files);
            checked.map_err(|error| EvaluationError::NoRealPackets {
                cause: error.to_string(),
            })?;
        }
    }
    Ok(())
}

fn append(path: &Path, lines: &str) -> std::io::Result<()> {
    let there = path.symlink_metadata();
    if there.as_ref().is_ok_and(|there| there.is_symlink()) {
        let why = "it is a symbolic link, which is not followed";
        return Err(std::io::Error::other(why));
    }
    let new = there.is_err();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let head = if new { FLOW_COLUMNS } else { "" };
    file.write_all(format!("{head}{lines}").as_bytes())
}

impl OnWire {
    /// Formats the flows of a run as lines of CSV.
    fn lines(&self, job: Job, run: &WireRun) -> String {
        let mut text = String::new();
        for flow in &run.flows {
            let (segments, again) = flow.segments.unzip();
            let (median, p95) = flow.waits_ms.unzip();
            let count = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
            let millis = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.3}"));
            let label = self.points[job.point].label();
            let (offered, dropped) = flow.packets;
            let _ = writeln!(
                text,
                "{},\"{}\",\"{}\",{},\"{}\",{},\"{}\",{},{:.3},{:.4},{},{},{offered},{dropped},{},{}",
                self.name,
                label,
                self.stack(job),
                job.seed,
                run.void.join("; "),
                flow.group,
                flow.sender,
                flow.measured,
                flow.start_s,
                flow.goodput_mbit_s,
                count(segments),
                count(again),
                millis(median),
                millis(p95),
            );
        }
        text
    }
}
