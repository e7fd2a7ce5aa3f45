//! Sending end: the near kernel's TCP, or one of our endpoints behind it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration as StdDuration;

use dupack_tcp::connection::{Negotiated, Outgoing};
use dupack_tcp::sender::Sender as TcpSender;
use dupack_tcp::time::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, setsockopt, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::kernel::is_all_acknowledged;
use super::receiver::{Receipt, is_timeout};
use super::record::Record;
use super::writes::{Next, Script};
use super::{
    ControlError, Counted, Extent, Origin, PATTERN, Recording, SLICE, Sent, SocketTimes, Stop,
    TransferConfig, TransferError, system,
};
use crate::Secret;
use crate::family::Family;
use crate::host::{
    Application, ConnectionReport, Host, HostConfig, Opening, Pattern, Supply, Waker, random_key,
};
use crate::path::{Attachment, EndpointLosses, PathNetwork, Side};

/// Maximum time after the last byte until our sender must have reported its result.
const LAST_WORDS: StdDuration = StdDuration::from_secs(5);

/// Maximum number of bytes written at once.
const BUFFER_BYTES: usize = 1 << 16;

/// A running sender.
pub(super) enum Running {
    Kernel {
        thread: JoinHandle<Result<TcpStream, TransferError>>,
        recording: Recording,
    },
    Endpoint {
        host: JoinHandle<io::Result<EndpointLosses>>,
        waker: Waker,
        outcomes: Receiver<ConnectionReport>,
        record: Record,
    },
}

impl Running {
    pub(super) fn start(
        network: &PathNetwork,
        origin: Origin,
        to: SocketAddr,
        config: &TransferConfig,
        stop: &Stop,
    ) -> Result<Self, TransferError> {
        match origin {
            Origin::Kernel { control } => {
                // The socket is made here, so that a missing congestion control is noticed immediately.
                let family = config.family;
                let made = move || socket(family, &control);
                let socket = network.host(Side::Near).run(made)?;
                let script = Script::new(&config.writes, config.bytes);
                let stop = stop.clone();
                let job = move || send(socket, to, script, &stop);
                let thread = network.host(Side::Near).spawn("sender", job);
                Ok(Self::Kernel {
                    thread: thread.map_err(system("start the sender"))?,
                    recording: config.recording,
                })
            }
            Origin::Endpoint {
                config: connection,
                build,
            } => {
                let Attached { mut host, waker } = attach(network, &config.attachment)?;
                let (outcome, outcomes) = channel();
                let record = Record::new(config.recording);
                let supplier = Supplier {
                    script: Script::new(&config.writes, config.bytes),
                    pattern: Pattern::new(PATTERN),
                    alarm: alarm(waker.clone()).map_err(system("start an alarm"))?,
                    awaited: None,
                    record: record.clone(),
                    outcome,
                };
                let opening = Opening {
                    config: *connection,
                    build,
                    application: Box::new(supplier),
                };
                host.connect(to, opening)?;
                let thread = thread::Builder::new()
                    .name("endpoint".to_owned())
                    .spawn(move || {
                        host.run()?;
                        Ok(EndpointLosses {
                            refused: host.counters().sent.refused,
                            overflowed: host.overflowed().ok(),
                        })
                    });
                Ok(Self::Endpoint {
                    host: thread.map_err(system("start the endpoint"))?,
                    waker,
                    outcomes,
                    record,
                })
            }
        }
    }

    /// Ends the sender after the receiver has ended, and returns the sender's result.
    pub(super) fn finish(
        self,
        received: &Result<Receipt, TransferError>,
        stop: &Stop,
    ) -> Result<Sent, TransferError> {
        let whole = received
            .as_ref()
            .is_ok_and(|receipt| receipt.extent == Extent::Whole);
        stop.ask();
        match self {
            Self::Kernel { thread, recording } => {
                let sent = thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                match sent {
                    Ok(stream) if recording == Recording::On => {
                        let times = SocketTimes::of(&stream).map_err(system("read TCP_INFO"))?;
                        Ok(Sent {
                            times: Some(times),
                            ..Sent::default()
                        })
                    }
                    Ok(_) => Ok(Sent::default()),
                    // A connection that is cut off also fails at this end.
                    Err(_) if !whole => Ok(Sent::default()),
                    Err(error) => Err(error),
                }
            }
            Self::Endpoint {
                host,
                waker,
                outcomes,
                record,
            } => {
                let early = if whole {
                    outcomes.recv_timeout(LAST_WORDS).ok()
                } else {
                    None
                };
                waker.stop();
                let ran = host
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let losses = ran.map_err(system("run the endpoint"))?;
                let outcome = early.or_else(|| outcomes.try_recv().ok());
                let counted = outcome.and_then(|outcome| outcome.sender);
                Ok(Sent {
                    reason: outcome.and_then(|outcome| outcome.reason),
                    counted: counted.map(Counted::Endpoint),
                    losses: Some(losses),
                    transmissions: record.take(),
                    times: None,
                })
            }
        }
    }
}

/// One of our hosts behind the near kernel.
pub(super) struct Attached {
    pub(super) host: Host,
    pub(super) waker: Waker,
}

pub(super) fn attach(
    network: &PathNetwork,
    attachment: &Attachment,
) -> Result<Attached, TransferError> {
    let device = network.attach_endpoint(Side::Near, attachment.mtu, attachment.near)?;
    let key = random_key().map_err(system("get random numbers"))?;
    let host_config = HostConfig::new(device.addresses);
    let host = Host::new(host_config, device.tun, Secret::new(&key))
        .map_err(system("make the endpoint"))?;
    let waker = host.waker();
    Ok(Attached { host, waker })
}

/// Starts a thread that wakes a host after the durations sent to it.
fn alarm(waker: Waker) -> io::Result<Sender<Duration>> {
    let (set, times) = channel::<Duration>();
    let ring = move || {
        while let Ok(time) = times.recv() {
            thread::sleep(StdDuration::from_nanos(time.as_nanos()));
            waker.wake();
        }
    };
    thread::Builder::new()
        .name("alarm".to_owned())
        .spawn(ring)?;
    Ok(set)
}

/// Application that sends the pattern and reports the outcome.
struct Supplier {
    script: Script,
    pattern: Pattern,
    alarm: Sender<Duration>,
    /// Time for which the alarm is set.
    awaited: Option<Instant>,
    record: Record,
    outcome: Sender<ConnectionReport>,
}

impl Application for Supplier {
    fn connected(&mut self, _: &Negotiated) {
        self.script.start();
    }

    fn supply(&mut self, room: &mut [u8]) -> Supply {
        match self.script.next() {
            Next::Write(due) => {
                // The minimum is at most the length of `room`, so it fits into `usize`.
                let length = due.min(room.len() as u64) as usize;
                self.pattern.fill(&mut room[..length]);
                self.script.wrote(length as u64);
                Supply::Bytes(length)
            }
            Next::WaitUntil(time) => {
                // Every packet causes another call, but one alarm is enough.
                if self.awaited.replace(time) != Some(time) {
                    // The send cannot fail: the alarm's thread runs as long as this end of the channel exists.
                    let _ = self.alarm.send(self.script.time_to(time));
                }
                Supply::NothingNow
            }
            Next::WaitForAcks => Supply::NothingNow,
            Next::End => Supply::End,
        }
    }

    fn acknowledged(&mut self, until: u64) {
        self.script.acknowledged(until);
    }

    fn sent(&mut self, outgoing: &Outgoing, sender: &TcpSender) {
        self.record.note(outgoing, sender);
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn closed(&mut self, outcome: &ConnectionReport) {
        // The receiver of the report may have been dropped.
        let _ = self.outcome.send(*outcome);
    }
}

/// Creates a socket in the calling thread's namespace with the congestion control `control`, and verifies that the
/// socket uses it.
pub(super) fn socket(family: Family, control: &str) -> Result<OwnedFd, TransferError> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let family = match family {
        Family::V4 => AddressFamily::Inet,
        Family::V6 => AddressFamily::Inet6,
    };
    let socket = nix::sys::socket::socket(family, SockType::Stream, flags, None)
        .map_err(|error| system("make a socket")(error.into()))?;
    let name = OsString::from(control);
    setsockopt(&socket, sockopt::TcpCongestion, &name).map_err(|error| ControlError::Refused {
        name: control.to_owned(),
        source: error.into(),
        available: available(),
    })?;
    let taken = control_of(&socket).map_err(system("read back the congestion control"))?;
    if taken != control {
        let name = control.to_owned();
        return Err(ControlError::Other { name, taken }.into());
    }
    Ok(socket)
}

/// Returns the congestion control of a socket.
pub(super) fn control_of(socket: &impl AsFd) -> io::Result<String> {
    let taken = getsockopt(socket, sockopt::TcpCongestion)?;
    let taken = taken.to_string_lossy();
    Ok(taken.trim_end_matches('\0').to_owned())
}

/// Returns the names of the kernel's congestion controls.
fn available() -> String {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = std::fs::read_to_string(file).unwrap_or_default();
    names.split_whitespace().collect::<Vec<_>>().join(", ")
}

/// Interval between checks for the acknowledgment of all data.
const LOOK: StdDuration = StdDuration::from_micros(200);

/// Connects and writes the pattern. Returns the stream, whose last bytes may still be in flight.
fn send(
    socket: OwnedFd,
    to: SocketAddr,
    mut script: Script,
    stop: &Stop,
) -> Result<TcpStream, TransferError> {
    let slice = TimeVal::nanoseconds(SLICE.as_nanos().cast_signed());
    setsockopt(&socket, sockopt::SendTimeout, &slice)
        .map_err(|error| system("set a timeout")(error.into()))?;
    establish(&socket, to, stop)?;
    script.start();
    let mut stream = TcpStream::from(socket);
    let mut pattern = Pattern::new(PATTERN);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match script.next() {
            Next::Write(due) => {
                // The minimum is at most the length of the buffer, so it fits into `usize`.
                let length = due.min(buffer.len() as u64) as usize;
                pattern.fill(&mut buffer[..length]);
                write_all(&mut stream, &buffer[..length], stop)?;
                script.wrote(length as u64);
                continue;
            }
            Next::WaitUntil(time) => {
                let time = script.time_to(time).min(SLICE);
                thread::sleep(StdDuration::from_nanos(time.as_nanos()));
            }
            Next::WaitForAcks => {
                thread::sleep(LOOK);
                if is_all_acknowledged(&stream).map_err(system("read TCP_INFO"))? {
                    script.acknowledged(script.written());
                }
            }
            Next::End => break,
        }
        if stop.is_asked() {
            return Err(system("send")(io::ErrorKind::TimedOut.into()));
        }
    }
    stream
        .shutdown(Shutdown::Write)
        .map_err(system("end the stream"))?;
    Ok(stream)
}

fn write_all(stream: &mut TcpStream, mut unsent: &[u8], stop: &Stop) -> Result<(), TransferError> {
    while !unsent.is_empty() {
        match stream.write(unsent) {
            Ok(written) => unsent = &unsent[written..],
            Err(error) if is_timeout(&error) && !stop.is_asked() => {}
            Err(error) => return Err(system("send")(error)),
        }
    }
    Ok(())
}

/// Waits until the connection is established. Fails if the transfer must end before that.
pub(super) fn establish(
    socket: &OwnedFd,
    to: SocketAddr,
    stop: &Stop,
) -> Result<(), TransferError> {
    let to = SockaddrStorage::from(to);
    loop {
        // connect(2): the attempt continues after the timeout, and calling connect again waits for it.
        match connect(socket.as_raw_fd(), &to) {
            Ok(()) | Err(Errno::EISCONN) => return Ok(()),
            Err(Errno::EINPROGRESS | Errno::EALREADY | Errno::EINTR | Errno::EAGAIN)
                if !stop.is_asked() => {}
            Err(error) => return Err(system("connect")(error.into())),
        }
    }
}
