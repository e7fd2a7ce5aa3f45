//! Traces of any length, whose events are written to files during the run.
//!
//! The data of a summary is collected at the same time, and an [`Onlooker`] may collect more. Memory holds the events
//! of about one round trip, regardless of the length of the run.

use std::io::{self, BufWriter, Write};

use dupack_net::ids::FlowId;
use dupack_packet::CaptureError;
use dupack_tcp::sender::{SenderStats, WindowChange};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::WindowCause;

use super::capture::Capture;
use super::csv::{PacketsCsv, WindowsCsv};
use super::pending::Pending;
use super::record::{HAS_A_FLOW, Recorder, Sink, logging};
use super::{Event, Flow, Reach, What};
use crate::run::{Attempt, BuildError, Interrupt, Scenario};

/// Maximum number of window changes in a summary.
pub const MOST_CHANGES: usize = 1000;

/// File of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceFile {
    /// Every packet, as CSV (`packets.csv`).
    Packets,
    /// Windows, bytes in flight and round-trip times, as CSV.
    Windows,
    /// Capture, as pcapng.
    Capture,
}

impl TraceFile {
    /// Returns the usual file name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets.csv",
            Self::Windows => "windows.csv",
            Self::Capture => "flow.pcapng",
        }
    }
}

/// Destinations of the files of a trace. Writes are buffered.
#[derive(Debug)]
pub struct Outputs<W> {
    /// Destination of [`TraceFile::Packets`].
    pub packets: W,
    /// Destination of [`TraceFile::Windows`].
    pub windows: W,
    /// Destination of [`TraceFile::Capture`].
    pub capture: W,
}

/// Error in writing a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A file cannot be written.
    #[error("cannot write {}", file.name())]
    Write {
        /// The file.
        file: TraceFile,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A packet cannot be captured, for example because it is longer than IP allows.
    #[error("cannot write {}", TraceFile::Capture.name())]
    Capture(#[source] CaptureError),
}

impl From<CaptureError> for StreamError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Write { source, .. } => failed(TraceFile::Capture)(source),
            error => Self::Capture(error),
        }
    }
}

/// Creates the error for `file` from the error of the operating system.
fn failed(file: TraceFile) -> impl FnOnce(io::Error) -> StreamError {
    move |source| StreamError::Write { file, source }
}

/// Summary of a trace that was written to files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Account {
    /// The stack, in its canonical spelling.
    pub stack: String,
    /// Configuration of both ends.
    pub flow: Flow,
    /// Counters of the sender at the end.
    pub stats: SenderStats,
    /// Bytes of the stream that were received in order by the end of the run.
    pub delivered_bytes: u64,
    /// End of the run.
    pub end: Instant,
    /// The first [`MOST_CHANGES`] window changes, without changes by slow start and congestion avoidance.
    pub changes: Vec<WindowChange>,
    /// Number of further window changes.
    pub more_changes: u64,
    /// Progress of the flow, for comparison with loss scripts.
    pub reach: Reach,
}

/// Observer of a trace's events in order of time while they are written, for example to draw them. A pair of onlookers
/// is an onlooker.
pub trait Onlooker {
    /// Called once before the first event, with the flow and its first estimate of the round-trip time, if there is
    /// one.
    fn begin(&mut self, flow: &Flow, srtt: Option<Duration>);

    /// Processes the next event.
    fn event(&mut self, event: &Event);
}

impl<A: Onlooker, B: Onlooker> Onlooker for (A, B) {
    fn begin(&mut self, flow: &Flow, srtt: Option<Duration>) {
        self.0.begin(flow, srtt);
        self.1.begin(flow, srtt);
    }

    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }
}

/// Runs `scenario` with `seed` and writes the events of one of its flows during the run. `flow` is the index of the
/// flow ([`Scenario::tcp_flows`]). If the run is interrupted, or given up by a plug-in, the files end at that time.
///
/// Writing starts with the first round-trip sample, because a capture begins with a handshake of that duration. A
/// transmission and the events after it are written when the fate of the transmission is known. If a link duplicates
/// packets, the fate of the first copy counts.
///
/// # Errors
/// If the network cannot be built, or a file cannot be written, which ends the run.
///
/// # Panics
/// If the scenario has no such TCP flow.
pub fn stream<W: Write, O: Onlooker>(
    scenario: &Scenario,
    (seed, flow): (u64, usize),
    outputs: Outputs<W>,
    onlooker: &mut O,
    interrupt: &Interrupt,
) -> Result<Account, StreamError> {
    trace(scenario, (seed, flow), Some(outputs), onlooker, interrupt)
}

/// Works like [`stream`], but passes the events to the onlooker only.
///
/// # Errors
/// If the network cannot be built.
///
/// # Panics
/// If the scenario has no such TCP flow.
pub fn follow<O: Onlooker>(
    scenario: &Scenario,
    run: (u64, usize),
    onlooker: &mut O,
    interrupt: &Interrupt,
) -> Result<Account, StreamError> {
    trace::<io::Sink, O>(scenario, run, None, onlooker, interrupt)
}

fn trace<W: Write, O: Onlooker>(
    scenario: &Scenario,
    (seed, flow): (u64, usize),
    outputs: Option<Outputs<W>>,
    onlooker: &mut O,
    interrupt: &Interrupt,
) -> Result<Account, StreamError> {
    let _attempt = Attempt::show(interrupt, scenario, seed);
    let logging = logging(scenario);
    let mut simulation = logging.build(seed)?.simulation;
    let id = FlowId(flow as u32);
    let stack = scenario.tcp_flows()[flow].stack.to_string();
    let flow = Flow::of(&simulation, id);
    let failure = Interrupt::new();
    let writing = Writing {
        files: { outputs.map(|outputs| Files::begin(outputs, &flow)) }.transpose()?,
        stack,
        flow,
        onlooker,
        start: Start::default(),
        pending: Pending::default(),
        stage: Stage::Before,
        changes: Vec::new(),
        more_changes: 0,
        reach: Reach::default(),
        outcome: Ok(()),
        failure: &failure,
    };
    let mut recorder = Recorder::new(id, writing);
    let stop = || interrupt.is_asked() || failure.is_asked();
    logging.advance_unless(&mut simulation, &mut recorder, &stop);
    let (stats, delivered_bytes) = {
        let flow = simulation.tcp(id).expect(HAS_A_FLOW);
        (flow.sender().stats(), flow.receiver().in_order_bytes())
    };
    let end = simulation.now();
    recorder.sink.finish(stats, delivered_bytes, end)
}

/// Works like [`follow`], and ends soon after `until`.
///
/// # Errors
/// If the network cannot be built.
///
/// # Panics
/// If the scenario has no such TCP flow.
pub fn watch<O: Onlooker>(
    scenario: &Scenario,
    run: (u64, usize),
    until: Instant,
    onlooker: &mut O,
) -> Result<Account, StreamError> {
    let enough = Interrupt::new();
    let mut onlooker = Until {
        onlooker,
        until,
        enough: &enough,
    };
    follow(scenario, run, &mut onlooker, &enough)
}

/// Onlooker that interrupts a run after a time.
struct Until<'o, O> {
    onlooker: &'o mut O,
    until: Instant,
    enough: &'o Interrupt,
}

impl<O: Onlooker> Onlooker for Until<'_, O> {
    fn begin(&mut self, flow: &Flow, srtt: Option<Duration>) {
        self.onlooker.begin(flow, srtt);
    }

    fn event(&mut self, event: &Event) {
        if event.at > self.until {
            self.enough.ask();
        }
        self.onlooker.event(event);
    }
}

/// Onlooker that writes events when they are complete.
struct Writing<'i, W: Write, O: Onlooker> {
    files: Option<Files<W>>,
    stack: String,
    flow: Flow,
    onlooker: &'i mut O,
    start: Start,
    pending: Pending,
    stage: Stage,
    changes: Vec<WindowChange>,
    more_changes: u64,
    reach: Reach,
    /// First error, if there was one.
    outcome: Result<(), StreamError>,
    /// Interrupt that ends the run after an error, because its files are then useless.
    failure: &'i Interrupt,
}

/// State of the beginning: the handshake in the capture, and the call of the onlooker's `begin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Handshake not yet written.
    Before,
    /// Handshake written, and the onlooker has begun.
    Begun,
}

/// Information that is needed before anything is written.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    first_send: Option<Instant>,
    rtt: Option<Duration>,
    srtt: Option<Duration>,
}

impl Start {
    fn see(&mut self, event: &Event) {
        match &event.what {
            What::Sent(_) => self.first_send = self.first_send.or(Some(event.at)),
            What::State(state) => {
                self.rtt = self.rtt.or(state.rtt);
                self.srtt = self.srtt.or(state.srtt);
            }
            _ => {}
        }
    }

    const fn is_known(&self) -> bool {
        self.rtt.is_some() && self.srtt.is_some()
    }
}

impl<W: Write, O: Onlooker> Sink for Writing<'_, W, O> {
    fn take(&mut self, event: Event) {
        if self.outcome.is_err() {
            return;
        }
        self.start.see(&event);
        self.reach.see(&event);
        self.pending.push(event);
        if self.start.is_known() {
            self.outcome = self.write_settled();
            if self.outcome.is_err() {
                self.failure.ask();
            }
        }
    }
}

impl<W: Write, O: Onlooker> Writing<'_, W, O> {
    fn write_settled(&mut self) -> Result<(), StreamError> {
        while let Some(event) = self.pending.pop_settled() {
            self.write(&event)?;
        }
        Ok(())
    }

    fn write(&mut self, event: &Event) -> Result<(), StreamError> {
        self.begin()?;
        self.onlooker.event(event);
        if let What::Window(change) = &event.what {
            self.note(change);
        }
        match &mut self.files {
            Some(files) => files.event(event),
            None => Ok(()),
        }
    }

    /// Before the first event, writes the handshake and calls the onlooker's `begin`.
    fn begin(&mut self) -> Result<(), StreamError> {
        if self.stage == Stage::Begun {
            return Ok(());
        }
        let Start {
            first_send,
            rtt,
            srtt,
        } = self.start;
        if let Some(Files { capture, .. }) = &mut self.files {
            capture.handshake(first_send, rtt, &self.stack)?;
        }
        self.onlooker.begin(&self.flow, srtt);
        self.stage = Stage::Begun;
        Ok(())
    }

    fn note(&mut self, change: &WindowChange) {
        match change.cause {
            WindowCause::SlowStart | WindowCause::Avoidance => {}
            _ if self.changes.len() < MOST_CHANGES => self.changes.push(*change),
            _ => self.more_changes += 1,
        }
    }

    fn finish(
        mut self,
        stats: SenderStats,
        delivered_bytes: u64,
        end: Instant,
    ) -> Result<Account, StreamError> {
        std::mem::replace(&mut self.outcome, Ok(()))?;
        while let Some(event) = self.pending.pop() {
            self.write(&event)?;
        }
        self.begin()?;
        self.files.map_or(Ok(()), Files::finish)?;
        Ok(Account {
            stack: self.stack,
            flow: self.flow,
            stats,
            delivered_bytes,
            end,
            changes: self.changes,
            more_changes: self.more_changes,
            reach: self.reach,
        })
    }
}

struct Files<W: Write> {
    packets: PacketsCsv<BufWriter<W>>,
    windows: WindowsCsv<BufWriter<W>>,
    capture: Capture<W>,
}

impl<W: Write> Files<W> {
    fn begin(outputs: Outputs<W>, flow: &Flow) -> Result<Self, StreamError> {
        let packets = PacketsCsv::new(BufWriter::new(outputs.packets), flow);
        let windows = WindowsCsv::new(BufWriter::new(outputs.windows), flow);
        Ok(Self {
            packets: packets.map_err(failed(TraceFile::Packets))?,
            windows: windows.map_err(failed(TraceFile::Windows))?,
            capture: Capture::new(outputs.capture, flow)?,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), StreamError> {
        let packets = self.packets.event(event);
        packets.map_err(failed(TraceFile::Packets))?;
        let windows = self.windows.event(event);
        windows.map_err(failed(TraceFile::Windows))?;
        Ok(self.capture.event(event)?)
    }

    fn finish(self) -> Result<(), StreamError> {
        let packets = self.packets.finish();
        packets.map_err(failed(TraceFile::Packets))?;
        let windows = self.windows.finish();
        windows.map_err(failed(TraceFile::Windows))?;
        self.capture.finish()?;
        Ok(())
    }
}
