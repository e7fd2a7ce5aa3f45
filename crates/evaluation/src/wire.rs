//! Criteria on real packets: the scenarios of the suite's part for the wire.
//!
//! This crate accesses no device: a front end provides a [`RealPackets`] that performs the runs. For each stack, the
//! same file is also run in the simulator, where `rack/cubic` and `rack/reno` stand for the kernel's CUBIC and Reno.

mod runs;

use std::error::Error;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_claims::{Rules, World};
use dupack_lab::experiment::load::{ReadFile, Source};
use dupack_lab::experiment::points::{Point, points};
use dupack_lab::experiment::{Acks, Claim, Experiment, Seeds};
use dupack_lab::results::{Doubt, HarmRecord, Medium, Results, Run, Values, WireRecord};
use dupack_lab::run::{Fingerprint, Job};

use crate::error::EvaluationError;
use crate::evidence::ScenarioResults;
use crate::prepare::{Prepared, once_each};
use crate::suite::{Criterion, Round, Scale, Scenario, Suite};

/// Prefix of the names of the kernel's senders.
pub const KERNEL: &str = "kernel:";

/// Stacks that stand for the kernel's senders in the simulator.
const STAND_INS: [(&str, &str); 2] = [("kernel:cubic", "rack/cubic"), ("kernel:reno", "rack/reno")];

pub use runs::FLOWS;
pub(crate) use runs::carry_out;

/// Performs runs on real packets.
pub trait RealPackets: Sync {
    /// Checks that `experiment`, which has one point, can be run with `stack`.
    ///
    /// # Errors
    /// If the experiment has features that real packets cannot have, or this machine lacks something that the run
    /// needs.
    fn check(
        &self,
        experiment: &Experiment,
        stack: &str,
        files: &dyn ReadFile,
    ) -> Result<(), WireError>;

    /// Performs the run. Returns `None` if it was interrupted.
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

/// Reason why a run is not possible.
pub type WireError = Box<dyn Error + Send + Sync>;

/// A run on real packets.
#[derive(Clone, Debug)]
pub struct WireRun {
    /// Measures of the run.
    pub values: Values,
    /// All flows of the run.
    pub flows: Vec<WireFlow>,
    /// Reasons why the run is void: its path missed its timing. Empty if the run is valid.
    pub void: Vec<String>,
}

/// A flow of a run on real packets.
#[derive(Clone, Debug)]
pub struct WireFlow {
    /// Name of the group of flows. Empty if the group has no name.
    pub group: String,
    /// Sender.
    pub sender: String,
    /// `true` if the run's measures include this flow.
    pub measured: bool,
    /// Start time in s.
    pub start_s: f64,
    /// Goodput in Mbit/s.
    pub goodput_mbit_s: f64,
    /// Number of data segments sent, and the number of retransmissions among them.
    pub segments: Option<(u64, u64)>,
    /// Number of data packets offered to the path, and the number of packets that the path dropped.
    pub packets: (u64, u64),
    /// Waiting time in the path's queue in ms: median and 95th percentile.
    pub waits_ms: Option<(f64, f64)>,
}

/// A scenario on real packets with a sender inserted, checked and ready to run.
#[derive(Debug)]
pub(crate) struct OnWire {
    pub(crate) name: String,
    pub(crate) source: Source,
    experiment: Experiment,
    points: Vec<Point>,
    rules: Rules,
}

impl Suite {
    /// Prepares `scenario`, which belongs to the part for the wire, for the sender called `subject`.
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

    /// Prepares the same scenario for the simulator, with stacks in place of the kernel's senders.
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
        // The receiver sends ACKs like the kernel's receiver.
        experiment.receiver.acks.get_or_insert(Acks::Adaptive);
        experiment.receiver.sack_compression.get_or_insert(true);
        once_each(&mut experiment);
        let name = format!("{}-simulated", scenario.name);
        Prepared::new(name, experiment, source, (catalog, &self.files))
    }

    /// Returns a scenario's text and its experiment with the sender called `subject` inserted.
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
    /// Returns the runs, ordered by repetition and point. All senders of a repetition at a point run one after the
    /// other, so that a temporary disturbance of the machine affects all of them.
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

    /// Returns the claims, one for each criterion.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.experiment.claims.clone()
    }

    fn stack(&self, job: Job) -> &str {
        &self.experiment.stacks[job.stack]
    }

    /// Returns the fingerprint of everything on which a run depends. Runs without the sender under test have the same
    /// fingerprint for all senders.
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

    fn conclude(&self, runs: Vec<Run>, doubts: Vec<Doubt>) -> ScenarioResults {
        let results = self.results(runs, doubts);
        ScenarioResults {
            name: self.name.clone(),
            source: self.source.clone(),
            has_more_seeds: false,
            judged: self.rules.judge_results(&results),
            results,
        }
    }
}
