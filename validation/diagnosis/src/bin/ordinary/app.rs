//! The application: programs at both ends of each connection, and a thread that samples the `TCP_INFO` of all sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dupack_net::link::{LinkConfig, QueueLimit};
use dupack_net::units::{BitRate, Probability};
use dupack_packet::Snap;
use dupack_wire::Family;
use dupack_wire::clock::WallClock;
use dupack_wire::path::{Attachment, CaptureFiles, PathConfig, PathNetwork, Side};
use dupack_wire::tun::Offload;
use nix::sys::socket::{setsockopt, sockopt};
use serde::{Deserialize, Serialize};

use super::info::Sample;
use super::plan::{Kind, Plan, Plug, Program, Route, Step};

/// Port of the first server. The other servers have the following ports.
const PORT: u16 = 8000;

/// Time between samples.
pub const EVERY: Duration = Duration::from_millis(10);

/// Maximum time for which a read or write blocks before the deadline is checked again.
const SLICE: Duration = Duration::from_millis(200);

/// Maximum duration of the programs of a run.
const DEADLINE: Duration = Duration::from_secs(15);

/// Maximum time for which data may be outstanding after the programs have ended.
const DRAIN: Duration = Duration::from_secs(3);

/// Record of one end of a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndRecord {
    pub local: SocketAddr,
    pub peer: SocketAddr,
    /// Time at which the connection was requested, in nanoseconds since 1970.
    pub opened: u64,
    pub no_delay: bool,
    pub control: String,
    /// Number of bytes that the program wrote.
    pub written: u64,
    pub samples: Vec<Sample>,
    /// Intervals in which the program was inside a write call, in nanoseconds since 1970.
    pub writing: Vec<[u64; 2]>,
    /// Intervals in which the program did not read, although it read more data later, in nanoseconds since 1970.
    pub not_reading: Vec<[u64; 2]>,
}

/// Results of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub seed: u64,
    pub kind: super::plan::Kind,
    pub line: String,
    pub route: Route,
    /// Ends of all connections: client and server of the first connection, of the second connection, and so on.
    pub ends: Vec<EndRecord>,
    /// Error of a program, or empty if there was none.
    pub note: String,
}

/// Clock in nanoseconds since 1970, as in the captures.
#[derive(Clone, Copy)]
struct Clock {
    wall: WallClock,
    zero: u64,
}

impl Clock {
    fn start() -> Self {
        let wall = WallClock::start();
        Self {
            wall,
            zero: wall.unix_nanos_at_zero(),
        }
    }

    fn now(&self) -> u64 {
        self.zero + self.wall.now().as_nanos()
    }
}

/// Data about one end, recorded by its threads.
#[derive(Default)]
struct Notes {
    opened: u64,
    written: u64,
    writing: Vec<[u64; 2]>,
    not_reading: Vec<[u64; 2]>,
    samples: Vec<Sample>,
    socket: Option<TcpStream>,
    /// Local address and address of the peer. The addresses are stored because a closed socket no longer has them.
    addresses: Option<[SocketAddr; 2]>,
}

type Shared = Arc<Mutex<Notes>>;

fn with<T>(shared: &Shared, job: impl FnOnce(&mut Notes) -> T) -> T {
    job(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Conditions under which programs end early.
#[derive(Clone)]
struct Bounds {
    clock: Clock,
    until: u64,
    stop: Arc<AtomicBool>,
}

impl Bounds {
    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.clock.now() > self.until
    }

    fn sleep(&self, time: Duration) {
        let end = self.clock.now() + time.as_nanos() as u64;
        while !self.over() {
            let left = end.saturating_sub(self.clock.now());
            if left == 0 {
                break;
            }
            thread::sleep(Duration::from_nanos(left).min(SLICE));
        }
    }
}

/// Runs the plan. The captures are written to `near` and `far`.
pub fn run(plan: &Plan, near: &Path, far: &Path) -> Result<Record, String> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: &dyn std::fmt::Display| format!("{what}: {error}")
    };
    let files = CaptureFiles {
        near: near.to_owned(),
        far: far.to_owned(),
        snap: Snap::Headers,
    };
    let network = PathNetwork::captured(&path(plan), attachment(plan), Some(&files))
        .map_err(|error| failed("network")(&error))?;
    if let Some(rate) = plan.route.shaper {
        let side = match plan.kind {
            Kind::Upload => Side::Near,
            _ => Side::Far,
        };
        let shaped = network.host(side).run(move || shape(side.device(), rate));
        shaped.map_err(|error| failed("tbf")(&error))?;
    }
    let family = if plan.route.v6 {
        Family::V6
    } else {
        Family::V4
    };
    let clock = Clock::start();
    let bounds = Bounds {
        clock,
        until: clock.now() + DEADLINE.as_nanos() as u64,
        stop: Arc::default(),
    };
    let mut shared: Vec<Shared> = Vec::new();
    let mut threads: Vec<JoinHandle<io::Result<()>>> = Vec::new();
    for (number, plug) in (0..).zip(&plan.plugs) {
        let to = SocketAddr::new(Side::Far.address(family), PORT + number);
        let listener = network.host(Side::Far).run(move || TcpListener::bind(to));
        let listener = listener.map_err(|error| failed("bind")(&error))?;
        let [client, server]: [Shared; 2] = Default::default();
        shared.extend([Arc::clone(&client), Arc::clone(&server)]);
        let (job, limits) = (plug.server.clone(), bounds.clone());
        let thread = network
            .host(Side::Far)
            .spawn("server", move || serve(&listener, &job, &server, &limits));
        threads.push(thread.map_err(|error| failed("server")(&error))?);
        let (job, limits) = (plug.clone(), bounds.clone());
        let thread = network
            .host(Side::Near)
            .spawn("client", move || connect(to, &job, &client, &limits));
        threads.push(thread.map_err(|error| failed("client")(&error))?);
    }
    let done = Arc::new(AtomicBool::new(false));
    let sampler = {
        let (shared, done) = (shared.clone(), Arc::clone(&done));
        thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                sample(&shared, clock);
                thread::sleep(EVERY);
            }
            sample(&shared, clock);
        })
    };
    let mut note = String::new();
    for thread in threads {
        match thread.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => note = error.to_string(),
            Err(_) => note = "a program panicked".to_owned(),
        }
    }
    done.store(true, Ordering::Relaxed);
    let _ = sampler.join();
    let report = network.stop().map_err(|error| failed("path")(&error))?;
    if let Some(captures) = report.captures
        && captures.missed() > 0
    {
        return Err(format!(
            "{} packets are missing from the captures",
            captures.missed()
        ));
    }
    let programs = plan.plugs.iter().flat_map(|p| [&p.client, &p.server]);
    let ends = shared.iter().zip(programs);
    let ends: Vec<EndRecord> = ends
        .filter_map(|(one, program)| record(one, program))
        .collect();
    if ends.is_empty() {
        return Err(format!("no connection was opened: {note}"));
    }
    Ok(Record {
        seed: plan.seed,
        kind: plan.kind,
        line: plan.line(),
        route: plan.route,
        ends,
        note,
    })
}

/// Returns the type of device of each host, with or without offload.
fn attachment(plan: &Plan) -> Attachment {
    let [near, far] = plan.route.single.map(|single| match single {
        true => Offload::Off,
        false => Offload::WherePossible,
    });
    Attachment {
        near,
        far,
        ..Attachment::default()
    }
}

/// Adds a token bucket to a device in the namespace of this thread.
fn shape(device: &str, rate: u64) -> io::Result<()> {
    let burst = (rate / 8 / 250).max(16_000);
    let (rate, burst) = (format!("{rate}bit"), format!("{burst}b"));
    let mut command = Command::new("tc");
    command.args(["qdisc", "add", "dev", device, "root", "tbf"]);
    command.args(["rate", &rate, "burst", &burst, "latency", "100ms"]);
    let status = command.status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other("tc refused it")),
    }
}

fn path(plan: &Plan) -> PathConfig {
    let link = |loss: f64| {
        let rate = BitRate::new(plan.route.rate).unwrap_or(BitRate::from_mbps(1));
        let delay = dupack_tcp::time::Duration::from_secs_f64(plan.route.rtt_ms / 2e3);
        LinkConfig::rate(rate, delay)
            .with_queue(QueueLimit::Packets(plan.route.buffer))
            .with_bernoulli(Probability::clamped(loss))
    };
    let [up, down] = plan.route.loss;
    PathConfig::new(link(up), link(down), plan.seed)
}

fn record(shared: &Shared, program: &Program) -> Option<EndRecord> {
    with(shared, |notes| {
        let [local, peer] = notes.addresses?;
        Some(EndRecord {
            local,
            peer,
            opened: notes.opened,
            no_delay: program.no_delay,
            control: program.control.to_owned(),
            written: notes.written,
            samples: std::mem::take(&mut notes.samples),
            writing: std::mem::take(&mut notes.writing),
            not_reading: std::mem::take(&mut notes.not_reading),
        })
    })
}

fn sample(shared: &[Shared], clock: Clock) {
    for one in shared {
        with(one, |notes| {
            let taken = notes
                .socket
                .as_ref()
                .map(|socket| Sample::take(socket, clock.now()));
            if let Some(Ok(sample)) = taken {
                notes.samples.push(sample);
            }
        });
    }
}

fn connect(to: SocketAddr, plug: &Plug, notes: &Shared, bounds: &Bounds) -> io::Result<()> {
    bounds.sleep(plug.after);
    with(notes, |notes| notes.opened = bounds.clock.now());
    let stream = TcpStream::connect_timeout(&to, DEADLINE)?;
    work(&stream, &plug.client, notes, bounds)
}

fn serve(
    listener: &TcpListener,
    program: &Program,
    notes: &Shared,
    bounds: &Bounds,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if bounds.over() {
            return Err(io::Error::new(ErrorKind::TimedOut, "nobody connected"));
        }
        thread::sleep(Duration::from_millis(1));
    };
    stream.set_nonblocking(false)?;
    with(notes, |notes| notes.opened = bounds.clock.now());
    work(&stream, program, notes, bounds)
}

/// Runs a program on its socket, and closes the socket when all data is acknowledged.
fn work(stream: &TcpStream, program: &Program, notes: &Shared, bounds: &Bounds) -> io::Result<()> {
    stream.set_nodelay(program.no_delay)?;
    stream.set_read_timeout(Some(SLICE))?;
    stream.set_write_timeout(Some(SLICE))?;
    setsockopt(stream, sockopt::TcpCongestion, &program.control.into())?;
    if let Some(bytes) = program.send_buffer {
        setsockopt(stream, sockopt::SndBuf, &bytes)?;
    }
    if let Some(bytes) = program.receive_buffer {
        setsockopt(stream, sockopt::RcvBuf, &bytes)?;
    }
    if let Some(seconds) = program.keep_alive {
        setsockopt(stream, sockopt::KeepAlive, &true)?;
        setsockopt(stream, sockopt::TcpKeepIdle, &seconds)?;
        setsockopt(stream, sockopt::TcpKeepInterval, &seconds)?;
    }
    let kept = stream.try_clone()?;
    let addresses = [stream.local_addr()?, stream.peer_addr()?];
    with(notes, |notes| {
        notes.socket = Some(kept);
        notes.addresses = Some(addresses);
    });
    let result = thread::scope(|scope| {
        let lanes: Vec<_> = program
            .lanes
            .iter()
            .map(|steps| scope.spawn(move || lane(stream, steps, notes, bounds)))
            .collect();
        let mut result = Ok(());
        for lane in lanes {
            let done = lane
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a lane panicked")));
            if done.is_err() {
                result = done;
            }
        }
        result
    });
    // Read until the peer has finished, because closing a socket with unread data would send a reset.
    let _ = stream.shutdown(Shutdown::Write);
    let patience = bounds.until.max(bounds.clock.now()) + DRAIN.as_nanos() as u64;
    let mut buffer = vec![0; 1 << 16];
    let mut peer_is_done = false;
    while bounds.clock.now() < patience {
        if !peer_is_done {
            let mut reader = stream;
            peer_is_done = match reader.read(&mut buffer) {
                Ok(0) => true,
                Ok(_) => false,
                Err(error) => !is_timeout(&error),
            };
            continue;
        }
        let left = Sample::take(stream, 0)?;
        if left.unacked == 0 && left.not_sent == 0 {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    result
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

fn lane(stream: &TcpStream, steps: &[Step], notes: &Shared, bounds: &Bounds) -> io::Result<()> {
    let mut buffer = vec![0x5a; 1 << 16];
    let now = || bounds.clock.now();
    let writes = |mut left: u64| {
        let mut writer = stream;
        let from = now();
        let place = with(notes, |notes| {
            notes.writing.push([from, u64::MAX]);
            notes.writing.len() - 1
        });
        let zeros = [0x5a_u8; 1 << 14];
        let mut result = Ok(());
        while left > 0 && !bounds.over() {
            let most = (zeros.len() as u64).min(left) as usize;
            match writer.write(&zeros[..most]) {
                Ok(length) => {
                    left -= length as u64;
                    with(notes, |notes| notes.written += length as u64);
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        let to = now();
        with(notes, |notes| {
            if let Some(interval) = notes.writing.get_mut(place) {
                interval[1] = to;
            }
        });
        result
    };
    let mut reads = |mut left: u64| {
        let mut reader = stream;
        while left > 0 && !bounds.over() {
            let most = (buffer.len() as u64).min(left) as usize;
            match reader.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(length) => left -= length as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(left)
    };
    let sleeps = |time: Duration| {
        let from = now();
        bounds.sleep(time);
        with(notes, |notes| notes.not_reading.push([from, now()]));
    };
    for step in steps {
        if bounds.over() {
            break;
        }
        match *step {
            Step::Write(bytes) => writes(bytes)?,
            Step::Read(bytes) => {
                if reads(bytes)? > 0 {
                    break;
                }
            }
            Step::ReadAll => {
                reads(u64::MAX)?;
            }
            Step::Sleep(time) => sleeps(time),
            Step::Finish => stream.shutdown(Shutdown::Write)?,
            Step::ReadSlowly {
                bytes,
                chunk,
                pause,
            } => {
                let mut left = bytes;
                while left > 0 && !bounds.over() {
                    let most = chunk.max(1).min(left);
                    if reads(most)? > 0 {
                        break;
                    }
                    left -= most;
                    sleeps(pause);
                }
            }
        }
    }
    Ok(())
}
