//! Scheduled changes of a link in an experiment file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_default, is_zero};
use crate::units::{Delay, Probability, Rate};

/// Change of a link at a given time, once or repeatedly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Time of the first change.
    pub at: Delay,
    /// Interval between repetitions, until the end of the run. Without it, the change happens once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Delay>,
    /// New rate. Defaults to the current rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Upper end of a range of rates: each time the change happens, the run's seed draws a rate from `rate` to
    /// `rate_max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_max: Option<Rate>,
    /// New one-way propagation delay. Defaults to the current delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Upper end of a range of delays: each time the change happens, the run's seed draws a delay from `delay` to
    /// `delay_max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_max: Option<Delay>,
    /// Duration of an outage: nothing leaves the link, and packets wait while the buffer has room.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gap: Delay,
    /// Fate of the packets that have not left the link when it changes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queued: Queued,
}

/// Fate of packets that wait, or are in transmission, when a link changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Queued {
    /// They leave later.
    #[default]
    Kept,
    /// They are lost.
    Lost,
}

/// Periodic duty cycle: the link is open for a part of every period. Packets wait while it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DutyCycle {
    /// Length of a period. The link is open at the start of each period.
    pub period: Delay,
    /// Fraction of each period during which the link is open.
    pub share: Probability,
}

/// ACKs that a link drops on purpose to save capacity. ACKs that carry SACK blocks or a congestion mark, and duplicate
/// ACKs, always pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckThinning {
    /// Passes one ACK in this many of each flow and drops the others. With 1, every ACK passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// Drops a waiting ACK when a later ACK of the same flow arrives at the queue. Only with `queue = "droptail"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub superseded: bool,
}
