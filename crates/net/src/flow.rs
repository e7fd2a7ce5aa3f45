//! Configuration of flows: TCP transfers, datagram sources, and media.

use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{ReceiverConfig, SenderConfig, Stack};

use crate::ids::{NodeId, RouteId};
use crate::media::MediaConfig;
use crate::misbehaviour::Misbehaviour;
use crate::udp::UdpConfig;
use crate::video::VideoConfig;

/// Configuration of a one-way TCP transfer. [`TcpFlowConfig::new`] sets the usual values.
#[derive(Debug)]
#[non_exhaustive]
pub struct TcpFlowConfig {
    /// Path of the flow.
    pub path: Path,
    /// Start time of the transfer.
    pub start: Instant,
    /// Amount and schedule of the data to send.
    pub application: Application,
    /// Parameters of the sender.
    pub sender: SenderConfig,
    /// Plug-ins of the sender.
    pub stack: Stack,
    /// Parameters of the receiver. The `reader` below determines how its application reads.
    pub receiver: ReceiverConfig,
    /// Reading behaviour of the receiving application.
    pub reader: Reader,
    /// Reneging behaviour: the receiver may discard data that it has sacked (RFC 2018 §8).
    pub reneging: Reneging,
    /// Header sizes on the wire.
    pub headers: HeaderSizes,
    /// Receive coalescing: segments that arrive within this time of the first segment reach the receiver as one. With
    /// `None`, each segment is handed up separately.
    pub coalescing: Option<Duration>,
    /// Misbehaviour of the receiver.
    pub misbehaviour: Misbehaviour,
    /// Script of the application, used only with [`Application::Scripted`].
    pub writes: Vec<Write>,
}

impl TcpFlowConfig {
    /// Creates a greedy transfer that starts with the run. Its receiver reads at once and never reneges. The headers
    /// have the sizes of IPv4 and TCP headers, with timestamps if the sender uses them.
    #[must_use]
    pub const fn new(
        path: Path,
        sender: SenderConfig,
        stack: Stack,
        receiver: ReceiverConfig,
    ) -> Self {
        let timestamps = match sender.timestamps {
            Some(_) => TimestampOption::Present,
            None => TimestampOption::Absent,
        };
        Self {
            path,
            start: Instant::ZERO,
            application: Application::Greedy,
            sender,
            stack,
            receiver,
            reader: Reader::AtOnce,
            reneging: Reneging::Never,
            headers: HeaderSizes::rfc(timestamps),
            coalescing: None,
            misbehaviour: Misbehaviour {
                pieces: 1,
                optimistic_bytes: None,
                claimed_bytes: None,
            },
            writes: Vec::new(),
        }
    }
}

/// Configuration of one-way traffic that does not react to the network.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UdpFlowConfig {
    /// Path of the flow. The reverse path is not used.
    pub path: Path,
    /// Source of the datagrams.
    pub source: UdpConfig,
}

impl UdpFlowConfig {
    /// Creates a flow of `source` over `path`.
    #[must_use]
    pub const fn new(path: Path, source: UdpConfig) -> Self {
        Self { path, source }
    }
}

/// Configuration of real-time media in one direction, with reports in the other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MediaFlowConfig {
    /// Path of the flow.
    pub path: Path,
    /// Source of the media.
    pub source: MediaConfig,
}

impl MediaFlowConfig {
    /// Creates a flow of `source` over `path`.
    #[must_use]
    pub const fn new(path: Path, source: MediaConfig) -> Self {
        Self { path, source }
    }
}

/// Path of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The shortest paths in both directions.
    Shortest {
        /// Node of the sender.
        from: NodeId,
        /// Node of the receiver.
        to: NodeId,
    },
    /// The given routes.
    Explicit {
        /// Route from the sender to the receiver.
        there: RouteId,
        /// Route from the receiver to the sender.
        back: RouteId,
    },
}

/// Sending application: amount and schedule of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Application {
    /// Always has more to send.
    Greedy,
    /// Sends this many bytes.
    Finite(u64),
    /// Writes the same amount several times at regular intervals, the first time at the start. The flow may be
    /// application-limited in between.
    Writes {
        /// Bytes per write.
        bytes: u64,
        /// Number of writes.
        count: u64,
        /// Interval between writes.
        every: Duration,
    },
    /// Follows the script in [`TcpFlowConfig::writes`].
    Scripted {
        /// Sum of all writes in bytes.
        bytes: u64,
    },
    /// Sends video frames at a constant rate, and tracks their playout.
    Video(VideoConfig),
}

/// One write of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Time of the write.
    pub when: When,
    /// Amount in bytes.
    pub bytes: u64,
}

/// Time of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// This long after the start of the flow, or directly after the preceding write if that is later.
    At(Duration),
    /// This long after all earlier data has been acknowledged, like the response to a request that arrives at that
    /// time.
    After(Duration),
}

/// Returns an application that performs `writes` in order.
#[must_use]
pub fn scripted(writes: &[Write]) -> Application {
    let bytes = writes.iter().map(|write| write.bytes);
    Application::Scripted {
        bytes: bytes.fold(0, u64::saturating_add),
    }
}

impl Application {
    /// Returns the total number of bytes; `None` if it is unlimited.
    #[must_use]
    pub const fn total_bytes(self) -> Option<u64> {
        match self {
            Self::Greedy => None,
            Self::Finite(bytes) => Some(bytes),
            Self::Writes { bytes, count, .. } => Some(bytes.saturating_mul(count)),
            Self::Scripted { bytes } => Some(bytes),
            Self::Video(video) => Some(video.frame_bytes.saturating_mul(video.frames)),
        }
    }
}

/// Reading behaviour of a receiving application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reader {
    /// Reads everything as soon as it is in order.
    #[default]
    AtOnce,
    /// Reads a fixed number of bytes at regular intervals: a slow reader.
    Periodic {
        /// Bytes per read.
        bytes: u64,
        /// Interval between reads.
        every: Duration,
    },
    /// Alternates between phases in which it reads everything at once and pauses in which it reads nothing, so that the
    /// window closes.
    Pausing {
        /// Duration of each reading phase.
        reading: Duration,
        /// Duration of each pause.
        pause: Duration,
    },
}

/// Reneging behaviour of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reneging {
    /// The receiver never reneges.
    #[default]
    Never,
    /// The receiver reneges at random times.
    Random {
        /// Mean interval between two renege events.
        mean_interval: Duration,
    },
}

/// Sizes of packets on the wire in addition to their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderSizes {
    /// Header bytes of every data packet.
    pub data_bytes: u32,
    /// Size of an ACK without SACK option, in bytes.
    pub ack_bytes: u32,
    /// Bytes that a SACK option adds to an ACK, not counting its blocks.
    pub sack_fixed_bytes: u32,
    /// Bytes that each SACK block adds.
    pub sack_block_bytes: u32,
}

/// Presence of the timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampOption {
    /// Segments carry the option, which takes twelve bytes with padding (RFC 7323 appendix A).
    Present,
    /// Segments do not carry the option.
    Absent,
}

impl HeaderSizes {
    /// Sizes as in ns-2: a data packet has only its payload, and an ACK has 40 bytes.
    pub const NS2: Self = Self {
        data_bytes: 0,
        ack_bytes: 40,
        sack_fixed_bytes: 0,
        sack_block_bytes: 0,
    };

    /// Returns sizes with IPv4 and TCP headers of 20 bytes each, and their options.
    #[must_use]
    pub const fn rfc(timestamps: TimestampOption) -> Self {
        let bytes = match timestamps {
            TimestampOption::Present => 52,
            TimestampOption::Absent => 40,
        };
        Self {
            data_bytes: bytes,
            ack_bytes: bytes,
            sack_fixed_bytes: 4,
            sack_block_bytes: 8,
        }
    }

    /// Returns the size of an ACK with `sack_blocks` SACK blocks, in bytes.
    #[must_use]
    pub const fn ack_with(&self, sack_blocks: usize) -> u32 {
        match sack_blocks {
            0 => self.ack_bytes,
            n => self.ack_bytes + self.sack_fixed_bytes + self.sack_block_bytes * n as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_with_three_blocks_and_timestamps_is_full() {
        // 40 + 12 + 4 + 24 = 80 bytes: 20 bytes of IP and 60 bytes of TCP, which is the maximum.
        let headers = HeaderSizes::rfc(TimestampOption::Present);
        assert_eq!(headers.ack_with(3), 80);
        assert_eq!(headers.ack_with(0), 52);
        assert_eq!(HeaderSizes::NS2.ack_with(3), 40);
    }
}
