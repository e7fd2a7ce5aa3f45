//! The sending end: the near kernel's TCP, or an endpoint of ours behind it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration as StdDuration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, setsockopt, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::receiver::{Receipt, is_timeout};
use super::{
    ControlError, Counted, Extent, Origin, PATTERN, SLICE, Sent, Stop, TransferConfig,
    TransferError, system,
};
use crate::Secret;
use crate::family::Family;
use crate::host::{
    Application, Host, HostConfig, Opening, Outcome, Pattern, Supply, Waker, random_key,
};
use crate::path::{Attachment, EndpointLosses, PathNetwork, Side};

/// How long after the last byte a sender of ours may take to say how it went.
const LAST_WORDS: StdDuration = StdDuration::from_secs(5);

/// Bytes written at once.
const BUFFER_BYTES: usize = 1 << 16;

/// A sender at work.
pub(super) enum Running {
    Kernel(JoinHandle<Result<TcpStream, TransferError>>),
    Endpoint {
        host: JoinHandle<io::Result<EndpointLosses>>,
        waker: Waker,
        outcomes: Receiver<Outcome>,
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
                // Here, so that a control that the kernel does not have is known at once.
                let family = config.family;
                let made = move || socket(family, &control);
                let socket = network.host(Side::Near).run(made)?;
                let (bytes, stop) = (config.bytes, stop.clone());
                let job = move || send(socket, to, bytes, &stop);
                let thread = network.host(Side::Near).spawn("sender", job);
                Ok(Self::Kernel(thread.map_err(system("start the sender"))?))
            }
            Origin::Endpoint {
                config: connection,
                build,
            } => {
                let Attached { mut host, waker } = attach(network, &config.attachment)?;
                let (outcome, outcomes) = channel();
                let supplier = Supplier {
                    left: config.bytes,
                    pattern: Pattern::new(PATTERN),
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
                })
            }
        }
    }

    /// Ends the sender once the receiver has ended, and gives what it has to say.
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
            Self::Kernel(thread) => {
                let sent = thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                match sent {
                    Ok(_) => Ok(Sent::default()),
                    // A cut-off connection breaks at this end too.
                    Err(_) if !whole => Ok(Sent::default()),
                    Err(error) => Err(error),
                }
            }
            Self::Endpoint {
                host,
                waker,
                outcomes,
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
                })
            }
        }
    }
}

/// A host of ours behind the near kernel.
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

/// Sends the pattern and says how it went.
struct Supplier {
    left: u64,
    pattern: Pattern,
    outcome: Sender<Outcome>,
}

impl Application for Supplier {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        // At most the room's length.
        let length = self.left.min(room.len() as u64) as usize;
        if length == 0 {
            return Supply::End;
        }
        self.pattern.fill(&mut room[..length]);
        self.left -= length as u64;
        Supply::Bytes(length)
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn closed(&mut self, outcome: &Outcome) {
        // Nobody may be waiting any more.
        let _ = self.outcome.send(*outcome);
    }
}

/// A socket of the calling thread's namespace under the congestion control `control`, which is
/// read back.
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
    let taken = control_of(&socket).map_err(system("read the congestion control back"))?;
    if taken != control {
        let name = control.to_owned();
        return Err(ControlError::Other { name, taken }.into());
    }
    Ok(socket)
}

/// The congestion control that a socket has.
pub(super) fn control_of(socket: &impl AsFd) -> io::Result<String> {
    let taken = getsockopt(socket, sockopt::TcpCongestion)?;
    let taken = taken.to_string_lossy();
    Ok(taken.trim_end_matches('\0').to_owned())
}

/// What the kernel has.
fn available() -> String {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = std::fs::read_to_string(file).unwrap_or_default();
    names.split_whitespace().collect::<Vec<_>>().join(", ")
}

/// Connects, writes the pattern, and gives the stream, whose last bytes may be under way still.
fn send(
    socket: OwnedFd,
    to: SocketAddr,
    bytes: u64,
    stop: &Stop,
) -> Result<TcpStream, TransferError> {
    let slice = TimeVal::nanoseconds(SLICE.as_nanos().cast_signed());
    setsockopt(&socket, sockopt::SendTimeout, &slice)
        .map_err(|error| system("set a timeout")(error.into()))?;
    establish(&socket, to, stop)?;
    let mut stream = TcpStream::from(socket);
    let mut pattern = Pattern::new(PATTERN);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut left = bytes;
    while left > 0 {
        // At most the buffer's length.
        let length = left.min(buffer.len() as u64) as usize;
        pattern.fill(&mut buffer[..length]);
        let mut unsent = &buffer[..length];
        while !unsent.is_empty() {
            match stream.write(unsent) {
                Ok(written) => unsent = &unsent[written..],
                Err(error) if is_timeout(&error) && !stop.is_asked() => {}
                Err(error) => return Err(system("send")(error)),
            }
        }
        left -= length as u64;
    }
    stream
        .shutdown(Shutdown::Write)
        .map_err(system("end the stream"))?;
    Ok(stream)
}

/// Connects, however many SYNs it takes, unless it shall end.
pub(super) fn establish(
    socket: &OwnedFd,
    to: SocketAddr,
    stop: &Stop,
) -> Result<(), TransferError> {
    let to = SockaddrStorage::from(to);
    loop {
        // connect(2): after the timeout the attempt goes on, and may be waited for again.
        match connect(socket.as_raw_fd(), &to) {
            Ok(()) | Err(Errno::EISCONN) => return Ok(()),
            Err(Errno::EINPROGRESS | Errno::EALREADY | Errno::EINTR | Errno::EAGAIN)
                if !stop.is_asked() => {}
            Err(error) => return Err(system("connect")(error.into())),
        }
    }
}
