//! Changes of a link in the course of a run, as an experiment file describes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_default, is_zero};
use crate::units::{Delay, Probability, Rate};

/// A change of a link at some time, once or again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When it happens first.
    pub at: Delay,
    /// After how long it happens again, and so on to the end of the run; left out, it happens once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Delay>,
    /// The rate from then on; left out, it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// With it, the run's seed draws a rate from `rate` to this, each time that the change happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_max: Option<Rate>,
    /// The one-way propagation delay from then on; left out, it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// With it, the run's seed draws a delay from `delay` to this, each time that the change happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_max: Option<Delay>,
    /// For how long nothing leaves; packets wait as far as the buffer has room.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gap: Delay,
    /// What becomes of what has not left by then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queued: Queued,
}

/// What becomes of packets that wait, or are in transmission, when a link changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Queued {
    /// They leave later.
    #[default]
    Kept,
    /// They are lost.
    Lost,
}

/// A link that is open for a part of every period. Packets wait while it is shut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DutyCycle {
    /// Length of a period; it is open at the beginning of each.
    pub period: Delay,
    /// For what part of it the link is open.
    pub share: Probability,
}

/// Which ACKs a link drops on purpose, to save its capacity. None is dropped that says more than how
/// far the data came: SACK blocks, a mark of congestion, or the same again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckThinning {
    /// Of each flow, one of so many passes, and the others do not; with 1 all pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// An ACK that waits is dropped when a later one of its flow comes to the queue; only with
    /// `queue = "droptail"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub superseded: bool,
}
