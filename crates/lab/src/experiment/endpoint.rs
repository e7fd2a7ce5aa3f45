//! Endpoints in an experiment file. Options that are left out follow the dialect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lie::Lie;
use crate::units::{Buffer, ByteCount, Delay};

/// Options of a sender in addition to its stack. Options that are left out follow the dialect.
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
    /// Initial slow-start threshold, in segments or bytes. Defaults to no threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Buffer>,
    /// Upper limit of the congestion window, in segments or bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_window: Option<Buffer>,
    /// Lower limit of the retransmission timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Delay>,
    /// Retransmission timeout before the first round-trip sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Delay>,
    /// Granularity of the retransmission timer's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Delay>,
    /// Uses timestamps (RFC 7323).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Bytes of an ACK that count towards the growth of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit: Option<CreditFor>,
    /// Negotiates explicit congestion notification: `true` for RFC 3168, `"accurate"` for RFC 9768. A RED queue with
    /// `ecn = true` then marks the flow's packets instead of dropping them. Defaults to no negotiation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnKind>,
}

/// Kind of explicit congestion notification that two ends negotiate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected `false`, `true` or `\"accurate\"`")]
pub enum EcnKind {
    /// RFC 3168, or none.
    Classic(bool),
    /// Another kind, by name.
    Named(EcnName),
}

/// Kinds of explicit congestion notification that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EcnName {
    /// Accurate ECN: ACKs count the packets that arrived marked (RFC 9768).
    Accurate,
}

/// Options of a receiver. Options that are left out follow the dialect and the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiverOptions {
    /// Maximum delay of an ACK. With `"0s"`, every segment is acknowledged at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Delay>,
    /// Receive buffer, in segments or bytes: the maximum window that the receiver advertises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Sends SACK blocks. By default the receiver sends them if the sender's recovery uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Reports duplicate data (D-SACK, RFC 2883).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// Rule for ACKs of in-order data. With `"adaptive"`, `delayed_ack` has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acks: Option<Acks>,
    /// Delays some of the ACKs that a gap causes, as Linux does: up to 44 ACKs for up to 1 ms. Off by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack_compression: Option<bool>,
    /// Interval of coalescing: segments that arrive within this time reach the receiver as one segment, as with
    /// interrupt coalescing and generic receive offload (GRO in Linux). By default every segment is delivered
    /// separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<Delay>,
    /// Limits the receive window to the measured bandwidth times this minimum round-trip time. The receiver estimates
    /// the bandwidth as the sender of TCP Westwood does (Westwood, section II). With `"0s"`, which is the default, the
    /// window is the buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_window: Option<Delay>,
    /// Misbehaviour that makes the sender send faster. `"divide 8"` splits each ACK for new data into 8 ACKs.
    /// `"optimistic 20pkt"` acknowledges up to 20 segments beyond the received data, even lost ones. `"sack 20pkt"`
    /// reports up to 20 segments beyond the received data by SACK while there is a gap. `"none"` is an honest receiver,
    /// which is the default. Goodput still counts only in-order data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lie: Option<Lie>,
}

/// Rule for ACKs of in-order data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Acks {
    /// Delays ACKs by `delayed_ack`.
    Fixed,
    /// Linux's rules: first every segment, then every second segment or after 40 ms to 200 ms.
    Adaptive,
}

/// Bytes of an ACK that count towards the growth of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CreditFor {
    /// Cumulatively acknowledged bytes, even if SACK reported them before (RFC 5681 §3.1).
    Acknowledged,
    /// Bytes that the ACK is the first to report (Linux).
    Delivered,
}

macro_rules! overlay {
    ($own:expr, $base:expr, $($field:ident),+) => {
        Self { $($field: $own.$field.or($base.$field)),+ }
    };
}

impl SenderOptions {
    /// Returns these options. Options that are left out are taken from `base`.
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
    /// Returns these options. Options that are left out are taken from `base`.
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

/// Returns `buffer` in bytes, for packets of `segment` bytes.
#[must_use]
pub fn bytes_of(buffer: Buffer, segment: u32) -> u64 {
    match buffer {
        Buffer::Packets(packets) => u64::from(packets) * u64::from(segment),
        Buffer::Bytes(bytes) => bytes,
    }
}
