//! A transfer over an emulated path to a receiver in the kernel, with every byte verified.
//!
//! ```text
//!   near                                                far
//!   Origin: kernel or endpoint ─▶ emulated path ─▶ kernel, which reads to the end
//! ```
//!
//! Both hosts are made for the transfer and removed after it, so no transfer depends on the contents of a kernel's
//! caches after an earlier one.

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

/// Seed of the pattern that every sender sends.
const PATTERN: u64 = 0x7472_616e_7366_6572;

/// Port of the receiver.
const PORT: u16 = 5001;

/// Interval at which waiting threads check whether they must end.
const SLICE: Duration = Duration::from_millis(50);

/// Configuration of a transfer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransferConfig {
    /// The path.
    pub path: PathConfig,
    /// Attachment of the hosts to the path.
    pub attachment: Attachment,
    /// IP version.
    pub family: Family,
    /// Configuration of the receiver.
    pub receiver: ReceiverConfig,
    /// Capture files for the path's packets, if requested.
    pub captures: Option<CaptureFiles>,
    /// File for a capture at the sending host's device, if requested. tcpdump writes it. Offloaded segments appear in
    /// it as the kernel passes them to the device.
    pub host_capture: Option<PathBuf>,
    /// Number of bytes to send, unless there are [`writes`](Self::writes).
    pub bytes: u64,
    /// Writes of the sending application. If empty, the application writes all bytes at once.
    pub writes: Vec<Write>,
    /// Recording of the sender's state at each transmission.
    pub recording: Recording,
    /// Time after which an unfinished transfer is ended.
    pub limit: Duration,
}

impl TransferConfig {
    /// Creates a transfer of `bytes` over this path and IPv4 that ends after `limit` at the latest, with Ethernet's MTU
    /// and offload, the receiving kernel's defaults, and no captures.
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

    /// Returns the total number of bytes to send.
    #[must_use]
    pub fn total(&self) -> u64 {
        match self.writes.as_slice() {
            [] => self.bytes,
            writes => writes.iter().map(|write| write.bytes).sum(),
        }
    }
}

/// Configuration of the receiving kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// Maximum receive window in bytes. `None` leaves the window to the kernel's autotuning.
    pub window: Option<u64>,
    /// Compression of the ACKs of out-of-order segments.
    pub sack_compression: SackCompression,
    /// Pauses of the receiving application. `None` if it always reads. Data that arrives in a pause fills the receive
    /// buffer.
    pub pauses: Option<ReadPauses>,
}

/// Pauses of a receiving application that stops reading from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadPauses {
    /// Number of bytes between two pauses.
    pub every: u64,
    /// Duration of a pause.
    pub time: Duration,
}

/// SACK compression: Linux delays the ACKs of segments that arrive out of order, by at most 5 % of a round-trip time
/// and 1 ms, unless an in-order segment arrives (since 4.18; `tcp_comp_sack_nr` and `tcp_comp_sack_delay_ns` in its
/// `ip-sysctl`). A delayed ACK is sent shortly before the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SackCompression {
    /// The kernel's default.
    #[default]
    Kernel,
    /// Every out-of-order segment is acknowledged immediately (RFC 5681 §4.2).
    Off,
}

/// Sender of a transfer.
#[non_exhaustive]
pub enum Origin {
    /// The kernel, with one of its congestion controls.
    Kernel {
        /// Name of the congestion control in the kernel.
        control: String,
    },
    /// One of our endpoints.
    Endpoint {
        /// Parameters of the connection; see [`Opening::config`](crate::host::Opening::config).
        config: Box<Config>,
        /// Builds the connection's sender.
        build: BuildSender,
    },
}

/// Extent of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All bytes arrived.
    Whole,
    /// The time limit was reached first.
    CutOff,
}

/// Result of a transfer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransferReport {
    /// Extent of the transfer.
    pub extent: Extent,
    /// Bytes that arrived in order and were verified.
    pub bytes: u64,
    /// Time from the moment when the sender could first send to the arrival of the last byte, or to the limit. The
    /// receiver's clock starts when its side of the handshake is complete, which is one propagation delay later; this
    /// delay is added if all bytes arrived.
    pub lasted: Duration,
    /// Counters of the sender, or `None` if the sender could not report them.
    pub sender: Option<Counted>,
    /// State of our sender at each transmission, in order, if it was recorded.
    pub transmissions: Vec<Transmission>,
    /// Times reported by the kernel's socket, if they were recorded.
    pub times: Option<SocketTimes>,
    /// Report of the path.
    pub path: PathReport,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Counters of one of our senders.
    Endpoint(SenderStats),
    /// Counters of a kernel's sender.
    Kernel(KernelStats),
}

impl TransferReport {
    /// Returns the goodput in payload bits per second.
    #[must_use]
    pub fn goodput_bps(&self) -> f64 {
        if self.lasted.is_zero() {
            return 0.0;
        }
        self.bytes as f64 * 8.0 / self.lasted.as_secs_f64()
    }
}

/// Errors of a transfer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The hosts or the path cannot be made.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The kernel does not provide the congestion control.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A system call failed.
    #[error("cannot {what}")]
    System {
        /// The step, as a verb phrase.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The endpoint cannot open a connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection ended before the last byte.
    #[error("the connection ended after {bytes} bytes: {}", in_words(*.reason))]
    Ended {
        /// Bytes that had arrived.
        bytes: u64,
        /// Reason, if the sender is ours.
        reason: Option<Reason>,
    },
    /// The received bytes differ from the sent bytes.
    #[error("the {bytes} bytes that arrived differ from the bytes sent: the hashes do not match")]
    Damaged {
        /// Number of bytes that arrived.
        bytes: u64,
    },
    /// The caller requested the end.
    #[error("interrupted")]
    Interrupted,
}

/// Errors of selecting a kernel's congestion control.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The kernel does not have the congestion control, or does not allow its use.
    #[error(
        "the kernel does not provide the congestion control `{name}`; it has {available} (load the \
         module tcp_{name} if necessary; an unprivileged user may use only those in \
         net.ipv4.tcp_allowed_congestion_control)"
    )]
    Refused {
        /// Name of the congestion control.
        name: String,
        /// Error of the kernel.
        source: io::Error,
        /// Congestion controls that the kernel has.
        available: String,
    },
    /// The kernel accepted the name but uses another congestion control.
    #[error("the kernel uses the congestion control `{taken}` instead of `{name}`")]
    Other {
        /// Requested congestion control.
        name: String,
        /// Congestion control read back.
        taken: String,
    },
}

/// Runs one transfer and waits for its end. `asked` is called regularly. Once it returns `true`, the transfer ends.
///
/// # Errors
///
/// Returns an error if the transfer cannot be started, breaks off, or delivers a wrong byte.
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
            // The error of the receiver matters less than the error above.
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

/// Checks in a temporary namespace that the kernel provides the congestion control `name`.
///
/// # Errors
///
/// Returns an error if the kernel does not provide the congestion control, or if no namespace can be made.
pub fn probe(name: &str) -> Result<(), TransferError> {
    let namespace = crate::namespace::Namespace::new("probe").map_err(NetworkError::from)?;
    let name = name.to_owned();
    namespace.run(move || sender::socket(Family::V4, &name).map(drop))
}

/// Verifies the received bytes and builds the report.
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

/// Result of a sender.
#[derive(Clone, Debug, Default)]
struct Sent {
    reason: Option<Reason>,
    counted: Option<Counted>,
    /// Losses at the endpoint's device, if the sender is ours.
    losses: Option<EndpointLosses>,
    transmissions: Vec<Transmission>,
    /// Times of the socket, if the sender is the kernel's.
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

/// Waits for the receiver. Meanwhile, calls `asked` regularly and ends the transfer if it returns `true`.
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
        || "the sender reported no reason".to_owned(),
        |r| r.to_string(),
    )
}
