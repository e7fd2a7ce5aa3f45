//! Several simultaneous senders over one emulated path, each with its own receiver in the kernel.
//!
//! ```text
//!   near                                                        far
//!   kernel's sockets ──┐
//!                      ├─▶ one emulated path, in both ways ──▶ a socket and a reader for each
//!   our endpoints    ──┘
//! ```
//!
//! All connections are established before the first sender starts. Each sender sends from its own start time to the end
//! of the run and always has more data. Every byte that arrives is verified.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use dupack_tcp::connection::Reason;
use dupack_tcp::time::{Duration, Instant};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

use super::kernel::SocketStats;
use super::latency::{self, ECHO_PORT, LatencyReport};
use super::receiver::{Window, is_timeout, listen};
use super::sender::{Attached, attach, establish, socket};
use super::{Origin, PATTERN, ReceiverConfig, SLICE, SackCompression, Stop, TransferError, system};
use crate::clock::WallClock;
use crate::family::Family;
use crate::host::{Application, ConnectionReport, Digest, Opening, Pattern, Supply, Waker};
use crate::path::{
    Attachment, EndpointLosses, FlowPassage, NetworkError, PathConfig, PathNetwork, PathReport,
    Side,
};

/// Port of the first receiver. The others use the following ports.
const FIRST_PORT: u16 = 5001;

/// Maximum time to establish the connections.
const PATIENCE: Duration = Duration::from_secs(20);

/// Maximum number of bytes read or written at once.
const BUFFER_BYTES: usize = 1 << 16;

/// Configuration of several senders on one path.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SharedConfig {
    /// The path. Its links and their scheduled changes start when the path is made, which is a few round trips before
    /// the senders may start.
    pub path: PathConfig,
    /// Attachment of the hosts to the path.
    pub attachment: Attachment,
    /// IP version.
    pub family: Family,
    /// Configuration of each receiver.
    pub receiver: ReceiverConfig,
    /// Duration of the run, from the time when all connections are established.
    pub duration: Duration,
    /// Interval of the datagrams that measure the latency while the senders are active. `None` sends no datagrams.
    pub probe: Option<Duration>,
}

impl SharedConfig {
    /// Creates a run of `duration` over `path` and IPv4, with Ethernet's MTU and offload and the receiving kernel's
    /// defaults.
    #[must_use]
    pub fn new(path: PathConfig, duration: Duration) -> Self {
        Self {
            path,
            attachment: Attachment::default(),
            family: Family::V4,
            receiver: ReceiverConfig::default(),
            duration,
            probe: None,
        }
    }
}

/// One of the senders.
#[non_exhaustive]
pub struct SharedFlow {
    /// Kind of the sender.
    pub origin: Origin,
    /// Start time, relative to the start of the run.
    pub start: Duration,
    /// Additional round-trip time of this flow, compared with the other flows.
    pub detour: Duration,
}

impl SharedFlow {
    /// Creates a sender that starts at `start`.
    #[must_use]
    pub const fn new(origin: Origin, start: Duration) -> Self {
        Self {
            origin,
            start,
            detour: Duration::ZERO,
        }
    }
}

/// Result of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SharedReport {
    /// Reports of the senders, in the order in which they were given.
    pub flows: Vec<FlowReport>,
    /// Report of the path.
    pub path: PathReport,
    /// Report of the latency probe, if there was one.
    pub latency: Option<LatencyReport>,
}

/// Result of one of several senders.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowReport {
    /// Bytes that arrived in order and were verified.
    pub bytes: u64,
    /// Time from the sender's start to the end of the run.
    pub lasted: Duration,
    /// Data segments that the sender had sent when the run ended, including retransmissions. `None` if the sender could
    /// not report them.
    pub segments: Option<u64>,
    /// Retransmissions among `segments`.
    pub retransmissions: Option<u64>,
    /// Congestion control read back from the kernel's socket at the end. `None` for our endpoints.
    pub control: Option<String>,
    /// Treatment of the sender's data on the path until the run ended. The number of packets offered to the path is at
    /// most `segments`.
    pub passage: FlowPassage,
}

impl FlowReport {
    /// Returns the goodput in payload bits per second.
    #[must_use]
    pub fn goodput_bps(&self) -> f64 {
        match self.lasted.is_zero() {
            true => 0.0,
            false => self.bytes as f64 * 8.0 / self.lasted.as_secs_f64(),
        }
    }
}

/// Runs all senders over one path at the same time. `asked` is called regularly. Once it returns `true`, the run ends.
///
/// # Errors
///
/// Returns an error if the run cannot be started, a connection breaks off, or a wrong byte arrives.
pub fn share(
    config: &SharedConfig,
    flows: Vec<SharedFlow>,
    asked: &dyn Fn() -> bool,
) -> Result<SharedReport, TransferError> {
    let mut path = PathConfig {
        by_port: true,
        ..config.path.clone()
    };
    let longer = flows
        .iter()
        .enumerate()
        .filter(|(_, flow)| !flow.detour.is_zero());
    let detours = longer.map(|(n, flow)| (port(n), flow.detour));
    path.detours.extend(detours);
    let network = PathNetwork::new(&path, config.attachment)?;
    if config.receiver.sack_compression == SackCompression::Off {
        let set = network.host(Side::Far).set("ipv4/tcp_comp_sack_nr", "0");
        set.map_err(NetworkError::from)?;
    }
    let ran = run(config, flows, &network, asked);
    let path = network.stop();
    let (mut reports, endpoint, latency) = ran?;
    let path = PathReport { endpoint, ..path? };
    for (flow, report) in reports.iter_mut().enumerate() {
        let passage = path.forward.by_port.get(&port(flow));
        report.passage = passage.cloned().unwrap_or_default();
    }
    Ok(SharedReport {
        flows: reports,
        path,
        latency,
    })
}

fn port(flow: usize) -> u16 {
    // A process with more flows than ports runs out of threads first.
    FIRST_PORT.saturating_add(u16::try_from(flow).unwrap_or(u16::MAX))
}

/// Start and end of the run, which all threads observe. The start is unset until all connections are established.
#[derive(Clone, Debug)]
struct Course {
    clock: WallClock,
    begun: Arc<OnceLock<Instant>>,
    lasts: Duration,
    stop: Stop,
}

impl Course {
    /// Returns `true` if a flow may send now that starts at `start`, counted from the start of the run.
    fn may_send(&self, start: Duration) -> bool {
        let due = self.begun.get().map(|begun| *begun + start);
        due.is_some_and(|due| self.clock.now() >= due)
    }

    fn is_over(&self) -> bool {
        let end = self.begun.get().map(|begun| *begun + self.lasts);
        self.stop.is_asked() || end.is_some_and(|end| self.clock.now() >= end)
    }

    /// Sleeps until `start` after the start of the run, or until the end of the run.
    fn await_start(&self, start: Duration) {
        while !self.may_send(start) && !self.is_over() {
            sleep(PAUSE);
        }
    }
}

/// Interval at which threads check for the start and the end.
const PAUSE: Duration = Duration::from_millis(2);

fn sleep(span: Duration) {
    thread::sleep(std::time::Duration::from_nanos(span.as_nanos()));
}

/// Final statistics of a sender.
#[derive(Clone, Debug, Default)]
struct Said {
    segments: Option<u64>,
    retransmissions: Option<u64>,
    control: Option<String>,
}

type Reports = (
    Vec<FlowReport>,
    Option<EndpointLosses>,
    Option<LatencyReport>,
);

fn run(
    config: &SharedConfig,
    flows: Vec<SharedFlow>,
    network: &PathNetwork,
    asked: &dyn Fn() -> bool,
) -> Result<Reports, TransferError> {
    let course = Course {
        clock: WallClock::start(),
        begun: Arc::default(),
        lasts: config.duration,
        stop: Stop::default(),
    };
    let starts: Vec<Duration> = flows.iter().map(|flow| flow.start).collect();
    let (arrivals, arrived) = channel();
    let mut readers = Vec::new();
    for flow in 0..flows.len() {
        let at = SocketAddr::new(Side::Far.address(config.family), port(flow));
        let window = Window(config.receiver.window);
        let far = network.host(Side::Far);
        let listener = far
            .run(move || listen(at, window))
            .map_err(system("listen in the far namespace"))?;
        let (course, arrivals) = (course.clone(), arrivals.clone());
        let reader = far.spawn("receiver", move || {
            let stream = accept(&listener, &course)?;
            // The receiver of the message may have been dropped.
            let _ = arrivals.send(());
            read(stream, window, &course)
        });
        readers.push(reader.map_err(system("start a receiver"))?);
    }
    let probing = config
        .probe
        .map(|every| Probing::start(config, every, network, &course));
    let probing = probing.transpose()?;
    let begun = Senders::start(config, flows, network, &course);
    if begun.is_err() {
        course.stop.ask();
    }
    let interrupted = begun.is_ok() && conduct(&course, (&arrived, &starts), &begun, asked);
    // Each sender continues until it notices the end, and even then the kernel sends the data that is already in the
    // socket's buffer. Therefore all counts are taken here, first at the path and then at the senders: the path never
    // counts a packet that its sender has not counted.
    network.end_count_by_port();
    let counted = begun.as_ref().map(Senders::count);
    let counted = counted.unwrap_or_default();
    let read = readers.into_iter().map(join);
    let read: Vec<io::Result<Receipt>> = read.collect();
    let latency = probing.map(Probing::finish);
    let finished = begun?.finish(&starts, counted);
    if interrupted {
        return Err(TransferError::Interrupted);
    }
    let (said, losses) = finished?;
    let mut reports = Vec::new();
    for ((receipt, said), start) in read.into_iter().zip(said).zip(starts) {
        let receipt = receipt.map_err(system("receive"))?;
        reports.push(receipt.judged(said, config.duration.saturating_sub(start))?);
    }
    let latency = latency.transpose().map_err(system("measure the latency"))?;
    Ok((reports, losses, latency))
}

/// The latency probe, which runs at the same time as the senders.
struct Probing {
    echo: JoinHandle<io::Result<()>>,
    probe: JoinHandle<io::Result<LatencyReport>>,
}

impl Probing {
    fn start(
        config: &SharedConfig,
        every: Duration,
        network: &PathNetwork,
        course: &Course,
    ) -> Result<Self, TransferError> {
        let far = SocketAddr::new(Side::Far.address(config.family), ECHO_PORT);
        let near = SocketAddr::new(Side::Near.address(config.family), 0);
        let bind = system("open a socket for datagrams");
        let echoing = network.host(Side::Far).run(move || UdpSocket::bind(far));
        let echoing = echoing.map_err(&bind)?;
        let probing = network.host(Side::Near).run(move || UdpSocket::bind(near));
        let probing = probing.map_err(&bind)?;
        let (one, other) = (course.clone(), course.clone());
        let echo = network.host(Side::Far);
        let echo = echo.spawn("echo", move || latency::echo(&echoing, &|| one.is_over()));
        let probe = network.host(Side::Near).spawn("probe", move || {
            let begun = || other.begun.get().copied();
            let watched: (&dyn Fn() -> Option<Instant>, &dyn Fn() -> bool) =
                (&begun, &|| other.is_over());
            latency::probe(&probing, far, every, &other.clock, watched)
        });
        let threads = system("start a thread for datagrams");
        Ok(Self {
            echo: echo.map_err(&threads)?,
            probe: probe.map_err(&threads)?,
        })
    }

    fn finish(self) -> io::Result<LatencyReport> {
        join(self.echo)?;
        join(self.probe)
    }
}

/// Starts the run once all connections are established, wakes our endpoints when they may send, and waits for the end.
/// Returns `true` if the run was interrupted.
fn conduct(
    course: &Course,
    (arrived, starts): (&Receiver<()>, &[Duration]),
    senders: &Result<Senders, TransferError>,
    asked: &dyn Fn() -> bool,
) -> bool {
    let mut here = 0;
    while here < starts.len() && !asked() && course.clock.now().as_nanos() < PATIENCE.as_nanos() {
        here += usize::from(arrived.recv_timeout(SLICE_STD).is_ok());
    }
    if here < starts.len() {
        course.stop.ask();
        return asked();
    }
    let _ = course.begun.set(course.clock.now());
    let mut due: Vec<Duration> = starts.to_vec();
    due.sort();
    let mut due = due.into_iter().peekable();
    while !course.is_over() {
        if asked() {
            course.stop.ask();
            return true;
        }
        if due.next_if(|start| course.may_send(*start)).is_some()
            && let Ok(senders) = senders
        {
            senders.wake();
        }
        sleep(PAUSE);
    }
    false
}

const SLICE_STD: std::time::Duration = std::time::Duration::from_millis(50);

/// All running senders.
struct Senders {
    kernel: BTreeMap<usize, Kernels>,
    ours: Option<Ours>,
}

/// A sender in the kernel.
struct Kernels {
    thread: JoinHandle<Result<(), TransferError>>,
    /// Duplicate of the socket, for reading its statistics.
    socket: TcpStream,
}

/// Statistics of the kernel's sockets, by flow index.
type Counted = BTreeMap<usize, io::Result<SocketStats>>;

/// Our endpoints, which share one device.
struct Ours {
    host: JoinHandle<io::Result<EndpointLosses>>,
    waker: Waker,
    outcomes: BTreeMap<usize, Receiver<ConnectionReport>>,
}

impl Senders {
    fn start(
        config: &SharedConfig,
        flows: Vec<SharedFlow>,
        network: &PathNetwork,
        course: &Course,
    ) -> Result<Self, TransferError> {
        let near = network.host(Side::Near);
        let mut kernel = BTreeMap::new();
        let mut openings = Vec::new();
        for (n, flow) in flows.into_iter().enumerate() {
            let to = SocketAddr::new(Side::Far.address(config.family), port(n));
            match flow.origin {
                Origin::Kernel { control } => {
                    let family = config.family;
                    let socket = near.run(move || socket(family, &control))?;
                    let again = socket.try_clone().map_err(system("duplicate a socket"))?;
                    let (course, start) = (course.clone(), flow.start);
                    let job = move || send(socket, to, start, &course);
                    let thread = near.spawn("sender", job);
                    let sender = Kernels {
                        thread: thread.map_err(system("start a sender"))?,
                        socket: TcpStream::from(again),
                    };
                    kernel.insert(n, sender);
                }
                Origin::Endpoint { config, build } => {
                    let (outcome, outcomes) = channel();
                    let supplier = Greedy {
                        course: course.clone(),
                        start: flow.start,
                        pattern: Pattern::new(PATTERN),
                        outcome,
                    };
                    let opening = Opening {
                        config: *config,
                        build,
                        application: Box::new(supplier),
                    };
                    openings.push((n, to, opening, outcomes));
                }
            }
        }
        let ours = match openings.is_empty() {
            true => None,
            false => Some(Ours::start(config, network, openings)?),
        };
        Ok(Self { kernel, ours })
    }

    fn wake(&self) {
        if let Some(ours) = &self.ours {
            ours.waker.wake();
        }
    }

    /// Reads the current statistics of the kernel's sockets.
    fn count(&self) -> Counted {
        let kernel = self.kernel.iter();
        kernel
            .map(|(n, sender)| (*n, SocketStats::of(&sender.socket)))
            .collect()
    }

    /// Ends the senders. Returns the statistics of each sender, and the losses at the device of our endpoints.
    fn finish(
        self,
        starts: &[Duration],
        counted: Counted,
    ) -> Result<(Vec<Said>, Option<EndpointLosses>), TransferError> {
        for sender in self.kernel.into_values() {
            join(sender.thread)?;
        }
        let mut said = vec![Said::default(); starts.len()];
        for (n, stats) in counted {
            let stats = stats.map_err(system("read a socket's statistics"))?;
            said[n] = Said {
                segments: Some(stats.segments),
                retransmissions: Some(stats.retransmissions),
                control: Some(stats.control),
            };
        }
        let Some(ours) = self.ours else {
            return Ok((said, None));
        };
        ours.waker.stop();
        let losses = join(ours.host).map_err(system("run the endpoints"))?;
        for (n, outcomes) in ours.outcomes {
            let Ok(outcome) = outcomes.try_recv() else {
                continue;
            };
            if let Some(reason) = outcome.reason.filter(|reason| !is_our_end(*reason)) {
                return Err(TransferError::Ended {
                    bytes: outcome.sent_bytes,
                    reason: Some(reason),
                });
            }
            said[n].segments = outcome.sender.map(|sender| sender.segments_sent);
            said[n].retransmissions = outcome.sender.map(|sender| sender.retransmissions);
        }
        Ok((said, Some(losses)))
    }
}

/// Returns `true` if a connection ended because the run ended: it was aborted here, or reset because its reader had
/// ended.
const fn is_our_end(reason: Reason) -> bool {
    matches!(reason, Reason::Finished | Reason::Aborted | Reason::Reset)
}

impl Ours {
    fn start(
        config: &SharedConfig,
        network: &PathNetwork,
        openings: Vec<(usize, SocketAddr, Opening, Receiver<ConnectionReport>)>,
    ) -> Result<Self, TransferError> {
        let Attached { mut host, waker } = attach(network, &config.attachment)?;
        let mut outcomes = BTreeMap::new();
        for (n, to, opening, outcome) in openings {
            host.connect(to, opening)?;
            outcomes.insert(n, outcome);
        }
        let thread = thread::Builder::new()
            .name("endpoint".to_owned())
            .spawn(move || {
                host.run()?;
                Ok(EndpointLosses {
                    refused: host.counters().sent.refused,
                    overflowed: host.overflowed().ok(),
                })
            });
        Ok(Self {
            host: thread.map_err(system("start the endpoints"))?,
            waker,
            outcomes,
        })
    }
}

/// Application that has no data before its start time and always has more data after it.
struct Greedy {
    course: Course,
    start: Duration,
    pattern: Pattern,
    outcome: std::sync::mpsc::Sender<ConnectionReport>,
}

impl Application for Greedy {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        if room.is_empty() || !self.course.may_send(self.start) || self.course.is_over() {
            return Supply::NothingNow;
        }
        self.pattern.fill(room);
        Supply::Bytes(room.len())
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn closed(&mut self, outcome: &ConnectionReport) {
        // The receiver of the report may have been dropped.
        let _ = self.outcome.send(*outcome);
    }
}

/// Body of a thread that sends through the kernel from `start` to the end of the run.
fn send(
    socket: OwnedFd,
    to: SocketAddr,
    start: Duration,
    course: &Course,
) -> Result<(), TransferError> {
    let slice = TimeVal::nanoseconds(SLICE.as_nanos().cast_signed());
    setsockopt(&socket, sockopt::SendTimeout, &slice)
        .map_err(|error| system("set a timeout")(error.into()))?;
    establish(&socket, to, &course.stop)?;
    let mut stream = TcpStream::from(socket);
    course.await_start(start);
    let mut pattern = Pattern::new(PATTERN);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut unsent = 0..0;
    while !course.is_over() {
        if unsent.is_empty() {
            pattern.fill(&mut buffer);
            unsent = 0..buffer.len();
        }
        match stream.write(&buffer[unsent.clone()]) {
            Ok(written) => unsent.start += written,
            Err(error) if is_timeout(&error) || course.is_over() => {}
            Err(error) => return Err(system("send")(error)),
        }
    }
    Ok(())
}

/// Result of a receiver.
#[derive(Clone, Copy, Debug)]
struct Receipt {
    bytes: u64,
    hash: u128,
    /// `true` if the connection ended by itself.
    ended: bool,
}

impl Receipt {
    fn judged(self, said: Said, lasted: Duration) -> Result<FlowReport, TransferError> {
        let Self { bytes, hash, ended } = self;
        if hash != Digest::of_pattern(PATTERN, bytes) {
            return Err(TransferError::Damaged { bytes });
        }
        if ended {
            return Err(TransferError::Ended {
                bytes,
                reason: None,
            });
        }
        Ok(FlowReport {
            bytes,
            lasted,
            segments: said.segments,
            retransmissions: said.retransmissions,
            control: said.control,
            passage: FlowPassage::default(),
        })
    }
}

/// Accepts a connection. Returns an error if no connection arrives before the run is stopped.
fn accept(listener: &TcpListener, course: &Course) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    while !course.stop.is_asked() {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    let text = format!("no connection within {PATIENCE}");
    Err(io::Error::new(io::ErrorKind::TimedOut, text))
}

/// Reads until the end of the run. Bytes that arrive later do not count.
fn read(mut stream: TcpStream, window: Window, course: &Course) -> io::Result<Receipt> {
    stream.set_read_timeout(Some(SLICE_STD))?;
    let mut digest = Digest::default();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut ended = false;
    while !course.is_over() {
        window.hold(&stream)?;
        match stream.read(&mut buffer) {
            Ok(0) => {
                ended = !course.is_over();
                break;
            }
            Ok(_) if course.is_over() => break,
            Ok(length) => digest.add(&buffer[..length]),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Receipt {
        bytes: digest.bytes(),
        hash: digest.value(),
        ended,
    })
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
