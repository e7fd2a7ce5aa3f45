//! Execution of a case, with a description of its failure.

use std::any::Any;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use dupack_algorithms::catalog::{Axis, Value};
use dupack_net::flow::Reneging;
use dupack_net::ids::FlowId;
use dupack_net::simulation::Simulation;
use dupack_net::tcp_flow::TcpFlow;
use dupack_tcp::SenderConfig;
use dupack_tcp::time::{Duration, Instant};

use super::case::Case;
use super::log::{Log, Logging};
use super::monitor::Monitor;
use super::scene::Scene;

/// Maximum number of consecutive timeouts without progress. Apart from bursts, a path loses at most about half of the
/// packets in each direction. A timeout makes progress if its segment and the ACK of this segment arrive, so this many
/// failures in a row are practically impossible.
const TIMEOUTS_WITHOUT_PROGRESS: u32 = 400;
/// Simulated time between two checks.
const STRIDE: Duration = Duration::from_secs(5);
/// Maximum size of a recovery's state in debug format at the end of a transfer. A larger state would contain data for
/// segments.
const STATE_TEXT_BYTES: usize = 4_000;

/// Rules with which the monitor checks a transfer.
#[derive(Clone, Debug)]
pub struct Rules {
    pub sender: SenderConfig,
    pub receiver_buffer: u32,
    /// `true` if the receiver may discard sacked data.
    pub reneges: bool,
    /// `true` if the stack needs an echo of exactly the marked data.
    pub exact_echo: bool,
    pub total_bytes: u64,
    /// Maximum duplicate ACK threshold of the stack.
    pub dup_threshold: u64,
    /// `true` if the stack needs SACKs.
    pub sack: bool,
    /// `true` if the recovery paces a reduction by PRR or by rate halving.
    pub prr: bool,
    /// `true` if the recovery retransmits regardless of SACKs: all recoveries that do not need SACKs, and ns-2's SACK
    /// after a timeout.
    pub resends_sacked: bool,
    /// Situations in which the recovery may wait for the retransmission timer with nothing in flight.
    pub idling: Idling,
}

/// Situations in which a recovery may wait for the retransmission timer although it counts nothing as in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idling {
    /// In no situation: missing data is in flight until it is lost, and is then retransmitted (LE, RACK without PRR).
    Never,
    /// Before a recovery is triggered. With FACK and Momentary, holes below the forward ACK are neither in flight nor
    /// retransmitted yet. PRR's conservative bound may be less than a segment if a short segment was delivered last.
    /// With RFC 6675 §5.1, no new recovery begins before all data that was outstanding at the last timeout is
    /// acknowledged. Data that was outstanding at a timeout is retransmitted.
    BeforeTimeout,
    /// In any situation, if duplicate ACKs reduce the count to zero, or once a lost retransmission is detected (ns-2's
    /// FACK).
    Always,
}

impl Rules {
    fn new(case: &Case, scene: &Scene) -> Self {
        let needs = case.stack.needs(case.dialect);
        let effective = case.stack.effective(case.dialect);
        let all = || effective.iter().flat_map(|entry| &entry.parameters);
        let word = |name: &str| {
            all().find_map(|(spec, value, _)| match value {
                Value::Choice(word) if spec.name == name => Some(&**word),
                _ => None,
            })
        };
        let thresholds = all().filter_map(|(spec, value, _)| match value {
            Value::Integer(number) if spec.name == "dup_threshold" => Some(*number),
            _ => None,
        });
        Self {
            sender: *scene.sender(),
            receiver_buffer: scene.receiver().buffer,
            reneges: scene.reneging() != Reneging::Never,
            exact_echo: needs.exact_echo,
            total_bytes: scene.total_bytes(),
            dup_threshold: thresholds.max().unwrap_or(3),
            sack: needs.sack,
            prr: match case.stack.name(Axis::Recovery) {
                "sack" => word("reduction").is_some_and(|word| word != "rfc6675"),
                _ => word("prr").is_some_and(|word| word != "off"),
            },
            idling: match case.stack.name(Axis::Recovery) {
                "sack" if word("pipe") == Some("rfc6675") => Idling::BeforeTimeout,
                "le" => Idling::Never,
                "rack" if word("prr") == Some("off") => Idling::Never,
                "rack" => Idling::BeforeTimeout,
                // ns-2's FACK retransmits holes only in a recovery, and otherwise waits for the timer.
                "fack" if word("after_rto") == Some("resume") => Idling::Always,
                "fack" if word("lost_retransmission") == Some("ignore") => Idling::BeforeTimeout,
                "momentary" | "delayed-fast" => Idling::BeforeTimeout,
                _ => Idling::Always,
            },
            resends_sacked: !needs.sack || word("after_rto") == Some("go-back-n"),
        }
    }

    /// Returns the maximum number of transmissions, and of events, without progress, if at most `segments` segments
    /// were outstanding at any time.
    pub fn most_without_progress(&self, segments: usize) -> u64 {
        u64::from(TIMEOUTS_WITHOUT_PROGRESS) * (segments as u64 + 50)
    }
}

/// A failed case.
#[derive(Debug)]
pub struct Failure {
    /// Name of the case.
    case: String,
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\nDUPACK_HOSTILE_CASE='{}' cargo test -p dupack-net --test it stacks::replay -- \
             --nocapture",
            self.message, self.case
        )
    }
}

/// Counts of the events of a case.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "read by eye after a replay")]
pub struct Summary {
    pub ended_at: Instant,
    pub segments_sent: u64,
    pub timeouts: u64,
    pub loss_events: u64,
    pub window_probes: u64,
    pub renegings: u64,
    pub spurious_retransmissions: u64,
    pub ack_drops: u64,
    pub marks: u64,
    pub marks_answered: u64,
    pub peak_segments: usize,
}

/// Runs `case`. Returns its events, or its failure.
pub fn run(case: &Case, logging: Logging) -> Result<Summary, Failure> {
    let mut log = Log::new(logging);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        let scene = Scene::draw(case);
        if logging == Logging::On {
            println!("{}", scene.describe());
        }
        transfer(case, &scene, &mut log)
    }));
    log.print();
    let message = match result {
        Ok(Ok(summary)) => return Ok(summary),
        Ok(Err(message)) => message,
        Err(payload) => words(payload.as_ref()),
    };
    Err(Failure {
        case: case.to_string(),
        message,
    })
}

fn transfer(case: &Case, scene: &Scene, log: &mut Log) -> Result<Summary, String> {
    let rules = Rules::new(case, scene);
    let patience = rules.sender.rtt.max_rto * u64::from(TIMEOUTS_WITHOUT_PROGRESS);
    let mut monitor = Monitor::new(rules);
    let mut run = scene.simulation(case);
    while !is_over(&run, scene) {
        let until = run.now() + STRIDE;
        run.run_until(until, &mut (&mut *log, &mut monitor));
        let flow = flow(&run);
        bounded(flow, &monitor)?;
        let still = run.now().since(monitor.progress().at);
        if still > patience && !flow.sender().is_done() {
            return Err(format!(
                "deadlock: no progress since {:?}",
                monitor.progress().at
            ));
        }
    }
    books_balance(flow(&run), scene)?;
    Ok(summary(&run, &monitor))
}

fn flow(run: &Simulation) -> &TcpFlow {
    run.tcp(FlowId(0)).expect("the only flow")
}

/// Returns `true` if all data has been written, delivered and acknowledged, and no packet is in transit.
fn is_over(run: &Simulation, scene: &Scene) -> bool {
    let board = flow(run).sender().scoreboard();
    board.una() == scene.total_bytes() && run.fabric().packets().live() == 0
}

/// Checks that memory is bounded by the window.
fn bounded(flow: &TcpFlow, monitor: &Monitor) -> Result<(), String> {
    let remembered = flow.truth().remembered();
    if remembered > 4 * monitor.peak_segments + 4 {
        return Err(format!("the truth remembers {remembered} losses"));
    }
    if flow.truth().in_flight_bytes() > 1 << 40 || flow.truth().in_flight_packets() > 1 << 40 {
        return Err("the true number of bytes in flight is negative".to_owned());
    }
    Ok(())
}

/// Checks that every byte has arrived, nothing is in flight, and no state remains.
fn books_balance(flow: &TcpFlow, scene: &Scene) -> Result<(), String> {
    let (sender, truth) = (flow.sender(), flow.truth());
    let delivered = flow.receiver().in_order_bytes();
    if delivered != scene.total_bytes() {
        return Err(format!("delivered {delivered} of {}", scene.total_bytes()));
    }
    if !sender.is_done() || sender.rto_at().is_some() {
        return Err("the sender is not done".to_owned());
    }
    let in_flight = (truth.in_flight_packets(), truth.in_flight_bytes());
    if in_flight != (0, 0) {
        return Err(format!(
            "{in_flight:?} (packets, bytes) in flight at the end"
        ));
    }
    let (counters, stats) = (truth.counters(), sender.stats());
    if counters.data_packets != stats.segments_sent
        || counters.retransmissions() != stats.retransmissions
    {
        return Err(format!(
            "the truth counts {counters:?}, the sender {stats:?}"
        ));
    }
    let state = format!("{:?}", sender.stack().recovery).len();
    if state > STATE_TEXT_BYTES {
        return Err(format!(
            "the recovery keeps {state} bytes of state in debug format"
        ));
    }
    Ok(())
}

fn summary(run: &Simulation, monitor: &Monitor) -> Summary {
    let flow = flow(run);
    let (stats, counters) = (flow.sender().stats(), flow.truth().counters());
    Summary {
        ended_at: run.now(),
        segments_sent: stats.segments_sent,
        timeouts: stats.timeouts,
        loss_events: stats.loss_events,
        window_probes: stats.window_probes,
        renegings: stats.renegings,
        spurious_retransmissions: counters.spurious_retransmissions,
        ack_drops: counters.ack_drops.total(),
        marks: counters.marked_packets,
        marks_answered: stats.marks_answered,
        peak_segments: monitor.peak_segments,
    }
}

impl Failure {
    /// Returns the message without its numbers, because failures of one kind usually have one cause.
    pub fn kind(&self) -> String {
        let digit = |c: char| c.is_ascii_digit();
        self.message.replace(digit, "")
    }
}

/// Returns the message of a panic.
fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|&s| s.to_owned()))
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
