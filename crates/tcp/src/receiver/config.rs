//! Parameters of a receiver.

use super::bandwidth::BandwidthWindow;
use super::timing::{AdaptiveAcks, SackCompression};
use crate::options::{Dsack, Ecn, MarkEcho, OrderEcho, Sack};
use crate::seq::SeqNumber;
use crate::time::Duration;

/// Rule by which the receiver acknowledges data that arrives in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every segment is acknowledged at once.
    Immediate,
    /// Every second full segment is acknowledged, and every segment within this delay (RFC 1122 §4.2.3.2, RFC 5681
    /// §4.2: at most 500 ms). Segments beyond a gap, and segments that fill a gap, are acknowledged at once.
    Delayed(Duration),
    /// As in Linux: at first, every segment is acknowledged; later, as with `Delayed`, but the delay adapts to the
    /// times between arrivals.
    Adaptive(AdaptiveAcks),
}

/// Timestamp that an ACK echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampEcho {
    /// The timestamp of the segment that last advanced the window. If several segments did so since the last ACK, the
    /// earliest timestamp (RFC 7323 §4.3).
    Standard,
    /// The timestamp of the segment that caused the ACK, in order or not, as LE §2.2.1 assumes.
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
    /// Size of the receive buffer in bytes, which is the maximum window.
    pub buffer: u32,
    /// Rule for acknowledging data that arrives in order.
    pub ack_policy: AckPolicy,
    /// Compression of the ACKs that a gap causes. It takes effect only with SACK.
    pub sack_compression: Option<SackCompression>,
    /// SACK blocks in ACKs (RFC 2018).
    pub sack: Sack,
    /// Reports of duplicate data (RFC 2883).
    pub dsack: Dsack,
    /// Timestamp that ACKs echo (RFC 7323); `None` for no timestamps.
    pub timestamps: Option<TimestampEcho>,
    /// Echo of transmission numbers (LE §4.2).
    pub order_echo: OrderEcho,
    /// Explicit congestion notification, if both ends agreed on it.
    pub ecn: Ecn,
    /// Rule for echoing marks with classic ECN.
    pub mark_echo: MarkEcho,
    /// Time at which the application reads data from the buffer.
    pub application: Reading,
    /// Window that follows the bandwidth, limited by the buffer (Westwood §II).
    pub bandwidth_window: Option<BandwidthWindow>,
}

impl ReceiverConfig {
    /// Returns default parameters for segments of `mss` bytes, without any options: a buffer of 65,535 bytes, ACKs
    /// delayed by at most 40 ms (RFC 1122 §4.2.3.2: less than 0.5 s), and an application that reads on demand.
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
