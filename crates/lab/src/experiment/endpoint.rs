//! Endpoints as an experiment file describes them. What is not said follows the dialect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lie::Lie;
use crate::units::{Buffer, ByteCount, Delay};

/// What a sender does beyond its stack. Every field left out follows the dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SenderOptions {
    /// Payload bytes of a full segment (SMSS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<ByteCount>,
    /// Header bytes of a data packet on the wire, options included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<ByteCount>,
    /// Initial congestion window, in segments (`"10pkt"`) or bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Buffer>,
    /// Initial slow start threshold, in segments or bytes; none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Buffer>,
    /// The congestion window never exceeds this, in segments or bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_window: Option<Buffer>,
    /// The least retransmission timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Delay>,
    /// The timeout before the first round-trip sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Delay>,
    /// Granularity of the retransmission timer's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Delay>,
    /// Whether timestamps (RFC 7323) are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// What of an ACK counts for the growth of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit: Option<CreditFor>,
    /// Whether both ends agree on explicit congestion notification: `true` is that of RFC 3168,
    /// `"accurate"` that of RFC 9768. A RED queue with `ecn = true` marks the flow's packets instead
    /// of dropping them. Left out, they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnKind>,
}

/// Which explicit congestion notification two ends agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected false, true or \"accurate\"")]
pub enum EcnKind {
    /// That of RFC 3168, or none.
    Classic(bool),
    /// Another.
    Named(EcnName),
}

/// Names of explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EcnName {
    /// ACKs count the packets that came marked (RFC 9768).
    Accurate,
}

/// What a receiver does. Every field left out follows the dialect and the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiverOptions {
    /// How long an ACK may be delayed; `"0s"` acknowledges every segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Delay>,
    /// The receive buffer, in segments or bytes: the largest window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Whether SACK blocks are sent; left out, they are if the sender's recovery uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Whether duplicate data is reported (RFC 2883).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// What ACKs of data in order go by; with `"adaptive"`, `delayed_ack` does nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acks: Option<Acks>,
    /// Whether of the ACKs beyond a gap some wait for others, as Linux has it (up to 44 for up to 1
    /// ms). Left out, none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack_compression: Option<bool>,
    /// Segments that arrive within this of one another reach the receiver as one, as interrupt and
    /// receive coalescing have it (Linux: GRO). Left out, each does by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<Delay>,
    /// The receiver measures the bandwidth as TCP Westwood's sender does, and its window is no more than
    /// that times this least round-trip time (Westwood, section II). Left out or `"0s"`, it is the buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_window: Option<Delay>,
    /// How it lies to be served faster: `"divide 8"` sends each ACK for new data in 8 parts,
    /// `"optimistic 20pkt"` acknowledges everything up to 20 segments beyond what has come, lost or
    /// not, and `"sack 20pkt"` has SACK cover as much, from a gap on. Left out, or `"none"`, it is
    /// honest. Goodput remains what is there in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lie: Option<Lie>,
}

/// What ACKs of data in order go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Acks {
    /// `delayed_ack`.
    Fixed,
    /// Linux's rules: at first one by one, then every second segment or after 40 ms to 200 ms.
    Adaptive,
}

/// What of an ACK counts for the growth of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CreditFor {
    /// What it acknowledges cumulatively, reported by SACK before or not (RFC 5681 §3.1).
    Acknowledged,
    /// What it is the first to report (Linux).
    Delivered,
}

macro_rules! overlay {
    ($own:expr, $base:expr, $($field:ident),+) => {
        Self { $($field: $own.$field.or($base.$field)),+ }
    };
}

impl SenderOptions {
    /// These options, and `base` where they say nothing.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        overlay!(
            self,
            base,
            segment,
            header,
            initial_window,
            initial_ssthresh,
            max_window,
            min_rto,
            initial_rto,
            granularity,
            timestamps,
            credit,
            ecn
        )
    }
}

impl ReceiverOptions {
    /// These options, and `base` where they say nothing.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        overlay!(
            self,
            base,
            delayed_ack,
            buffer,
            sack,
            dsack,
            acks,
            sack_compression,
            coalescing,
            bandwidth_window,
            lie
        )
    }
}

/// `buffer` in bytes, for packets of `segment` bytes.
#[must_use]
pub fn bytes_of(buffer: Buffer, segment: u32) -> u64 {
    match buffer {
        Buffer::Packets(packets) => u64::from(packets) * u64::from(segment),
        Buffer::Bytes(bytes) => bytes,
    }
}
