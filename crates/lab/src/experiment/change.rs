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
    /// Duration of an outage: no packet leaves the link, and arriving packets wait in the buffer while it has space.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gap: Delay,
    /// Fate of the packets that have not left the link when it changes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queued: Queued,
}

/// Fate of packets that wait or are in transmission when a link changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Queued {
    /// The packets leave the link later.
    #[default]
    Kept,
    /// The packets are lost.
    Lost,
}

/// Periodic duty cycle: the link is open for a fraction of every period. Packets wait while the link is closed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DutyCycle {
    /// Length of a period. The link is open at the start of each period.
    pub period: Delay,
    /// Fraction of each period during which the link is open.
    pub share: Probability,
}

/// Deliberate dropping of ACKs by a link to save capacity. ACKs that carry SACK blocks or a congestion mark, and
/// duplicate ACKs, always pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckThinning {
    /// Passes one of this many ACKs of each flow and drops the others. With 1, every ACK passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// Drops a waiting ACK when a later ACK of the same flow arrives at the queue. Only with `queue = "droptail"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub superseded: bool,
}
