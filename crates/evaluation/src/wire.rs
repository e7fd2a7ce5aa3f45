//! Criteria on real packets: the scenarios of the suite's part for the wire, run by whoever can.
//!
//! This crate knows no device: a front hands over something that makes runs ([`RealPackets`]). Beside each
//! stack's runs stand those of the same file in the simulator, where `rack/cubic` and `rack/reno` take the
//! places of the kernel's CUBIC and Reno.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_claims::{Rules, World};
use dupack_lab::experiment::load::{ReadFile, Source};
use dupack_lab::experiment::points::{Point, points};
use dupack_lab::experiment::{Acks, Claim, Experiment, Seeds};
use dupack_lab::results::{Doubt, HarmRecord, Medium, Results, Run, Values, WireRecord};
use dupack_lab::run::journal::{Done, Journal};
use dupack_lab::run::{Amount, Fingerprint, Job};

use crate::campaign::{Conduct, Part};
use crate::error::EvaluationError;
use crate::prepare::{Prepared, once_each};
use crate::suite::{Criterion, Round, Scale, Scenario, Suite};

/// What a kernel's sender begins with.
pub const KERNEL: &str = "kernel:";

/// What stands in the simulator for the kernel's senders.
const STAND_INS: [(&str, &str); 2] = [("kernel:cubic", "rack/cubic"), ("kernel:reno", "rack/reno")];

/// The file in the card's folder with every flow of every run on real packets.
pub const FLOWS: &str = "wire-flows.csv";

const FLOW_COLUMNS: &str = "scenario,point,stack,seed,void_because,group,sender,measured,start_s,goodput_mbit_s,segments,\
                            retransmissions,offered_packets,dropped_packets,wait_median_ms,wait_p95_ms\n";

/// Makes runs on real packets.
pub trait RealPackets: Sync {
    /// Whether `experiment`, which is at one point, can be run with `stack`.
    ///
    /// # Errors
    /// If it has what real packets have not, or this machine does not give what it takes.
    fn check(
        &self,
        experiment: &Experiment,
        stack: &str,
        files: &dyn ReadFile,
    ) -> Result<(), WireError>;

    /// Runs it; `None` if it was interrupted.
    ///
    /// # Errors
    /// If the run failed.
    fn run(
        &self,
        experiment: &Experiment,
        stack: &str,
        files: &dyn ReadFile,
        seed: u64,
    ) -> Result<Option<WireRun>, WireError>;
}

/// Why there is no run, in words.
pub type WireError = Box<dyn Error + Send + Sync>;

/// A run on real packets.
#[derive(Clone, Debug)]
pub struct WireRun {
    /// What was measured.
    pub values: Values,
    /// Each flow by itself.
    pub flows: Vec<WireFlow>,
    /// Why the run is void, if it is: its path did not keep its time.
    pub void: Vec<String>,
}

/// A flow of a run on real packets.
#[derive(Clone, Debug)]
pub struct WireFlow {
    /// The name of its group of flows; empty if it has none.
    pub group: String,
    /// Who sent.
    pub sender: String,
    /// Whether the run's measures are of it.
    pub measured: bool,
    /// When it began, in s.
    pub start_s: f64,
    /// Its payload per time, in Mbit/s.
    pub goodput_mbit_s: f64,
    /// Data segments sent, and of these the retransmissions.
    pub segments: Option<(u64, u64)>,
    /// Data packets that the path was offered, and those that it dropped.
    pub packets: (u64, u64),
    /// How long they waited in the path's queue, in ms: median, and 95th percentile.
    pub waits_ms: Option<(f64, f64)>,
}

/// A scenario on real packets for a sender, checked.
#[derive(Debug)]
pub(crate) struct OnWire {
    pub(crate) name: String,
    pub(crate) source: Source,
    experiment: Experiment,
    points: Vec<Point>,
    rules: Rules,
}

/// One run to do.
#[derive(Clone, Copy, Debug)]
struct Task {
    subject: usize,
    part: usize,
    job: Job,
}

/// What has become of one.
enum Made {
    Done(Box<Run>, Vec<String>),
    Failed(String),
}

impl Suite {
    /// `scenario`, which is of the part for the wire, for the sender called `subject`.
    pub(crate) fn on_wire(
        &self,
        scenario: &Scenario,
        criteria: &[&Criterion],
        (subject, catalog): (&str, &Catalog),
        scale: Scale,
    ) -> Result<OnWire, EvaluationError> {
        let (source, experiment) =
            self.wire_text(scenario, criteria, subject, (scale, Round::First))?;
        let points = points(&experiment, &source)?;
        let vocabulary = experiment.vocabulary();
        let rules = Rules::new(&vocabulary, &experiment.claims, &source, catalog)?;
        let prepared = OnWire {
            name: scenario.name.clone(),
            source,
            experiment,
            points,
            rules,
        };
        let planned = prepared.results(Vec::new(), Vec::new());
        prepared.rules.check(&World::planned(&planned))?;
        Ok(prepared)
    }

    /// The same in the simulator, with stacks in the places of the kernel's senders.
    pub(crate) fn simulated(
        &self,
        scenario: &Scenario,
        criteria: &[&Criterion],
        (subject, catalog): (&StackSpec, &Catalog),
        scale: (Scale, Round),
    ) -> Result<Prepared, EvaluationError> {
        let name = subject.to_string();
        let (mut source, _) = self.wire_text(scenario, criteria, &name, scale)?;
        for (kernel, stack) in STAND_INS {
            source.text = source.text.replace(kernel, stack);
        }
        let mut experiment = source.parse()?;
        // As the kernel's receiver does.
        experiment.receiver.acks.get_or_insert(Acks::Adaptive);
        experiment.receiver.sack_compression.get_or_insert(true);
        once_each(&mut experiment);
        let name = format!("{}-simulated", scenario.name);
        Prepared::new(name, experiment, source, (catalog, &self.files))
    }

    /// A scenario's text and its experiment with the sender called `subject` in it.
    fn wire_text(
        &self,
        scenario: &Scenario,
        criteria: &[&Criterion],
        subject: &str,
        scale: (Scale, Round),
    ) -> Result<(Source, Experiment), EvaluationError> {
        let (source, experiment) = self.experiment_of(scenario, criteria, subject, scale)?;
        let text = toml::to_string_pretty(&experiment).unwrap_or_default();
        Ok((Source::new(source.name, text), experiment))
    }
}

impl OnWire {
    /// Its runs: all senders of a repetition at a point one after the other, so that what troubles the machine
    /// for a while troubles all of them.
    fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        self.experiment
            .seeds
            .to_vec()
            .into_iter()
            .flat_map(move |seed| {
                (0..self.points.len()).flat_map(move |point| {
                    (0..self.experiment.stacks.len()).map(move |stack| Job { point, stack, seed })
                })
            })
    }

    /// Its claims, one for each criterion.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.experiment.claims.clone()
    }

    fn stack(&self, job: Job) -> &str {
        &self.experiment.stacks[job.stack]
    }

    /// What a run depends on: the same of two senders' cards where no sender under test takes part.
    fn fingerprint(&self, job: Job) -> Fingerprint {
        let mut bare = Experiment::clone(&self.points[job.point].experiment);
        bare.title.clear();
        bare.description.clear();
        bare.stacks = vec![self.stack(job).to_owned()];
        bare.seeds = Seeds::Count(1);
        let text = toml::to_string(&bare).unwrap_or_default();
        Fingerprint::of_text(&format!("real packets\n{text}\n{}", job.seed))
    }

    fn words(&self, job: Job) -> String {
        let label = self.points[job.point].label();
        let parts = [self.name.as_str(), &label, self.stack(job)];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}, repetition {}", parts.join(", "), job.seed)
    }

    fn results(&self, mut runs: Vec<Run>, doubts: Vec<Doubt>) -> Results {
        runs.sort_by_key(|run| (run.point, run.stack, run.seed));
        Results {
            medium: Medium::Wire(WireRecord {
                doubts,
                ..WireRecord::default()
            }),
            experiment: self.experiment.clone(),
            points: self.points.clone(),
            stacks: self.experiment.stacks.clone(),
            planned: self.jobs().count(),
            runs,
            warnings: Vec::new(),
            parameters: Vec::new(),
            recorded: Vec::new(),
            harm: HarmRecord::Senseless {
                why: "it is not measured on real packets".to_owned(),
            },
            prefer: None,
            family: dupack_lab::significance::Family::default(),
        }
    }

    fn conclude(&self, runs: Vec<Run>, doubts: Vec<Doubt>) -> Part {
        let results = self.results(runs, doubts);
        Part {
            name: self.name.clone(),
            source: self.source.clone(),
            has_more_seeds: false,
            judged: self.rules.judge_results(&results),
            results,
        }
    }

    /// The flows of a run, a line of CSV each.
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

/// Does the runs of all subjects, those that several share once. Void runs are no part of the journal: whoever
/// goes on does them again. Of each subject, its parts.
pub(crate) fn carry_out(
    subjects: &[&[OnWire]],
    files: &BTreeMap<PathBuf, String>,
    packets: &dyn RealPackets,
    conduct: &Conduct<'_>,
) -> Result<Vec<Vec<Part>>, EvaluationError> {
    let journal = conduct.journal.map(Journal::open).transpose()?;
    let tasks = tasks(subjects);
    let first = |group: &[Task]| (&subjects[group[0].subject][group[0].part], group[0].job);
    let held = |group: &Vec<Task>| {
        let (of, job) = first(group);
        let point = of.points[job.point].label();
        journal
            .as_ref()?
            .find(of.fingerprint(job), (&point, of.stack(job)), job)
    };
    let (mut made, mut to_do) = (Vec::new(), Vec::new());
    for group in &tasks {
        match held(group) {
            Some(done) => made.push((group, Made::Done(Box::new(done.run), Vec::new()))),
            None => to_do.push(group),
        }
    }
    check(subjects, &to_do, files, packets)?;
    let amount = |groups: usize| {
        let one = |sum: Amount, _| sum.and(1);
        (0..groups).fold(Amount::default(), one)
    };
    conduct
        .watch
        .begins(amount(tasks.len()), amount(made.len()));
    let flows = conduct.journal.map(|folder| Mutex::new(folder.join(FLOWS)));
    let done = conduct.execution.each(&to_do, |group| {
        if conduct.interrupt.is_asked() {
            return None;
        }
        let (of, job) = first(group);
        conduct.watch.run_begins("on real packets", &of.words(job));
        let experiment = &of.points[job.point].experiment;
        let ran = packets.run(experiment, of.stack(job), files, job.seed);
        conduct.watch.run_done(1);
        let ran = match ran {
            Ok(ran) => ran?,
            Err(error) => {
                let failed = format!("{}: {error}", of.words(job));
                return Some((*group, Made::Failed(failed)));
            }
        };
        if let Some(path) = &flows
            && let Ok(path) = path.lock()
            && let Err(error) = append(&path, &of.lines(job, &ran))
        {
            conduct.watch.note(&format!("{FLOWS}: {error}"));
        }
        let run = Run {
            point: job.point,
            stack: job.stack,
            seed: job.seed,
            values: ran.values,
            flow_goodputs: ran.flows.iter().map(|flow| flow.goodput_mbit_s).collect(),
            trace_hash: 0,
        };
        if let (Some(journal), true) = (&journal, ran.void.is_empty()) {
            let done = Done {
                run: run.clone(),
                cpu: None,
            };
            let words = (of.points[job.point].label(), of.stack(job));
            let kept = journal.append(of.fingerprint(job), (&words.0, words.1), &done);
            if let Err(error) = kept {
                conduct.watch.note(&error.to_string());
            }
        }
        Some((*group, Made::Done(Box::new(run), ran.void)))
    });
    made.extend(done);
    Ok(conclude(subjects, made, conduct))
}

/// All runs in their order, those that are the same together.
fn tasks(subjects: &[&[OnWire]]) -> Vec<Vec<Task>> {
    let mut places: BTreeMap<Fingerprint, usize> = BTreeMap::new();
    let mut tasks: Vec<Vec<Task>> = Vec::new();
    for (subject, parts) in subjects.iter().enumerate() {
        for (part, of) in parts.iter().enumerate() {
            for job in of.jobs() {
                let task = Task { subject, part, job };
                let next = tasks.len();
                match *places.entry(of.fingerprint(job)).or_insert(next) {
                    place if place < next => tasks[place].push(task),
                    _ => tasks.push(vec![task]),
                }
            }
        }
    }
    // One repetition after the other, of all scenarios and senders: what is interrupted has some of each.
    tasks.sort_by_key(|group| (group[0].job.seed, group[0].part, group[0].job.point));
    tasks
}

/// Whether everything that is to do can be done here.
fn check(
    subjects: &[&[OnWire]],
    to_do: &[&Vec<Task>],
    files: &dyn ReadFile,
    packets: &dyn RealPackets,
) -> Result<(), EvaluationError> {
    let mut asked = BTreeSet::new();
    for task in to_do.iter().map(|group| group[0]) {
        let of = &subjects[task.subject][task.part];
        if asked.insert((task.subject, task.part, task.job.point, task.job.stack)) {
            let experiment = &of.points[task.job.point].experiment;
            let checked = packets.check(experiment, of.stack(task.job), files);
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

fn conclude(
    subjects: &[&[OnWire]],
    made: Vec<(&Vec<Task>, Made)>,
    conduct: &Conduct<'_>,
) -> Vec<Vec<Part>> {
    let mut runs: BTreeMap<(usize, usize), (Vec<Run>, Vec<Doubt>)> = BTreeMap::new();
    for (group, made) in made {
        let (run, reasons) = match made {
            Made::Done(run, reasons) => (run, reasons),
            Made::Failed(why) => {
                conduct.watch.note(&why);
                continue;
            }
        };
        for Task { subject, part, job } in group {
            let (runs, doubts) = runs.entry((*subject, *part)).or_default();
            let Job { point, stack, seed } = *job;
            runs.push(Run {
                point,
                stack,
                seed,
                ..Run::clone(&run)
            });
            if !reasons.is_empty() {
                doubts.push(Doubt {
                    point,
                    stack,
                    seed,
                    reasons: reasons.clone(),
                });
            }
        }
    }
    let subjects = subjects.iter().enumerate();
    let parts = subjects.map(|(subject, parts)| {
        let parts = parts.iter().enumerate();
        let parts = parts.map(|(part, of)| {
            let (runs, doubts) = runs.remove(&(subject, part)).unwrap_or_default();
            of.conclude(runs, doubts)
        });
        parts.collect()
    });
    parts.collect()
}
