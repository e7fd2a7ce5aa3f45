//! Criteria on real packets: the scenarios of the suite's part for the wire, run by whoever can.
//!
//! This crate knows no device: a front hands over something that makes runs ([`RealPackets`]). Beside each
//! stack's runs stand those of the same file in the simulator, where `rack/cubic` and `rack/reno` take the
//! places of the kernel's CUBIC and Reno.

mod runs;

use std::error::Error;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_claims::{Rules, World};
use dupack_lab::experiment::load::{ReadFile, Source};
use dupack_lab::experiment::points::{Point, points};
use dupack_lab::experiment::{Acks, Claim, Experiment, Seeds};
use dupack_lab::results::{Doubt, HarmRecord, Medium, Results, Run, Values, WireRecord};
use dupack_lab::run::{Fingerprint, Job};

use crate::campaign::Part;
use crate::error::EvaluationError;
use crate::prepare::{Prepared, once_each};
use crate::suite::{Criterion, Round, Scale, Scenario, Suite};

/// What a kernel's sender begins with.
pub const KERNEL: &str = "kernel:";

/// What stands in the simulator for the kernel's senders.
const STAND_INS: [(&str, &str); 2] = [("kernel:cubic", "rack/cubic"), ("kernel:reno", "rack/reno")];

pub use runs::FLOWS;
pub(crate) use runs::carry_out;

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
}
