//! One transfer over an emulated path to a kernel that receives, every byte checked.
//!
//! ```text
//!   near                                                far
//!   Origin: kernel or endpoint ─▶ emulated path ─▶ kernel, which reads to the end
//! ```
//!
//! Both hosts are made for the transfer and gone after it: no transfer finds what another one
//! left in a kernel's caches.

mod dump;
mod kernel;
mod latency;
mod receiver;
mod record;
mod sender;
mod shared;
mod writes;

pub use dupack_net::flow::{When, Write};
pub use kernel::{KernelStats, SocketTimes};
pub use latency::LatencyReport;
pub use record::{Recording, Transmission};
pub use shared::{FlowReport, SharedConfig, SharedFlow, SharedReport, share};

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use dupack_tcp::connection::{BuildSender, Config, Reason};
use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::Duration;
use thiserror::Error;

use crate::family::Family;
use crate::host::{ConnectError, Digest};
use crate::path::{
    Attachment, CaptureFiles, EndpointLosses, NetworkError, PathConfig, PathNetwork, PathReport,
    Side,
};

use receiver::Receipt;
use sender::Running;

/// Whoever sends sends the pattern of this seed.
const PATTERN: u64 = 0x7472_616e_7366_6572;

/// Where the receiver listens.
const PORT: u16 = 5001;

/// How long whoever waits does so before it looks whether it shall end.
const SLICE: Duration = Duration::from_millis(50);

/// What shall be transferred, and over what.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransferConfig {
    /// The path.
    pub path: PathConfig,
    /// How the hosts are attached to it.
    pub attachment: Attachment,
    /// Over which IP.
    pub family: Family,
    /// What the receiver is told.
    pub receiver: ReceiverConfig,
    /// Where what crosses the path is written, if it shall be.
    pub captures: Option<CaptureFiles>,
    /// Where what the sending host's device shows is written, if it shall be: by tcpdump, with segments of offload
    /// as the kernel hands them over.
    pub host_capture: Option<PathBuf>,
    /// How much is sent, unless there are [`writes`](Self::writes).
    pub bytes: u64,
    /// What the sending application writes when; everything at once if nothing is listed.
    pub writes: Vec<Write>,
    /// Whether what the sender knew at each transmission is kept.
    pub recording: Recording,
    /// When the transfer is cut off, whether it is over or not.
    pub limit: Duration,
}

impl TransferConfig {
    /// `bytes` over this path and IPv4, cut off after `limit`: attached as Ethernet is, the receiving
    /// kernel left to itself, no captures.
    #[must_use]
    pub fn new(path: PathConfig, bytes: u64, limit: Duration) -> Self {
        Self {
            path,
            attachment: Attachment::default(),
            family: Family::V4,
            receiver: ReceiverConfig::default(),
            captures: None,
            host_capture: None,
            bytes,
            writes: Vec::new(),
            recording: Recording::Off,
            limit,
        }
    }

    /// Everything that is sent.
    #[must_use]
    pub fn total(&self) -> u64 {
        match self.writes.as_slice() {
            [] => self.bytes,
            writes => writes.iter().map(|write| write.bytes).sum(),
        }
    }
}

/// What the receiving kernel is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// The largest window that it offers, in bytes; `None` leaves it to the kernel, which lets it
    /// grow.
    pub window: Option<u64>,
    /// Whether it holds back ACKs of segments out of order.
    pub sack_compression: SackCompression,
    /// When its application does not read; `None` if it always does. What then comes fills the window.
    pub pauses: Option<ReadPauses>,
}

/// A receiving application that stops reading now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadPauses {
    /// After so many bytes.
    pub every: u64,
    /// For so long.
    pub time: Duration,
}

/// Whether Linux holds back the ACKs of segments that arrive out of order: for 5 % of a round trip
/// and 1 ms at most, unless something in order arrives (since 4.18; `tcp_comp_sack_nr` and
/// `tcp_comp_sack_delay_ns` in its `ip-sysctl`). A held ACK goes out shortly before the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SackCompression {
    /// As the kernel does unless it is told otherwise.
    #[default]
    Kernel,
    /// Every segment out of order is acknowledged at once (RFC 5681 §4.2).
    Off,
}

/// Who sends.
#[non_exhaustive]
pub enum Origin {
    /// The kernel, under a congestion control of its own.
    Kernel {
        /// Its name, as the kernel has it.
        control: String,
    },
    /// An endpoint of ours.
    Endpoint {
        /// The connection's parameters; see [`Opening::config`](crate::host::Opening::config).
        config: Box<Config>,
        /// Makes its sender.
        build: BuildSender,
    },
}

/// How far a transfer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything arrived.
    Whole,
    /// The limit came first.
    CutOff,
}

/// How a transfer went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransferReport {
    /// How far it came.
    pub extent: Extent,
    /// Bytes that arrived, in order, and are those that were sent.
    pub bytes: u64,
    /// From when the sender could send first until the last byte arrived, or until the limit.
    /// The receiver's clock starts when its side of the handshake is over, one propagation delay
    /// after that; the delay is added.
    pub lasted: Duration,
    /// What the sender counted; `None` if it could not say.
    pub sender: Option<Counted>,
    /// What a sender of ours knew at each transmission, in their order, if that was to be kept.
    pub transmissions: Vec<Transmission>,
    /// What a kernel's socket says of its time, if that was to be kept.
    pub times: Option<SocketTimes>,
    /// What the path has to say.
    pub path: PathReport,
}

/// What a sender counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// One of ours.
    Endpoint(SenderStats),
    /// The kernel's.
    Kernel(KernelStats),
}

impl TransferReport {
    /// Payload bits per second.
    #[must_use]
    pub fn goodput_bps(&self) -> f64 {
        if self.lasted.is_zero() {
            return 0.0;
        }
        self.bytes as f64 * 8.0 / self.lasted.as_secs_f64()
    }
}

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The hosts or the path cannot be made.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The kernel does not have the congestion control.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Something that the system was asked for.
    #[error("cannot {what}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The endpoint opens no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection ended before the last byte.
    #[error("the connection ended after {bytes} bytes: {}", in_words(*.reason))]
    Ended {
        /// What had arrived.
        bytes: u64,
        /// Why, if the sender is ours.
        reason: Option<Reason>,
    },
    /// What arrived is not what was sent.
    #[error("the {bytes} bytes that arrived are not those that were sent: their hashes differ")]
    Damaged {
        /// How many arrived.
        bytes: u64,
    },
    /// Somebody asked for the end.
    #[error("interrupted")]
    Interrupted,
}

/// Why a kernel does not send as it should.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// It does not have the congestion control, or does not let us use it.
    #[error(
        "the kernel does not give the congestion control `{name}`; it has {available} (a module \
         such as tcp_{name} may have to be loaded, and an ordinary user may use only what \
         net.ipv4.tcp_allowed_congestion_control lists)"
    )]
    Refused {
        /// Its name.
        name: String,
        /// What the kernel says.
        source: io::Error,
        /// What there is.
        available: String,
    },
    /// It says yes and takes another.
    #[error("the kernel was asked for the congestion control `{name}` and took `{taken}`")]
    Other {
        /// What was asked for.
        name: String,
        /// What was read back.
        taken: String,
    },
}

/// Does one transfer and waits for its end. `asked` is looked at now and then; once it is true
/// the transfer ends.
///
/// # Errors
///
/// If it cannot be done, breaks off, or a byte is not what it was.
pub fn transfer(
    config: &TransferConfig,
    origin: Origin,
    asked: &dyn Fn() -> bool,
) -> Result<TransferReport, TransferError> {
    let files = config.captures.as_ref();
    let network = PathNetwork::captured(&config.path, config.attachment, files)?;
    let to = SocketAddr::new(Side::Far.address(config.family), PORT);
    let window = receiver::Window(config.receiver.window);
    let far = network.host(Side::Far);
    if config.receiver.sack_compression == SackCompression::Off {
        let set = far.set("ipv4/tcp_comp_sack_nr", "0");
        set.map_err(NetworkError::from)?;
    }
    let listener = far.run(move || receiver::listen(to, window));
    let listener = listener.map_err(system("listen in the far namespace"))?;
    let stop = Stop::default();
    let limit = config.limit;
    let seen = stop.clone();
    let pauses = config.receiver.pauses;
    let receiver = network
        .host(Side::Far)
        .spawn("receiver", move || {
            receiver::run(&listener, window, pauses, limit, &seen)
        })
        .map_err(system("start the receiver"))?;
    let dump = match config.host_capture.as_deref() {
        Some(file) => Some(
            dump::Dump::start(network.host(Side::Near), Side::Near, file)
                .map_err(system("capture at the host"))?,
        ),
        None => None,
    };
    let begun = Running::start(&network, origin, to, config, &stop);
    let received = match begun {
        Ok(running) => {
            let received = wait(receiver, asked, &stop);
            let from_kernel = matches!(running, Running::Kernel { .. });
            let mut sent = running.finish(&received, &stop);
            if let (true, Ok(sent)) = (from_kernel, &mut sent) {
                let counted = network.host(Side::Near).run(KernelStats::read);
                sent.counted = counted.ok().map(Counted::Kernel);
            }
            received.and_then(|receipt| Ok((receipt, sent?)))
        }
        Err(error) => {
            stop.ask();
            // It has nothing to say that matters more.
            let _ = receiver.join();
            Err(error)
        }
    };
    let dumped = dump.map_or(Ok(()), dump::Dump::finish);
    let path = network.stop();
    let (receipt, sender) = received?;
    dumped.map_err(system("end the capture at the host"))?;
    judge(config, receipt, sender, path?)
}

/// Whether the kernel has the congestion control `name`, asked in a namespace of its own.
///
/// # Errors
///
/// If it has not, or no namespace can be made.
pub fn probe(name: &str) -> Result<(), TransferError> {
    let namespace = crate::namespace::Namespace::new("probe").map_err(NetworkError::from)?;
    let name = name.to_owned();
    namespace.run(move || sender::socket(Family::V4, &name).map(drop))
}

/// Checks what came, and puts everything together.
fn judge(
    config: &TransferConfig,
    receipt: Receipt,
    sender: Sent,
    path: PathReport,
) -> Result<TransferReport, TransferError> {
    let bytes = receipt.bytes;
    let total = config.total();
    if bytes > total || receipt.hash != Digest::of_pattern(PATTERN, bytes) {
        return Err(TransferError::Damaged { bytes });
    }
    if receipt.extent == Extent::Whole && bytes < total {
        let reason = sender.reason;
        return Err(TransferError::Ended { bytes, reason });
    }
    let lasted = match receipt.extent {
        Extent::Whole => receipt.lasted + config.path.forward.delay,
        Extent::CutOff => receipt.lasted,
    };
    Ok(TransferReport {
        extent: receipt.extent,
        bytes,
        lasted,
        sender: sender.counted,
        transmissions: sender.transmissions,
        times: sender.times,
        path: PathReport {
            endpoint: sender.losses,
            ..path
        },
    })
}

/// What a sender has to say.
#[derive(Clone, Debug, Default)]
struct Sent {
    reason: Option<Reason>,
    counted: Option<Counted>,
    /// If it is one of ours.
    losses: Option<EndpointLosses>,
    transmissions: Vec<Transmission>,
    /// If it is the kernel's.
    times: Option<SocketTimes>,
}

/// Tells the threads of a transfer to end.
#[derive(Clone, Debug, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Waits for the receiver, looking now and then whether somebody asks for the end.
fn wait(
    receiver: JoinHandle<io::Result<Receipt>>,
    asked: &dyn Fn() -> bool,
    stop: &Stop,
) -> Result<Receipt, TransferError> {
    while !receiver.is_finished() {
        if asked() {
            stop.ask();
        }
        std::thread::sleep(std::time::Duration::from_nanos(SLICE.as_nanos()));
    }
    let received = receiver
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if asked() {
        return Err(TransferError::Interrupted);
    }
    received.map_err(system("receive"))
}

fn system(what: &'static str) -> impl Fn(io::Error) -> TransferError {
    move |source| TransferError::System { what, source }
}

fn in_words(reason: Option<Reason>) -> String {
    reason.map_or_else(
        || "the sender did not say why".to_owned(),
        |r| r.to_string(),
    )
}
