//! Traffic sources in an experiment file.

use dupack_net::web::FlowSizes as Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Experiment, ReceiverOptions, SenderOptions, is_default};
use crate::units::{ByteCount, Delay, Rate};

/// Start times of flows and UDP sources, and the positions at which runs begin in recorded traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Starts {
    /// Start times and positions are drawn for every seed. The first flow starts with the run. The other flows and UDP
    /// sources start within the first second (or within a tenth of the run, if that is shorter) after their own
    /// `start`, if they have one. Every recorded trace begins at a random position. All stacks of a seed share these
    /// draws.
    Drawn,
    /// Flows and UDP sources start at the times of `start` and `start_spread`, and with the run by default. Recorded
    /// traces start at their beginning.
    Given,
}

/// Group of identical TCP flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Name in the results.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Stack of the flows. Defaults to the stack under comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// Number of flows.
    #[serde(default = "one")]
    pub count: u32,
    /// Node of the sender. Only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node of the receiver. Only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Sends in the reverse direction of the path, from the side of its receivers to the side of its senders. Only with
    /// `path`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reverse: bool,
    /// Start time. Defaults to the start of the run, or to a drawn time (see `starts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// Range of random start times: they are uniform over this time after `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread: Option<Delay>,
    /// Bytes that each flow transfers. Unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteCount>,
    /// Writes of the application, instead of unlimited data. Between the writes the flow is application-limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<AppWrite>,
    /// Video: frames at a constant rate with a deadline, instead of unlimited data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<Video>,
    /// Short flows at random times, instead of one long flow. `count` is then the number of such sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<Web>,
    /// Options of the group's senders that differ from the options of all senders.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sender: SenderOptions,
    /// Options of the group's receivers that differ from the options of all receivers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub receiver: ReceiverOptions,
}

/// A write of an application, or a series of writes. The writes of a list follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppWrite {
    /// Time since the start of the flow. Defaults to the time of the previous write, or to the start of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Delay>,
    /// Instead of `at`: time after all previous data was acknowledged, as between a response and the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Delay>,
    /// Interval between repetitions. Without `count`, the repetitions continue until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Delay>,
    /// Number of writes, at the interval `every`, or each one `after` the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Size of the write.
    pub bytes: ByteCount,
}

impl AppWrite {
    /// Returns the number of writes in a run of `duration`.
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

/// Video: frames of equal size at regular intervals, each with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Payload rate of the video.
    pub rate: Rate,
    /// Interval between frames.
    #[serde(default = "default_frame")]
    pub frame: Delay,
    /// Time from the write of a frame to its display.
    pub deadline: Delay,
}

/// Short flows: each transfer is a separate connection. They arrive at random from `start` to the end of the run, as a
/// Poisson process with the number of flows fixed at its mean. The run's seed draws their sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Distribution of the sizes.
    pub sizes: FlowSizes,
    /// Average offered load, in payload.
    pub load: Rate,
}

/// Published distribution of flow sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FlowSizes {
    /// Objects of web pages (3GPP2's HTTP model, as in ns-3): 8.7 kB on average.
    WebObjects,
    /// A web-search cluster (DCTCP, SIGCOMM 2010): 1.7 MB on average.
    WebSearch,
    /// A data-mining cluster (VL2, SIGCOMM 2009): 12.7 MB on average.
    DataMining,
}

impl FlowGroup {
    /// Returns the number of flows of the group in a run of `experiment`.
    pub(crate) fn flows_in(&self, experiment: &Experiment) -> u64 {
        let Some(web) = &self.web else {
            return u64::from(self.count);
        };
        let seconds = self.sending(experiment).as_seconds();
        let bytes = web.load.as_bits_per_second() as f64 / 8.0 * seconds;
        let each = bytes / web.sizes.distribution().mean_bytes();
        (each * f64::from(self.count)).round() as u64
    }

    /// Returns the time during which the short flows of the group arrive: from its start to the end of the run.
    pub(crate) fn sending(&self, experiment: &Experiment) -> Delay {
        let start = self.start.unwrap_or_default();
        let end = experiment.duration;
        Delay::from_nanos(end.as_nanos().saturating_sub(start.as_nanos()))
    }
}

impl FlowSizes {
    /// Returns the distribution.
    pub(crate) const fn distribution(self) -> Distribution {
        match self {
            Self::WebObjects => Distribution::WebObjects,
            Self::WebSearch => Distribution::WebSearch,
            Self::DataMining => Distribution::DataMining,
        }
    }
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

/// A UDP source with a constant rate. It sends all the time, or only during its on periods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpSource {
    /// Name in the results.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Rate on the wire while the source sends.
    pub rate: Rate,
    /// Size of the packets on the wire.
    #[serde(default = "default_packet")]
    pub packet: ByteCount,
    /// Node of the sender. Only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Node of the receiver. Only in a topology of `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Start time. Defaults to the start of the run, or to a drawn time (see `starts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// Stop time. By default the source does not stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Delay>,
    /// Length of the on periods. Requires `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Delay>,
    /// Length of the off periods. Requires `on`. The source starts with an on period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Delay>,
    /// Distribution of the lengths of on and off periods.
    #[serde(default, skip_serializing_if = "is_default")]
    pub periods: Periods,
}

/// Distribution of the lengths of on and off periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Periods {
    /// Fixed lengths.
    #[default]
    Fixed,
    /// Exponentially distributed with the given mean.
    Exponential,
}

fn default_packet() -> ByteCount {
    ByteCount::from_bytes(1000)
}
