//! Who sends what, as an experiment file describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReceiverOptions, SenderOptions, is_default};
use crate::units::{ByteCount, Delay, Rate};

/// When flows and UDP sources start, and where a run begins in a recorded trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// Every seed draws them. The first flow starts with the run; the others start within the first
    /// second, and so do UDP sources (within a tenth of the run if that is less), later than their own
    /// `start` if they have one. Every recorded trace begins at a moment of its own. All stacks of a
    /// seed have the same.
    Drawn,
    /// As each says by `start` and `start_spread`, and with the run where it says nothing. Recorded
    /// traces begin at their start.
    Given,
}

/// TCP flows that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Name in the results.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its stack; left out, the one under comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// How many there are.
    #[serde(default = "one")]
    pub count: u32,
    /// Node of the sender; only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node of the receiver; only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Runs against the path, from its receivers' side to its senders'; only with `path`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reverse: bool,
    /// When it starts; left out, at the beginning of the run, or when `starts` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// Starts are spread evenly at random over this much time after `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Delay>,
    /// How much each sends; without it there is always more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteCount>,
    /// What the application of each writes when, instead of everything at once: between its writes it has
    /// nothing to send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<AppWrite>,
    /// Sends frames at a constant rate to somebody who watches, instead of always more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<Video>,
    /// Short flows that come and go, instead of one that always has more: `count` is then how many
    /// such sources there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<Web>,
    /// Where its senders differ from the others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sender: SenderOptions,
    /// Where its receivers differ from the others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub receiver: ReceiverOptions,
}

/// A write of an application, or several at regular times. In a list of them each comes after those before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppWrite {
    /// When, from the start of the flow on; left out, with the flow, or together with the write before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Delay>,
    /// So long after everything before has been acknowledged, as an answer comes after a question; instead
    /// of `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Delay>,
    /// Again and again at this interval; without `count`, until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Delay>,
    /// How often: at the interval `every`, or each `after` the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// How much.
    pub bytes: ByteCount,
}

impl AppWrite {
    /// How many writes it stands for in a run of `duration`.
    #[must_use]
    pub fn times(&self, duration: Delay) -> u64 {
        match (self.count, self.every) {
            (Some(count), _) => count.into(),
            (None, None) => 1,
            (None, Some(every)) => {
                let from = self.at.unwrap_or_default().as_nanos();
                let left = duration.as_nanos().saturating_sub(from);
                left.div_ceil(every.as_nanos().max(1))
            }
        }
    }
}

/// Video: frames of one size at regular times, each to be shown by a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Rate of the video, in payload.
    pub rate: Rate,
    /// Time between two frames.
    #[serde(default = "default_frame")]
    pub frame: Delay,
    /// From when a frame is written until it is to be shown.
    pub deadline: Delay,
}

/// Short flows: each transfer is a connection of its own. They come at random from `start` to the end
/// of the run (a Poisson process, of which the number of flows is fixed at its mean), and the run's
/// seed draws their sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Where their sizes are from.
    pub sizes: FlowSizes,
    /// What they offer on average, in payload.
    pub load: Rate,
}

/// A published distribution of the sizes of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FlowSizes {
    /// Objects of web pages (3GPP2's HTTP model as ns-3 has it): 8.7 kB on average.
    WebObjects,
    /// A web-search cluster (DCTCP, SIGCOMM 2010): 1.7 MB on average.
    WebSearch,
    /// A data-mining cluster (VL2, SIGCOMM 2009): 12.7 MB on average.
    DataMining,
}

fn one() -> u32 {
    1
}

fn default_frame() -> Delay {
    Delay::from_nanos(40_000_000)
}

impl Default for FlowGroup {
    fn default() -> Self {
        Self {
            name: String::new(),
            stack: None,
            count: 1,
            from: None,
            to: None,
            reverse: false,
            start: None,
            start_spread: None,
            bytes: None,
            writes: Vec::new(),
            video: None,
            web: None,
            sender: SenderOptions::default(),
            receiver: ReceiverOptions::default(),
        }
    }
}

/// A UDP source: constant rate, always or while it is on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpSource {
    /// Name in the results.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Rate on the wire while it sends.
    pub rate: Rate,
    /// Size of its packets on the wire.
    #[serde(default = "default_packet")]
    pub packet: ByteCount,
    /// Node that sends; only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node that receives; only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// When it starts; left out, at the beginning of the run, or when `starts` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// When it stops for good; left out, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Delay>,
    /// Length of its on periods; with `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Delay>,
    /// Length of its off periods; with `on`. It begins with an on period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Delay>,
    /// Whether on and off periods vary, exponentially, around their lengths.
    #[serde(default, skip_serializing_if = "is_default")]
    pub periods: Periods,
}

/// How long on and off periods are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Periods {
    /// As given.
    #[default]
    Fixed,
    /// Exponentially distributed with the given mean.
    Exponential,
}

fn default_packet() -> ByteCount {
    ByteCount::from_bytes(1000)
}
