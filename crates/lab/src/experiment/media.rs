//! Real-time media in an experiment file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::units::{ByteCount, Delay, Rate};

/// Real-time media over RTP: frames at regular intervals, each sent at once. A source with several rates changes to the
/// next lower rate when packets are lost or wait too long, and to the next higher rate after a time without problems. A
/// source with one rate does not react. The receiver sends reports over the reverse path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaSource {
    /// Name for readers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Rates on the wire, in ascending order. The source starts with the first.
    pub rates: Vec<Rate>,
    /// Number of sources.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Node of the sender. Only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node of the receiver. Only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Sends in the reverse direction of the path. Only with `path`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reverse: bool,
    /// Start time. Defaults to the start of the run, or to a drawn time (see `starts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// Stop time. By default the source does not stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Delay>,
    /// Interval between frames. Defaults to 40 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Delay>,
    /// Maximum size of a packet on the wire. Defaults to 1200 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<ByteCount>,
    /// Interval between reports of the receiver. Defaults to 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Delay>,
    /// Queueing delay at which the source changes to the next lower rate. Defaults to 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_limit: Option<Delay>,
    /// Time without problems after which the source changes to the next higher rate. Defaults to 2 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Delay>,
    /// Maximum one-way delay at which a packet is still useful. Defaults to 400 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Delay>,
}

const fn one() -> u32 {
    1
}

// serde requires a reference parameter.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_one(count: &u32) -> bool {
    *count == 1
}
