//! Real-time media, as an experiment file describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::units::{ByteCount, Delay, Rate};

/// Real-time media over RTP: frames at regular times, each sent at once. With several rates the source
/// goes down a rate when packets are lost or wait, and up one when all has been well for some time;
/// with one it reacts to nothing. A receiver reports to it over the way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaSource {
    /// Name, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its rates on the wire, ascending; it starts with the first.
    pub rates: Vec<Rate>,
    /// How many such sources there are.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Node that sends; only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node that receives; only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Runs against the path; only with `path`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reverse: bool,
    /// When it starts; left out, at the beginning of the run, or when `starts` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// When it stops for good; left out, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Delay>,
    /// Time between two frames; 40 ms if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Delay>,
    /// The largest packet on the wire; 1200 bytes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<ByteCount>,
    /// Time between two reports of its receiver; 100 ms if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Delay>,
    /// A wait in queues of this length takes it down a rate; 100 ms if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_limit: Option<Delay>,
    /// How long all is well before it goes up a rate; 2 s if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Delay>,
    /// The longest way of a packet that is of use; 400 ms if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Delay>,
}

const fn one() -> u32 {
    1
}

// What serde asks for.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_one(count: &u32) -> bool {
    *count == 1
}
