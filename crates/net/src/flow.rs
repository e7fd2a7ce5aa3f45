//! What runs over the network: TCP transfers and datagram sources, as they are configured.

use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{ReceiverConfig, SenderConfig, Stack};

use crate::ids::{NodeId, RouteId};
use crate::media::MediaConfig;
use crate::misbehaviour::Misbehaviour;
use crate::udp::UdpConfig;
use crate::video::VideoConfig;

/// A one-way TCP transfer; [`TcpFlowConfig::new`] has the usual.
#[derive(Debug)]
#[non_exhaustive]
pub struct TcpFlowConfig {
    /// Between which nodes, and how.
    pub path: Path,
    /// When the transfer starts.
    pub start: Instant,
    /// How much there is to send.
    pub application: Application,
    /// The sender's parameters.
    pub sender: SenderConfig,
    /// The sender's plug-ins.
    pub stack: Stack,
    /// The receiver's parameters; how its application reads is set by `reader`.
    pub receiver: ReceiverConfig,
    /// How the receiving application reads.
    pub reader: Reader,
    /// Whether the receiver throws away data that it has sacked (RFC 2018 §8).
    pub reneging: Reneging,
    /// Sizes on the wire.
    pub headers: HeaderSizes,
    /// Segments that arrive within this of one another reach the receiver as one; `None` if each
    /// does by itself.
    pub coalescing: Option<Duration>,
    /// How the receiver lies.
    pub misbehaviour: Misbehaviour,
    /// What the application writes when, with [`Application::Scripted`]; read by nobody else.
    pub writes: Vec<Write>,
}

impl TcpFlowConfig {
    /// A greedy transfer from the start of the run, whose receiver reads at once and never
    /// reneges, with the headers of IPv4 and of TCP with or without timestamps, as the sender
    /// has it.
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

/// Traffic in one direction that reacts to nothing.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UdpFlowConfig {
    /// Between which nodes, and how. The way back is not used.
    pub path: Path,
    /// What is sent.
    pub source: UdpConfig,
}

impl UdpFlowConfig {
    /// What `source` sends, on this way.
    #[must_use]
    pub const fn new(path: Path, source: UdpConfig) -> Self {
        Self { path, source }
    }
}

/// Real-time media in one direction, with reports in the other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MediaFlowConfig {
    /// Between which nodes, and how.
    pub path: Path,
    /// What is sent.
    pub source: MediaConfig,
}

impl MediaFlowConfig {
    /// What `source` sends, on this way.
    #[must_use]
    pub const fn new(path: Path, source: MediaConfig) -> Self {
        Self { path, source }
    }
}

/// The way of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// The shortest ways there and back.
    Shortest {
        /// Where the sender is.
        from: NodeId,
        /// Where the receiver is.
        to: NodeId,
    },
    /// Exactly these.
    Explicit {
        /// From the sender to the receiver.
        there: RouteId,
        /// From the receiver to the sender.
        back: RouteId,
    },
}

/// How much a sender has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Application {
    /// Always more.
    Greedy,
    /// So many bytes.
    Finite(u64),
    /// The same amount several times over, at regular times, the first at the start: whatever
    /// the path permits, there may be nothing to send.
    Writes {
        /// Bytes per write.
        bytes: u64,
        /// How many writes.
        count: u64,
        /// Time between two.
        every: Duration,
    },
    /// What [`TcpFlowConfig::writes`] says, so many bytes in all.
    Scripted {
        /// The sum of the writes.
        bytes: u64,
    },
    /// Frames at a constant rate, with somebody watching.
    Video(VideoConfig),
}

/// A write of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// When.
    pub when: When,
    /// How much.
    pub bytes: u64,
}

/// When an application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after the start of the flow, or as soon as everything before it is written if that is later.
    At(Duration),
    /// So long after everything before it has been acknowledged: an answer to a question that comes then.
    After(Duration),
}

/// What an application writes that has a script: all of it, in the order of the list.
#[must_use]
pub fn scripted(writes: &[Write]) -> Application {
    let bytes = writes.iter().map(|write| write.bytes);
    Application::Scripted {
        bytes: bytes.fold(0, u64::saturating_add),
    }
}

impl Application {
    /// Bytes in all; `None` if there is no end to them.
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

/// How a receiving application reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reader {
    /// Everything, as soon as it is in order.
    #[default]
    AtOnce,
    /// So many bytes at regular times: a slow reader.
    Periodic {
        /// Bytes per read.
        bytes: u64,
        /// Time between reads.
        every: Duration,
    },
    /// Everything at once for a while, then nothing for a while: the window closes.
    Pausing {
        /// How long it reads.
        reading: Duration,
        /// How long it does not.
        pause: Duration,
    },
}

/// Whether and how often a receiver reneges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reneging {
    /// It never does.
    #[default]
    Never,
    /// At random times.
    Random {
        /// The mean time between two.
        mean_interval: Duration,
    },
}

/// Sizes of packets on the wire beyond their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderSizes {
    /// Bytes that every data packet carries beside its payload.
    pub data_bytes: u32,
    /// Size of an ACK without SACK option.
    pub ack_bytes: u32,
    /// What a SACK option adds to an ACK beside its blocks.
    pub sack_fixed_bytes: u32,
    /// What each SACK block adds.
    pub sack_block_bytes: u32,
}

/// Whether segments carry the timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampOption {
    /// They do: twelve bytes with padding (RFC 7323 appendix A).
    Present,
    /// They do not.
    Absent,
}

impl HeaderSizes {
    /// As ns-2 counts: a data packet is its payload, an ACK 40 bytes.
    pub const NS2: Self = Self {
        data_bytes: 0,
        ack_bytes: 40,
        sack_fixed_bytes: 0,
        sack_block_bytes: 0,
    };

    /// IPv4 and TCP headers of 20 bytes each, and their options.
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

    /// Size of an ACK with so many SACK blocks.
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
        // 40 + 12 + 4 + 24 = 80: 20 of IP and 60 of TCP, the most there is.
        let headers = HeaderSizes::rfc(TimestampOption::Present);
        assert_eq!(headers.ack_with(3), 80);
        assert_eq!(headers.ack_with(0), 52);
        assert_eq!(HeaderSizes::NS2.ack_with(3), 40);
    }
}
