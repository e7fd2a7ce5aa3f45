//! Chains of 802.11 stations in an experiment file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::units::{Buffer, ByteCount, Delay, Distance, Probability, Rate};

/// Chain of stations that share a radio channel: IEEE 802.11 DCF, with 802.11b as the default. The stations are called
/// `node 0`, `node 1`, …, and each relays packets to its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioOptions {
    /// Number of hops from the first station to the last.
    pub hops: u32,
    /// Distance between neighbours.
    #[serde(default = "spacing", skip_serializing_if = "is_spacing")]
    pub spacing: Distance,
    /// Maximum distance at which a frame can be received.
    #[serde(default = "reception", skip_serializing_if = "is_reception")]
    pub reception_range: Distance,
    /// Maximum distance at which a carrier is sensed.
    #[serde(default = "carrier_sense", skip_serializing_if = "is_carrier_sense")]
    pub carrier_sense_range: Distance,
    /// Rate of data frames. Defaults to 11 Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rate of ACK, RTS and CTS frames. Defaults to 1 Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_rate: Option<Rate>,
    /// Size above which frames are preceded by RTS and CTS. By default, RTS and CTS are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<ByteCount>,
    /// Interface queue of each station. Defaults to 50 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Probability that a packet is lost permanently, even if the MAC succeeds. It applies to each hop, or to the whole
    /// path (see `loss_over`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss: Probability,
    /// Scope of `loss`: each hop, or all hops together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss_over: LossOver,
    /// Probability that a data frame is corrupted. The MAC then retries it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frame_error: Probability,
    /// Initial contention window, in slots. Defaults to 31.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// Maximum contention window, in slots. Defaults to 1023.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// Maximum number of attempts for a frame without RTS, or for an RTS. Defaults to 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_retry_limit: Option<u32>,
    /// Maximum number of attempts for a frame that follows RTS and CTS. Defaults to 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_retry_limit: Option<u32>,
    /// Slot time. Defaults to 20 us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Delay>,
    /// Model of two frames that overlap at a receiver.
    #[serde(default, skip_serializing_if = "is_default")]
    pub interference: Interference,
    /// Treatment of frames that a station senses but cannot receive.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sensed_frames: SensedFrames,
    /// State of the channel for a station that is about to send an ACK or CTS, if a packet to send reaches its MAC at
    /// that moment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answering: Answering,
}

/// Scope of a loss probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LossOver {
    /// Each hop: a packet that crosses five hops may be lost on each of them.
    #[default]
    Hop,
    /// The path from the first station to the last, in each direction. Every hop has the same loss probability.
    Path,
}

/// Model of two frames that overlap at a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Interference {
    /// A frame survives if it is 10 dB stronger than each other frame. Power falls with the fourth power of distance.
    #[default]
    Capture,
    /// Neither frame survives.
    Overlap,
}

/// Treatment of frames that a station senses but cannot receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SensedFrames {
    /// As a frame in error, followed by EIFS, as in ns-2.
    #[default]
    Eifs,
    /// As noise, followed by DIFS, as in ns-3.
    Difs,
}

/// State of the channel for a station that is about to send an ACK or CTS, if a packet to send reaches its MAC at that
/// moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Answering {
    /// Busy: the packet needs a backoff.
    #[default]
    Busy,
    /// Idle: the packet is sent without a backoff, as in ns-3.
    Idle,
}

fn spacing() -> Distance {
    Distance::from_millimetres(200_000)
}

fn is_spacing(distance: &Distance) -> bool {
    *distance == spacing()
}

fn reception() -> Distance {
    Distance::from_millimetres(250_000)
}

fn is_reception(distance: &Distance) -> bool {
    *distance == reception()
}

fn carrier_sense() -> Distance {
    Distance::from_millimetres(550_000)
}

fn is_carrier_sense(distance: &Distance) -> bool {
    *distance == carrier_sense()
}
