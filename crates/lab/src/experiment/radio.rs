//! A chain of 802.11 stations as an experiment file describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::units::{Buffer, ByteCount, Delay, Distance, Probability, Rate};

/// Stations in a row that share a radio channel: IEEE 802.11 DCF, as 802.11b unless said
/// otherwise. Stations are called `node 0`, `node 1`, …; packets are relayed by all between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioOptions {
    /// How many hops from the first station to the last.
    pub hops: u32,
    /// Distance between neighbours.
    #[serde(default = "spacing", skip_serializing_if = "is_spacing")]
    pub spacing: Distance,
    /// How far a frame can be received.
    #[serde(default = "reception", skip_serializing_if = "is_reception")]
    pub reception_range: Distance,
    /// How far a carrier is sensed.
    #[serde(default = "carrier_sense", skip_serializing_if = "is_carrier_sense")]
    pub carrier_sense_range: Distance,
    /// Rate of data frames; 11 Mbit/s if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rate of ACK, RTS and CTS frames; 1 Mbit/s if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_rate: Option<Rate>,
    /// Frames longer than this are announced by RTS and CTS; none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<ByteCount>,
    /// What each station's interface queue holds; 50 packets if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Probability that a packet is lost for good, whatever the MAC does: on a hop, unless
    /// `loss_over` says otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss: Probability,
    /// What `loss` is the probability of: that a packet is lost on each hop, or on all together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss_over: LossOver,
    /// Probability that a data frame is corrupted, in which case the MAC tries again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frame_error: Probability,
    /// The first contention window, in slots; 31 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// The largest contention window, in slots; 1023 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// Attempts at a frame without RTS, or at an RTS; 7 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_retry_limit: Option<u32>,
    /// Attempts at a frame that RTS and CTS announced; 4 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_retry_limit: Option<u32>,
    /// Slot time; 20 us if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Delay>,
    /// Which of two frames that overlap at a receiver survive.
    #[serde(default, skip_serializing_if = "is_default")]
    pub interference: Interference,
    /// What a station waits for after a frame that it senses but cannot receive.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sensed_frames: SensedFrames,
    /// Whether a packet that is queued while the ACK for the one before is awaited needs a
    /// backoff of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answering: Answering,
}

/// What the probability of a loss is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LossOver {
    /// A hop: a packet over five hops meets it five times.
    #[default]
    Hop,
    /// The path from the first station to the last, each way; every hop has the same part of it.
    Path,
}

/// Which of two frames that overlap at a receiver survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Interference {
    /// The one that is 10 dB stronger than each other, if there is one; power falls with the
    /// fourth power of distance.
    #[default]
    Capture,
    /// Neither of them.
    Overlap,
}

/// What a station waits for after a frame that it senses but cannot receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SensedFrames {
    /// EIFS, as after a frame in error; so ns-2.
    #[default]
    Eifs,
    /// DIFS, as after noise; so ns-3.
    Difs,
}

/// What a station that awaits an ACK is to a packet that is queued meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Answering {
    /// Busy: the packet is sent after a backoff.
    #[default]
    Busy,
    /// Idle: no backoff; so ns-3.
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
