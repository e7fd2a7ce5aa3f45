//! Testbed that compares senders on real packets: one after the other, they send over the same emulated path to a
//! receiver in the kernel.
//!
//! The path comes from an experiment file. Its links are built as in a simulation and run in real time by
//! [`dupack_wire::path`]. Therefore, the stacks among the senders can also run in the simulator
//! ([`Testbed::counterpart`]), but the kernel's senders cannot. If the experiment does not set the options of the
//! receiver, the receiver in the simulator behaves like Linux.

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
pub use outcome::{Passage, TestbedResults};
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
use dupack_lab::results::{Level, Measure, Parameter, Run, Values};
use dupack_lab::run::{Held, Interrupt, Job, Plan, TooLarge, room};
use dupack_lab::units::{Buffer, ByteCount, Delay};

/// Stack for planning the path if no sender is a stack. It is never run.
const STAND_IN: &str = "sack/reno";

/// Payload of a segment with timestamps on Ethernet, in bytes.
const SEGMENT_BYTES: u64 = 1448;

/// Options of a testbed in addition to its experiment.
#[derive(Clone, Debug)]
pub struct TestbedOptions {
    /// Senders. The first one is the baseline.
    pub senders: Vec<SenderSpec>,
    /// Number of bytes that each sender transfers. If the experiment's flow has writes, these determine the number
    /// instead.
    pub bytes: ByteCount,
    /// Lateness of packets above which a run is void. `None` stands for the default of [`Testbed::tolerance`].
    pub tolerance: Option<Delay>,
    /// IP version.
    pub family: Family,
    /// Compression of the ACKs of out-of-order segments by the receiving kernel.
    pub sack_compression: SackCompression,
    /// Folder for captures of the path's packets, if requested.
    pub captures: Option<CaptureFolder>,
}

/// Validated senders on real packets, ready to run.
#[derive(Debug)]
pub struct Testbed {
    options: TestbedOptions,
    experiment: Experiment,
    plan: Plan,
    /// Forward and backward link of each point.
    links: Vec<(LinkConfig, LinkConfig)>,
}

/// Errors of a testbed or its runs.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum TestbedError {
    /// The path or a stack is impossible.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A sender is listed twice.
    #[error("the sender {0} is listed twice")]
    Twice(String),
    /// The tolerance is zero.
    #[error("a tolerance of 0 would void every run: no packet leaves exactly at its due time")]
    #[diagnostic(help("by default, the tolerance is 1 % of the round-trip time, at least 1ms"))]
    NoTolerance,
    /// There is nothing to transfer, or no sender.
    #[error("there is nothing to do: {0}")]
    Nothing(&'static str),
    /// The results do not fit into memory.
    #[error(transparent)]
    #[diagnostic(transparent)]
    TooLarge(#[from] TooLarge),
    /// IPv6 was requested on a machine without it.
    #[error("this machine's kernel has no IPv6: use IPv4 (`--family ipv4`)")]
    NoIpv6,
    /// A sender is not available on this machine.
    #[error("{sender} is not available on this machine")]
    Sender {
        /// Name of the sender.
        sender: String,
        /// Reason why the sender is not available.
        source: Box<TransferError>,
    },
    /// A run failed.
    #[error("the run failed: {run}")]
    Run {
        /// Description of the run.
        run: String,
        /// Reason for the failure.
        source: Box<TransferError>,
    },
}

/// Receives the progress of a testbed.
pub trait Watch {
    /// Called when a run begins.
    fn run_begins(&self, what: &str);
    /// Called when a run is done.
    fn run_done(&self);
}

impl Testbed {
    /// Validates an experiment and the options of a testbed. The stacks are set here from `options` and must be in
    /// `catalog`.
    ///
    /// # Errors
    /// Returns an error if any part is impossible.
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
        // Transfers and recorded traces start with the run. With real packets, no other start is possible.
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

    /// Checks that this machine has every sender.
    ///
    /// # Errors
    /// Returns an error if a sender or IPv6 is missing, or if namespaces cannot be made.
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

    /// Returns the lateness of packets above which a run is void: the configured tolerance, or 1 % of the longest
    /// round-trip time without queueing, but at least 1 ms. On a path of 600 ms, one millisecond does not matter.
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

    /// Returns the same experiment for the simulator, or `None` if no sender is a stack.
    #[must_use]
    pub fn counterpart(&self) -> Option<&Plan> {
        (!self.experiment.stacks.is_empty()).then_some(&self.plan)
    }

    /// Returns the runs in order. All senders of a repetition at a point run one after the other, so that a temporary
    /// disturbance of the machine affects all of them.
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

    /// Runs every job, one at a time, until `interrupt` is set or the machine cannot provide what a run needs. The
    /// results of finished runs are kept in any case.
    #[must_use]
    pub fn run(&self, watch: &dyn Watch, interrupt: &Interrupt) -> TestbedResults {
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

    /// Returns the maximum receive window in bytes. If the buffer is given in packets, each counts as one segment's
    /// payload.
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

    /// Describes a point, even if the experiment has only one.
    fn point_in_words(&self, point: usize) -> String {
        let label = self.plan.label(point);
        let path = self.experiment.path.as_ref().filter(|_| label.is_empty());
        path.map_or(label, |path| format!("loss {}", path.loss))
    }

    /// Describes a run.
    fn words(&self, job: Job) -> String {
        let sender = &self.options.senders[job.stack];
        let point = match self.plan.label(job.point).as_str() {
            "" => String::new(),
            label => format!(", {label}"),
        };
        format!("{sender}{point}, repetition {}", job.seed)
    }

    /// Returns the parameters of the experiment that apply to real packets, and the parameters of the testbed.
    fn parameters(&self, planned: Vec<Parameter>) -> Vec<Parameter> {
        let ours = &self.experiment.stacks;
        let holds = |p: &Parameter| match p.owner.split_once(": ") {
            // The dialect does not apply to the kernel's receiver.
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
                level: Level::Basic,
            });
        }
        parameters
    }
}

/// Sets the packet sizes of the simulated counterpart to those of IPv6 instead of IPv4: also 1500 bytes, but with a
/// longer header (RFC 8200 §3) and less payload. The counterpart's ACKs remain 20 bytes shorter than real ones.
fn fit_ipv6(sender: &mut SenderOptions) {
    const PACKET: u64 = 1500;
    /// Headers of IPv6 and TCP, and timestamps with padding, in bytes.
    const HEADER: u64 = 40 + 20 + 12;
    sender.segment = Some(ByteCount::from_bytes(PACKET - HEADER));
    sender.header = Some(ByteCount::from_bytes(HEADER));
}

/// Makes the receiver of the simulated counterpart acknowledge as Linux does, unless the experiment specifies
/// otherwise.
fn fit_receiver(receiver: &mut ReceiverOptions, compression: SackCompression) {
    if receiver.delayed_ack.is_none() {
        receiver.acks.get_or_insert(Acks::Adaptive);
    }
    let compressed = compression == SackCompression::Kernel;
    receiver.sack_compression.get_or_insert(compressed);
}

/// Returns the measures that are available for real packets. Measures that only a simulator knows are missing, and so
/// are those that the kernel does not report about its sender.
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

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
