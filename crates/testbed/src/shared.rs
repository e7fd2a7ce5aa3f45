//! A run of an experiment on real packets: all flows, our senders and the kernel's, send at the same time over one
//! emulated path.

use std::error::Error;

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::{ExperimentError, ReadFile, Source};
use dupack_lab::experiment::{Experiment, FlowGroup, ReceiverOptions, SenderOptions};
use dupack_lab::results::{Measure, Values};
use dupack_lab::run::{Interrupt, Job, Plan};
use dupack_lab::stats::jain_index;
use dupack_lab::units::Delay;
use dupack_net::histogram::Histogram;
use dupack_net::link::LossNature;
use dupack_tcp::time::{Duration, Instant};
use dupack_wire::path::{PathConfig, PathReport, Trust};
use dupack_wire::transfer::{
    FlowReport, LatencyReport, SharedConfig, SharedFlow, SharedReport, TransferError, probe, share,
};
use miette::Diagnostic;
use thiserror::Error;

use crate::{STAND_IN, SenderError, SenderSpec};

/// Lateness that at most 1 % of a run's packets may exceed. If more packets exceed it, the run is void, as in `dupack
/// testbed`.
pub const TOLERANCE: Delay = Delay::from_nanos(1_000_000);

/// One point of an experiment with a sender under comparison, ready to run on real packets.
#[derive(Debug)]
pub struct Shared {
    experiment: Experiment,
    /// Plan in which all flows have the same stack. It determines the start times of the flows and the path.
    plan: Plan,
    flows: Vec<Member>,
    /// Interval of the datagrams that measure latency. `None` sends no datagrams.
    probe: Option<Delay>,
}

/// A flow of the experiment.
#[derive(Clone, Debug)]
struct Member {
    /// Name of the flow's group.
    name: String,
    sender: SenderSpec,
    /// `true` if the flow uses the sender under comparison.
    compared: bool,
    /// Additional round-trip time of the flow.
    detour: Delay,
}

/// Outcome of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SharedOutcome {
    /// Measures of the simulator that are available for real packets.
    pub values: Values,
    /// Outcome of each flow, in the order of the file.
    pub flows: Vec<FlowOutcome>,
    /// Validity of the run.
    pub trust: Trust,
    /// Report of the path.
    pub path: PathReport,
    /// Report of the latency probe, if there was one.
    pub latency: Option<LatencyReport>,
}

/// Outcome of a flow.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// Name of the flow's group. Empty if the group has no name.
    pub group: String,
    /// Name of the sender: as given, or as read back from the socket at the end if the sender is the kernel's.
    pub sender: String,
    /// `true` if the flow uses the sender under comparison.
    pub compared: bool,
    /// Start time in seconds, relative to the start of the run.
    pub start_s: f64,
    /// Goodput from the flow's start to the end of the run, in Mbit/s.
    pub goodput_mbit_s: f64,
    /// Data segments that the flow had sent when the run ended, including retransmissions, and the number of
    /// retransmissions.
    pub segments: Option<(u64, u64)>,
    /// Data packets of the flow that had been offered to the path's link by then. This number is at most the number of
    /// segments, and may be smaller because some segments had not reached the link yet.
    pub offered: u64,
    /// Packets among `offered` that the link dropped.
    pub dropped: u64,
    /// Queueing delay of the flow's data packets in ms: the median and the 95th percentile.
    pub waits_ms: Option<(f64, f64)>,
}

/// Errors of an experiment that cannot run on real packets, or of a run.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum SharedError {
    /// Real packets do not support a part of the experiment.
    #[error("real packets do not support {what}")]
    Unfit {
        /// The unsupported part.
        what: &'static str,
    },
    /// There is no such sender.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// The path is impossible.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A sender is not available on this machine, or no namespace or device can be made.
    #[error("{}", in_words(.0))]
    Here(Box<TransferError>),
    /// The run failed.
    #[error("{}", in_words(.0))]
    Run(Box<TransferError>),
}

/// Formats an error and its causes. Causes that the text already contains are left out.
fn in_words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !words.contains(&text) {
            words += &format!(": {text}");
        }
        next = cause.source();
    }
    words
}

impl Shared {
    /// Prepares `experiment`, which must not have a sweep. Flows that name no sender use `sender`. Senders are stacks
    /// of `catalog` or the kernel's. `files` provides the traces that the experiment names.
    ///
    /// # Errors
    /// Returns an error if real packets do not support a part of the experiment, a sender is unknown, or the path is
    /// impossible.
    pub fn new(
        experiment: &Experiment,
        sender: &str,
        catalog: &Catalog,
        files: &dyn ReadFile,
    ) -> Result<Self, SharedError> {
        if let Some(what) = unfit(experiment) {
            return Err(SharedError::Unfit { what });
        }
        let mut planned = experiment.clone();
        if planned.flows.is_empty() {
            planned.flows.push(FlowGroup::default());
        }
        let mut flows = Vec::new();
        for group in &planned.flows {
            let text = group.stack.as_deref().unwrap_or(sender);
            let member = Member {
                name: group.name.clone(),
                sender: SenderSpec::parse(text, catalog)?,
                compared: group.stack.is_none(),
                detour: Delay::default(),
            };
            flows.extend((0..group.count).map(|_| member.clone()));
        }
        planned.stacks = vec![STAND_IN.to_owned()];
        for group in &mut planned.flows {
            group.stack = None;
        }
        let source = Source::of_flags(&planned);
        let plan = Plan::with_files(planned, &source, catalog, files)?;
        Ok(Self {
            experiment: experiment.clone(),
            plan,
            flows,
            probe: None,
        })
    }

    /// Sets the additional round-trip time of each flow, in the order of the file.
    #[must_use]
    pub fn with_detours(mut self, detours: &[Delay]) -> Self {
        for (member, detour) in self.flows.iter_mut().zip(detours) {
            member.detour = *detour;
        }
        self
    }

    /// Sets the interval of the datagrams that measure latency.
    #[must_use]
    pub fn with_probe(self, every: Option<Delay>) -> Self {
        Self {
            probe: every,
            ..self
        }
    }

    /// Checks that this machine has every sender.
    ///
    /// # Errors
    /// Returns an error if a sender is missing, or if namespaces cannot be made.
    pub fn probe(&self) -> Result<(), SharedError> {
        let mut asked: Vec<&str> = Vec::new();
        for member in &self.flows {
            if let SenderSpec::Kernel(control) = &member.sender
                && !asked.contains(&control.as_str())
            {
                asked.push(control);
                probe(control).map_err(|error| SharedError::Here(Box::new(error)))?;
            }
        }
        Ok(())
    }

    /// Runs the experiment with `seed`. Returns `None` if interrupted.
    ///
    /// # Errors
    /// Returns an error if the machine cannot provide what the run needs, or if a connection breaks off.
    pub fn run(
        &self,
        seed: u64,
        tolerance: Delay,
        interrupt: &Interrupt,
    ) -> Result<Option<SharedOutcome>, SharedError> {
        let job = Job {
            point: 0,
            stack: 0,
            seed,
        };
        let scenario = self.plan.scenario(job);
        let (forward, backward) = scenario.path_links(seed).map_err(|fault| {
            let source = Source::of_flags(&self.experiment);
            ExperimentError::at(&source, &fault.key, fault.message, None)
        })?;
        let starts = scenario.flow_starts(seed);
        let lasts = Duration::from_nanos(self.experiment.duration.as_nanos());
        let mut config = SharedConfig::new(PathConfig::new(forward, backward, seed), lasts);
        config.probe = self
            .probe
            .map(|every| Duration::from_nanos(every.as_nanos()));
        let members = self.flows.iter().zip(&starts);
        let flows = members.map(|(member, start)| {
            let origin = member.sender.origin(self.experiment.dialect);
            let mut flow = SharedFlow::new(origin, start.since(Instant::ZERO));
            flow.detour = Duration::from_nanos(member.detour.as_nanos());
            flow
        });
        let flows: Vec<SharedFlow> = flows.collect();
        match share(&config, flows, &|| interrupt.is_asked()) {
            Ok(report) => Ok(Some(self.outcome(report, &starts, tolerance))),
            Err(TransferError::Interrupted) => Ok(None),
            Err(error @ TransferError::Network(_)) => Err(SharedError::Here(Box::new(error))),
            Err(error) => Err(SharedError::Run(Box::new(error))),
        }
    }

    fn outcome(&self, report: SharedReport, starts: &[Instant], tolerance: Delay) -> SharedOutcome {
        let flows = self.flows.iter().zip(&report.flows).zip(starts);
        let flows: Vec<FlowOutcome> = flows
            .map(|((member, flow), start)| member.outcome(flow, *start))
            .collect();
        SharedOutcome {
            values: values(&flows, &report.path),
            flows,
            trust: report
                .path
                .trust(Duration::from_nanos(tolerance.as_nanos())),
            path: report.path,
            latency: report.latency,
        }
    }
}

impl Member {
    fn outcome(&self, flow: &FlowReport, start: Instant) -> FlowOutcome {
        let control = flow.control.as_ref();
        FlowOutcome {
            group: self.name.clone(),
            sender: control.map_or(self.sender.to_string(), |control| {
                SenderSpec::Kernel(control.clone()).to_string()
            }),
            compared: self.compared,
            start_s: start.since(Instant::ZERO).as_secs_f64(),
            goodput_mbit_s: flow.goodput_bps() / 1e6,
            segments: flow.segments.zip(flow.retransmissions),
            offered: flow.passage.offered,
            dropped: flow.passage.dropped,
            waits_ms: waits(&flow.passage.waits),
        }
    }
}

/// Returns the median and the 95th percentile in ms.
fn waits(waits: &Histogram) -> Option<(f64, f64)> {
    let at = |q| Some(waits.quantile(q)?.as_secs_f64() * 1e3);
    at(0.5).zip(at(0.95))
}

/// Returns the measures of the compared flows that are available for real packets, with the definitions of the
/// simulator.
fn values(flows: &[FlowOutcome], path: &PathReport) -> Values {
    let mut values = Values::default();
    let compared: Vec<&FlowOutcome> = match flows.iter().any(|flow| flow.compared) {
        true => flows.iter().filter(|flow| flow.compared).collect(),
        false => flows.iter().collect(),
    };
    let goodputs: Vec<f64> = compared.iter().map(|flow| flow.goodput_mbit_s).collect();
    values.set(Measure::Goodput, goodputs.iter().sum());
    let total = flows.iter().map(|flow| flow.goodput_mbit_s).sum();
    values.set(Measure::TotalGoodput, total);
    if let Some(index) = jain_index(&goodputs) {
        values.set(Measure::Fairness, index);
    }
    let counted: Option<Vec<(u64, u64)>> = compared.iter().map(|flow| flow.segments).collect();
    if let Some(counted) = counted {
        let segments: u64 = counted.iter().map(|(all, _)| all).sum();
        let again: u64 = counted.iter().map(|(_, again)| again).sum();
        values.set(Measure::Retransmissions, again as f64);
        if segments > 0 {
            let share = again as f64 / segments as f64;
            values.set(Measure::RetransmissionShare, share * 100.0);
        }
    }
    let forward = &path.forward;
    let dropped = |nature| forward.link.drops.of_nature(nature) as f64;
    values.set(Measure::QueueDrops, dropped(LossNature::Congestion));
    values.set(Measure::LinkLosses, dropped(LossNature::Wireless));
    if let Some((median, p95)) = forward.waits.as_ref().and_then(waits) {
        values.set(Measure::DelayMedian, median);
        values.set(Measure::DelayP95, p95);
    }
    values
}

/// Returns the part of an experiment that real packets do not support, if any.
fn unfit(experiment: &Experiment) -> Option<&'static str> {
    let group = |has: fn(&FlowGroup) -> bool| experiment.flows.iter().any(has);
    let own = |sender: &SenderOptions, receiver: &ReceiverOptions| {
        *sender != SenderOptions::default() || *receiver != ReceiverOptions::default()
    };
    [
        (experiment.path.is_none(), "networks other than a `[path]`"),
        (experiment.access.is_some(), "`[access]`"),
        (!experiment.udp.is_empty(), "`[[udp]]`"),
        (!experiment.media.is_empty(), "`[[media]]`"),
        (
            experiment.warm_up.as_nanos() > 0,
            "`warm_up`: a run counts from its start",
        ),
        (
            group(|flow| {
                flow.video.is_some()
                    || flow.web.is_some()
                    || flow.bytes.is_some()
                    || !flow.writes.is_empty()
            }),
            "flows that do not always have more data",
        ),
        (group(|flow| flow.reverse), "`reverse` flows"),
        (
            own(&experiment.sender, &experiment.receiver)
                || experiment
                    .flows
                    .iter()
                    .any(|flow| own(&flow.sender, &flow.receiver)),
            "`sender` and `receiver` options",
        ),
    ]
    .into_iter()
    .find_map(|(has, what)| has.then_some(what))
}

#[cfg(test)]
mod tests {
    use dupack_lab::experiment::load::Disk;

    use super::*;

    const FILE: &str = r#"
stacks = ["kernel:cubic"]
duration = "2s"
[path]
rate = "5Mbit/s"
delay = "10ms"
buffer = "20pkt"
[[flows]]
name = "standing"
[[flows]]
stack = "rack/bbr"
count = 2
start_spread = "1s"
"#;

    fn shared(text: &str, sender: &str) -> Result<Shared, SharedError> {
        let experiment = Source::new("test.toml", text.to_owned()).parse()?;
        Shared::new(&experiment, sender, &Catalog::builtin(), &Disk)
    }

    #[test]
    fn flows_without_a_sender_use_the_compared_sender() {
        let shared = shared(FILE, "kernel:cubic").unwrap();
        let flows = shared.flows.iter();
        let flows: Vec<(String, bool)> = flows
            .map(|flow| (flow.sender.to_string(), flow.compared))
            .collect();
        let others = ("rack/bbr".to_owned(), false);
        assert_eq!(
            flows,
            [("kernel:cubic".to_owned(), true), others.clone(), others]
        );
    }

    #[test]
    fn unsupported_parts_are_rejected_by_name() {
        for (more, part) in [
            ("[[flows]]\nbytes = \"1MB\"", "always have more"),
            ("[[flows]]\nreverse = true", "reverse"),
            ("[[udp]]\nrate = \"1Mbit/s\"", "udp"),
            ("[receiver]\nsack = false", "option"),
        ] {
            let error = shared(&format!("{FILE}{more}\n"), "sack/reno").unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        let late = FILE.replace("duration", "warm_up = \"1s\"\nduration");
        let error = shared(&late, "sack/reno").unwrap_err();
        assert!(error.to_string().contains("warm_up"), "{error}");
        assert!(matches!(
            shared(FILE, "kernel:a b"),
            Err(SharedError::Sender(_))
        ));
    }

    /// There are two flows of the compared sender, and one other flow.
    #[test]
    fn measures_cover_the_compared_flows() {
        let flow = |compared, goodput_mbit_s, segments| FlowOutcome {
            group: String::new(),
            sender: "sack/reno".to_owned(),
            compared,
            start_s: 0.0,
            goodput_mbit_s,
            segments,
            offered: 0,
            dropped: 0,
            waits_ms: None,
        };
        let mut flows = vec![
            flow(true, 1.0, Some((100, 5))),
            flow(true, 2.0, Some((100, 1))),
            flow(false, 4.0, Some((1000, 500))),
        ];
        let path = PathReport::default();
        let got = values(&flows, &path);
        assert_eq!(got.get(Measure::Goodput), Some(3.0));
        assert_eq!(got.get(Measure::TotalGoodput), Some(7.0));
        assert_eq!(got.get(Measure::Retransmissions), Some(6.0));
        assert_eq!(got.get(Measure::RetransmissionShare), Some(3.0));
        assert_eq!(got.get(Measure::Fairness), Some(0.9));
        flows[1].segments = None;
        let got = values(&flows, &path);
        assert_eq!(got.get(Measure::RetransmissionShare), None);
    }
}
