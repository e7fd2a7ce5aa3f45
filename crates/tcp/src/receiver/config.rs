//! The receiver's parameters.

use super::bandwidth::BandwidthWindow;
use super::timing::{AdaptiveAcks, SackCompression};
use crate::options::{Dsack, Ecn, MarkEcho, OrderEcho, Sack};
use crate::seq::SeqNumber;
use crate::time::Duration;

/// When the receiver acknowledges data that arrives in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every segment at once.
    Immediate,
    /// Every second full segment, and no later than this after the first (RFC 1122 §4.2.3.2,
    /// RFC 5681 §4.2: at most 500 ms). Gaps, and the segments that fill them, are acknowledged at
    /// once.
    Delayed(Duration),
    /// As Linux does it: every segment at first, then as with `Delayed`, with a delay that follows
    /// the arrivals.
    Adaptive(AdaptiveAcks),
}

/// Timestamp that an ACK echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampEcho {
    /// The timestamp of the segment that last advanced the window; the earliest if several did
    /// since the last ACK (RFC 7323 §4.3).
    Standard,
    /// The timestamp of the segment that caused the ACK, in order or not, as LE §2.2.1 presumes.
    Trigger,
}

/// Parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// Sequence number of the first byte of the stream.
    pub irs: SeqNumber,
    /// Payload bytes of a full segment from the peer.
    pub mss: u32,
    /// Receive buffer in bytes: the largest window.
    pub buffer: u32,
    /// Acknowledgment of data that arrives in order.
    pub ack_policy: AckPolicy,
    /// Compression of the ACKs that a gap causes; takes effect with SACK only.
    pub sack_compression: Option<SackCompression>,
    /// SACK blocks in ACKs (RFC 2018).
    pub sack: Sack,
    /// Reports of duplicate data (RFC 2883).
    pub dsack: Dsack,
    /// Timestamp that ACKs echo (RFC 7323); `None` for no timestamps.
    pub timestamps: Option<TimestampEcho>,
    /// Echo of the order of transmissions (LE §4.2).
    pub order_echo: OrderEcho,
    /// Explicit congestion notification, if both ends agreed on it.
    pub ecn: Ecn,
    /// Duration of the echo of a mark, with classic ECN.
    pub mark_echo: MarkEcho,
    /// Reads of the application, which empty the buffer.
    pub application: Reading,
    /// Window that follows the bandwidth, as far as the buffer permits (Westwood §II).
    pub bandwidth_window: Option<BandwidthWindow>,
}

impl ReceiverConfig {
    /// Returns the RFCs' defaults, for segments of `mss` bytes and a peer with which no option was
    /// agreed on: a buffer of 64 KiB, ACKs delayed by at most 40 ms (RFC 1122 §4.2.3.2: less than
    /// 0.5 s), an application that reads on demand.
    #[must_use]
    pub const fn new(mss: u32) -> Self {
        Self {
            irs: SeqNumber(0),
            mss,
            buffer: 65_535,
            ack_policy: AckPolicy::Delayed(Duration::from_millis(40)),
            sack_compression: None,
            sack: Sack::Absent,
            dsack: Dsack::Absent,
            timestamps: None,
            order_echo: OrderEcho::Absent,
            ecn: Ecn::Absent,
            mark_echo: MarkEcho::UntilCwr,
            application: Reading::OnDemand,
            bandwidth_window: None,
        }
    }
}

/// Time at which the receiving application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reading {
    /// As soon as the data is in order.
    AtOnce,
    /// When [`Receiver::read`](super::Receiver::read) is called.
    OnDemand,
}
