//! Kernel side of a run: a program that reads or writes as fast as possible and counts the bytes.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use dupack_wire::clock::WallClock;
use dupack_wire::namespace::Namespace;

use super::cores::{Core, ThreadTime};
use super::{FILLING, Failure, PORT};

/// Maximum number of bytes read or written at once.
const CHUNK: usize = 1 << 20;

/// Time in seconds for windows and buffers to grow before the measurement.
const WARM_UP_S: f64 = 0.5;

/// Congestion control of the kernel. Every kernel has this one. The default of some systems is BBR, whose pacing would
/// dominate the result.
const CONTROL: &str = "reno";

/// Time without progress after which the run fails.
const STALLED: Duration = Duration::from_secs(5);

/// Role of the program on the kernel's side.
pub enum Side {
    /// The program accepts a connection and reads.
    Reads(TcpListener),
    /// The program connects to this address and writes.
    Writes(Ipv4Addr),
}

/// Number of bytes transferred, and the processor time used.
pub struct Measured {
    bytes: u64,
    seconds: f64,
    /// Processor time in seconds of the thread that moves packets.
    carrier_s: f64,
    /// Processor time in seconds of the thread that reads or writes on the kernel's side.
    kernel_s: f64,
}

impl Measured {
    /// Returns the line that `cargo measure wire-speed` parses.
    pub fn line(&self) -> String {
        let Self {
            bytes,
            seconds,
            carrier_s,
            kernel_s,
        } = self;
        let gbits = *bytes as f64 * 8.0 / seconds / 1e9;
        format!(
            "gbits={gbits:.3} bytes={bytes} seconds={seconds:.3} carrier_s={carrier_s:.3} \
             kernel_s={kernel_s:.3}"
        )
    }
}

/// Creates a namespace in which the kernel's TCP has the same settings on every machine.
pub fn namespace(name: &str) -> Result<Namespace, Failure> {
    let namespace = Namespace::new(name)?;
    namespace.set("ipv4/tcp_congestion_control", CONTROL)?;
    Ok(namespace)
}

/// Creates a listener in `namespace`.
pub fn listener(namespace: &Namespace, address: Ipv4Addr) -> Result<TcpListener, Failure> {
    Ok(namespace.run(move || TcpListener::bind((IpAddr::V4(address), PORT)))?)
}

/// Starts a thread that measures the transfer for `seconds`, including the processor time of the thread that moves
/// packets.
pub fn start(
    namespace: &Namespace,
    side: Side,
    core: Core,
    carrier: ThreadTime,
    seconds: f64,
) -> Result<JoinHandle<Result<Measured, Failure>>, Failure> {
    Ok(namespace.spawn("program", move || {
        core.take()?;
        let mut program = Program::connected(side, carrier)?;
        program.move_until(WARM_UP_S)?;
        let before = program.account()?;
        let bytes = program.move_until(before.at_s + seconds)?;
        let after = program.account()?;
        Ok(Measured {
            bytes,
            seconds: after.at_s - before.at_s,
            carrier_s: after.carrier_s - before.carrier_s,
            kernel_s: after.kernel_s - before.kernel_s,
        })
    })?)
}

/// The program on the kernel's side while it runs.
struct Program {
    stream: TcpStream,
    task: Task,
    buffer: Vec<u8>,
    clock: WallClock,
    own: ThreadTime,
    carrier: ThreadTime,
}

#[derive(Clone, Copy)]
enum Task {
    Read,
    Write,
}

/// Times since a common start, in seconds.
struct Account {
    at_s: f64,
    carrier_s: f64,
    kernel_s: f64,
}

impl Program {
    fn connected(side: Side, carrier: ThreadTime) -> Result<Self, Failure> {
        let (stream, task) = match side {
            Side::Reads(listener) => (listener.accept()?.0, Task::Read),
            Side::Writes(address) => (TcpStream::connect((address, PORT))?, Task::Write),
        };
        stream.set_read_timeout(Some(STALLED))?;
        stream.set_write_timeout(Some(STALLED))?;
        Ok(Self {
            stream,
            task,
            buffer: vec![FILLING; CHUNK],
            clock: WallClock::start(),
            own: ThreadTime::of_caller(),
            carrier,
        })
    }

    /// Reads or writes until the time `end_s`. Returns the number of bytes.
    fn move_until(&mut self, end_s: f64) -> Result<u64, Failure> {
        let mut bytes = 0;
        while self.clock.now().as_secs_f64() < end_s {
            let count = match self.task {
                Task::Read => self.stream.read(&mut self.buffer)?,
                Task::Write => self.stream.write(&self.buffer)?,
            };
            if count == 0 {
                return Err("the endpoint has closed the connection".into());
            }
            bytes += count as u64;
        }
        Ok(bytes)
    }

    fn account(&self) -> Result<Account, Failure> {
        Ok(Account {
            at_s: self.clock.now().as_secs_f64(),
            carrier_s: self.carrier.seconds()?,
            kernel_s: self.own.seconds()?,
        })
    }
}

/// Connects and writes until the other end closes the connection.
pub fn pour(address: Ipv4Addr, core: Core) -> Result<(), Failure> {
    core.take()?;
    let buffer = vec![FILLING; CHUNK];
    let mut stream = TcpStream::connect((address, PORT))?;
    while stream.write(&buffer).is_ok() {}
    Ok(())
}
