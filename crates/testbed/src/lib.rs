//! The testbed: senders on real packets, one after the other over the same emulated path to a
//! kernel that receives, with the results of a comparison.
//!
//! The path is that of an experiment file: its links are built as those of a simulation are and
//! run in real time by [`dupack_wire::path`]. So the experiment is its own counterpart in the
//! simulator ([`Testbed::counterpart`]), as far as its senders are stacks; a kernel's has none. What
//! the experiment leaves open of the receiver is there as Linux has it.

#![cfg(target_os = "linux")]

pub mod beside;
mod captures;
mod estimate;
pub mod kernel;
mod outcome;
pub mod report;
mod sender;
mod shared;
pub mod together;
mod writes;

pub use beside::Beside;
pub use captures::CaptureFolder;
pub use dupack_packet::Snap;
pub use dupack_wire::Family;
pub use dupack_wire::path::Trust;
pub use dupack_wire::transfer::{LatencyReport, SackCompression};
pub use outcome::{Outcome, Passage};
pub use sender::{SenderError, SenderSpec};
pub use shared::{FlowOutcome, Shared, SharedError, SharedOutcome, TOLERANCE};
pub use writes::writes;

use dupack_algorithms::catalog::Catalog;
use dupack_net::link::{LinkConfig, LossNature};
use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::Duration;
use dupack_wire::path::{CaptureFiles, PathConfig};
use dupack_wire::transfer::{
    Counted, Extent, TransferConfig, TransferError, TransferReport, transfer,
};
use miette::Diagnostic;
use thiserror::Error;

use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::points::points;
use dupack_lab::experiment::{Acks, Experiment, ReceiverOptions, SenderOptions, Starts};
use dupack_lab::results::{Measure, Parameter, Run, Values};
use dupack_lab::run::{Held, Interrupt, Job, Plan, TooLarge, room};
use dupack_lab::units::{Buffer, ByteCount, Delay};

/// What plans the path where no sender is a stack. Nothing of it is run.
const STAND_IN: &str = "sack/reno";

/// Payload of a segment over Ethernet with timestamps.
const SEGMENT_BYTES: u64 = 1448;

/// What a testbed adds to its experiment.
#[derive(Clone, Debug)]
pub struct TestbedOptions {
    /// The senders; the first is the measure of the others.
    pub senders: Vec<SenderSpec>,
    /// How much each transfers, unless the experiment's flow has writes, which are then what it transfers.
    pub bytes: ByteCount,
    /// By how much packets may leave late before a run is worth nothing; left out, [`Testbed::tolerance`].
    pub tolerance: Option<Delay>,
    /// Over which IP.
    pub family: Family,
    /// Whether the receiving kernel holds back ACKs of segments out of order.
    pub sack_compression: SackCompression,
    /// Where what crosses the path is written, if it shall be.
    pub captures: Option<CaptureFolder>,
}

/// Senders on real packets, checked and ready.
#[derive(Debug)]
pub struct Testbed {
    options: TestbedOptions,
    experiment: Experiment,
    plan: Plan,
    /// A path per point.
    links: Vec<(LinkConfig, LinkConfig)>,
}

/// Why a testbed cannot be, or a run of it failed.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum TestbedError {
    /// The path or a stack is impossible.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// The same sender twice.
    #[error("the sender {0} is there twice")]
    Twice(String),
    /// Packets that may not be late at all.
    #[error(
        "a tolerance of 0 spoils every run: no packet leaves at the very nanosecond at which it is due"
    )]
    #[diagnostic(help("1ms is the default"))]
    NoTolerance,
    /// There is nothing to transfer, or no sender.
    #[error("there is nothing to do: {0}")]
    Nothing(&'static str),
    /// Its results do not fit into memory.
    #[error(transparent)]
    #[diagnostic(transparent)]
    TooLarge(#[from] TooLarge),
    /// IPv6 on a machine without it.
    #[error("this machine's kernel has no IPv6: take IPv4 (`--family ipv4`)")]
    NoIpv6,
    /// A sender that this machine does not have.
    #[error("{sender} cannot send here")]
    Sender {
        /// Which sender it is.
        sender: String,
        /// What is wrong with it.
        source: Box<TransferError>,
    },
    /// A run failed.
    #[error("the run failed: {run}")]
    Run {
        /// Which, in words.
        run: String,
        /// Why it failed.
        source: Box<TransferError>,
    },
}

/// What is told while a testbed works.
pub trait Watch {
    /// A run begins.
    fn run_begins(&self, what: &str);
    /// It is done.
    fn run_done(&self);
}

impl Testbed {
    /// Checks an experiment, of which the stacks are set here, of `catalog`, and what a testbed
    /// adds to it.
    ///
    /// # Errors
    /// If anything in it is impossible.
    pub fn new(
        mut experiment: Experiment,
        options: TestbedOptions,
        catalog: &Catalog,
    ) -> Result<Self, TestbedError> {
        if options.senders.is_empty() {
            return Err(TestbedError::Nothing("there is no sender"));
        }
        if options.bytes.as_bytes() == 0 {
            return Err(TestbedError::Nothing("a transfer of 0 bytes"));
        }
        if options
            .tolerance
            .is_some_and(|tolerance| tolerance.as_nanos() == 0)
        {
            return Err(TestbedError::NoTolerance);
        }
        for (n, sender) in options.senders.iter().enumerate() {
            if options.senders[..n].contains(sender) {
                return Err(TestbedError::Twice(sender.to_string()));
            }
        }
        // A transfer begins with its run, and a recorded trace at its start: on the wire it can be
        // nowhere else.
        experiment.starts = Some(Starts::Given);
        let stacks = options.senders.iter().filter_map(SenderSpec::stack);
        experiment.stacks = stacks.map(ToString::to_string).collect();
        if options.family == Family::V6 {
            fit_ipv6(&mut experiment.sender);
        }
        fit_receiver(&mut experiment.receiver, options.sack_compression);
        let mut planned = experiment.clone();
        if planned.stacks.is_empty() {
            planned.stacks.push(STAND_IN.to_owned());
        }
        let source = Source::of_flags(&planned);
        let plan = Plan::new(planned.clone(), &source, catalog)?;
        let mut size = plan.size();
        let seeds = planned.seeds.to_vec().len() as u64;
        size.runs_at_point = seeds.saturating_mul(options.senders.len() as u64);
        size.fits(Held::All, 1, room())?;
        let count = points(&planned, &source)?.len();
        let links = (0..count).map(|point| {
            let job = plan.first_job(point);
            let links = plan.scenario(job).path_links(job.seed);
            links.map_err(|fault| ExperimentError::at(&source, &fault.key, fault.message, None))
        });
        let links = links.collect::<Result<_, _>>()?;
        Ok(Self {
            options,
            experiment,
            plan,
            links,
        })
    }

    /// Whether this machine has every sender.
    ///
    /// # Errors
    /// If it has not, or no namespaces.
    pub fn probe(&self) -> Result<(), TestbedError> {
        if !self.options.family.is_there() {
            return Err(TestbedError::NoIpv6);
        }
        for sender in &self.options.senders {
            let asked = match sender {
                SenderSpec::Kernel(control) => dupack_wire::transfer::probe(control),
                SenderSpec::Stack(_) => Ok(()),
            };
            asked.map_err(|source| TestbedError::Sender {
                sender: sender.to_string(),
                source: Box::new(source),
            })?;
        }
        Ok(())
    }

    /// By how much packets may leave late before a run is worth nothing: as was said, or 1 % of the longest round
    /// trip without a queue, and at least 1 ms. On a path of 600 ms a millisecond is nothing.
    #[must_use]
    pub fn tolerance(&self) -> Delay {
        let round_trips = self
            .links
            .iter()
            .map(|(there, back)| there.delay + back.delay);
        let longest = round_trips.max().unwrap_or(Duration::ZERO);
        let share = Delay::from_nanos(longest.as_nanos() / 100);
        self.options
            .tolerance
            .unwrap_or_else(|| share.max(TOLERANCE))
    }

    /// The same experiment in the simulator; `None` if no sender is a stack.
    #[must_use]
    pub fn counterpart(&self) -> Option<&Plan> {
        (!self.experiment.stacks.is_empty()).then_some(&self.plan)
    }

    /// The runs: all senders of a repetition at a point one after the other, so that what
    /// troubles the machine for a while troubles all of them.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for seed in self.experiment.seeds.to_vec() {
            for point in 0..self.links.len() {
                for stack in 0..self.options.senders.len() {
                    jobs.push(Job { point, stack, seed });
                }
            }
        }
        jobs
    }

    /// Does every run, one at a time, until `interrupt` is asked or the machine does not give what
    /// a run takes. What is done by then is kept, whatever becomes of the others.
    #[must_use]
    pub fn run(&self, watch: &dyn Watch, interrupt: &Interrupt) -> Outcome {
        self.run_each(watch, &mut |job| self.run_one(job, interrupt))
    }

    fn run_one(&self, job: Job, interrupt: &Interrupt) -> Result<(Run, Passage), TransferError> {
        let (forward, backward) = self.links[job.point].clone();
        let path = PathConfig::new(forward, backward, job.seed);
        let limit = Duration::from_nanos(self.experiment.duration.as_nanos());
        let mut config = TransferConfig::new(path, self.options.bytes.as_bytes(), limit);
        config.writes = writes(&self.experiment);
        config.family = self.options.family;
        config.receiver.window = self.receive_window();
        config.receiver.sack_compression = self.options.sack_compression;
        config.captures = self.capture_files(job);
        let sender = &self.options.senders[job.stack];
        let origin = sender.origin(self.experiment.dialect);
        let report = transfer(&config, origin, &|| interrupt.is_asked())?;
        let tolerance = Duration::from_nanos(self.tolerance().as_nanos());
        let run = Run {
            point: job.point,
            stack: job.stack,
            seed: job.seed,
            values: values(&report),
            flow_goodputs: vec![report.goodput_bps() / 1e6],
            trace_hash: 0,
        };
        let passage = Passage {
            job,
            extent: report.extent,
            bytes: report.bytes,
            trust: report.path.trust(tolerance),
            path: report.path,
        };
        Ok((run, passage))
    }

    /// The receiver's largest window in bytes; one that is said in packets counts segments of payload.
    fn receive_window(&self) -> Option<u64> {
        let segment = self.experiment.sender.segment.map(|bytes| bytes.as_bytes());
        self.experiment.receiver.buffer.map(|buffer| match buffer {
            Buffer::Bytes(bytes) => bytes,
            Buffer::Packets(packets) => u64::from(packets) * segment.unwrap_or(SEGMENT_BYTES),
        })
    }

    fn capture_files(&self, job: Job) -> Option<CaptureFiles> {
        let folder = self.options.captures.as_ref()?;
        let senders = self.options.senders.iter().map(ToString::to_string);
        let sender = &captures::names(&senders.collect::<Vec<_>>())[job.stack];
        let labels = (0..self.links.len()).map(|point| self.point_in_words(point));
        let point = &captures::names(&labels.collect::<Vec<_>>())[job.point];
        Some(folder.files(&format!("{sender}_{point}_{}", job.seed)))
    }

    /// A point in words, also if it is the only one.
    fn point_in_words(&self, point: usize) -> String {
        let label = self.plan.label(point);
        let path = self.experiment.path.as_ref().filter(|_| label.is_empty());
        path.map_or(label, |path| format!("loss {}", path.loss))
    }

    /// A run in words.
    fn words(&self, job: Job) -> String {
        let sender = &self.options.senders[job.stack];
        let point = match self.plan.label(job.point).as_str() {
            "" => String::new(),
            label => format!(", {label}"),
        };
        format!("{sender}{point}, repetition {}", job.seed)
    }

    /// Those of the experiment that hold on real packets, and those of the testbed.
    fn parameters(&self, planned: Vec<Parameter>) -> Vec<Parameter> {
        let ours = &self.experiment.stacks;
        let holds = |p: &Parameter| match p.owner.split_once(": ") {
            // The kernel's receiver is not that of the dialect.
            Some((stack, what)) => what != "endpoints" && ours.iter().any(|s| s == stack),
            None => true,
        };
        let mut parameters: Vec<Parameter> = planned.into_iter().filter(holds).collect();
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        for (name, value, source) in [
            ("bytes", self.options.bytes.to_string(), "given or default"),
            (
                "family",
                match self.options.family {
                    Family::V4 => "IPv4".to_owned(),
                    Family::V6 => "IPv6".to_owned(),
                },
                "given or default",
            ),
            (
                "tolerance",
                self.tolerance().to_string(),
                "given or default",
            ),
            (
                "sack_compression",
                match self.options.sack_compression {
                    SackCompression::Kernel => "the kernel's".to_owned(),
                    SackCompression::Off => "off".to_owned(),
                },
                "given or default",
            ),
            (
                "receiver",
                format!("the kernel's, Linux {}", kernel.trim()),
                "this machine",
            ),
        ] {
            parameters.push(Parameter {
                owner: "testbed".to_owned(),
                name: name.to_owned(),
                value,
                source: source.to_owned(),
            });
        }
        parameters
    }
}

/// Sets the sizes of the simulated counterpart's packets to those of IPv6, where an experiment
/// has those of IPv4: the same 1500 bytes with a longer header (RFC 8200 §3) and less payload.
/// Its ACKs stay 20 bytes shorter than those of the wire.
fn fit_ipv6(sender: &mut SenderOptions) {
    const PACKET: u64 = 1500;
    /// IPv6, TCP, and timestamps padded.
    const HEADER: u64 = 40 + 20 + 12;
    sender.segment = Some(ByteCount::from_bytes(PACKET - HEADER));
    sender.header = Some(ByteCount::from_bytes(HEADER));
}

/// Has the receiver of the simulated counterpart acknowledge as Linux's does, where nothing else is said.
fn fit_receiver(receiver: &mut ReceiverOptions, compression: SackCompression) {
    if receiver.delayed_ack.is_none() {
        receiver.acks.get_or_insert(Acks::Adaptive);
    }
    let compressed = compression == SackCompression::Kernel;
    receiver.sack_compression.get_or_insert(compressed);
}

/// The measures that real packets have; what only a simulator can know is missing, and of a
/// kernel's sender whatever it does not tell.
fn values(report: &TransferReport) -> Values {
    let mut values = Values::default();
    values.set(Measure::Goodput, report.goodput_bps() / 1e6);
    if report.extent == Extent::Whole {
        values.set(Measure::Completion, report.lasted.as_secs_f64());
    }
    match &report.sender {
        Some(Counted::Endpoint(stats)) => endpoint_values(&mut values, stats),
        Some(Counted::Kernel(stats)) => {
            values.set(Measure::Retransmissions, stats.retransmissions as f64);
            values.set(Measure::Timeouts, stats.timeouts as f64);
        }
        None => {}
    }
    let forward = &report.path.forward;
    let dropped = |nature| forward.link.drops.of_nature(nature) as f64;
    values.set(Measure::QueueDrops, dropped(LossNature::Congestion));
    values.set(Measure::LinkLosses, dropped(LossNature::Wireless));
    if let Some(waits) = &forward.waits {
        for (measure, q) in [(Measure::DelayMedian, 0.5), (Measure::DelayP95, 0.95)] {
            if let Some(wait) = waits.quantile(q) {
                values.set(measure, wait.as_secs_f64() * 1e3);
            }
        }
    }
    values
}

fn endpoint_values(values: &mut Values, stats: &SenderStats) {
    values.set(Measure::Retransmissions, stats.retransmissions as f64);
    let share = stats.retransmissions as f64 / stats.segments_sent as f64;
    values.set(Measure::RetransmissionShare, share * 100.0);
    values.set(Measure::Timeouts, stats.timeouts as f64);
    values.set(Measure::LossEvents, stats.loss_events as f64);
    values.set(Measure::Recoveries, stats.recoveries as f64);
    let empty = stats.recoveries_left_empty as f64;
    values.set(Measure::RecoveriesLeftEmpty, empty);
    values.set(Measure::Undone, stats.undone() as f64);
}

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
