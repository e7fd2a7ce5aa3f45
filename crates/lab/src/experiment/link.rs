//! Links in an experiment file.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{AckThinning, Change, DutyCycle};
use super::queue::{
    CakeOptions, CoDelOptions, DualPi2Options, FqCoDelOptions, PieOptions, TokenBucketOptions,
};
use super::{DropRule, is_default};
use crate::units::{Delay, Probability, Rate, Room};

/// A link, or the bottleneck of a path. Both directions have the same options, except those that `reverse` sets. Loss,
/// reordering, duplication and jitter apply to the forward direction only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkOptions {
    /// The two nodes that the link joins. Only in `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// Rate of the link. Give either `rate` or `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// File of recorded delivery opportunities, instead of `rate`, in Mahimahi's format: one line per 1500 bytes, in
    /// milliseconds. The recording repeats. The path is relative to the experiment file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// One-way propagation delay.
    #[serde(default)]
    pub delay: Delay,
    /// Capacity of the queue, in packets, bytes or bandwidth-delay products. The packet in transmission is not counted.
    /// Defaults to one bandwidth-delay product, and at least 10 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Room>,
    /// Queue discipline.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: QueueKind,
    /// Parameters of RED, with `queue = "red"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<RedOptions>,
    /// Parameters of CoDel, with `queue = "codel"`. The defaults are those of RFC 8289.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDelOptions>,
    /// Parameters of FQ-CoDel, with `queue = "fq_codel"`. The defaults are those of RFC 8290.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fq_codel: Option<FqCoDelOptions>,
    /// Parameters of PIE, with `queue = "pie"`. The defaults are those of RFC 8033.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pie: Option<PieOptions>,
    /// Parameters of DualPI2, with `queue = "dualpi2"`. The defaults are those of RFC 9332.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dualpi2: Option<DualPi2Options>,
    /// Parameters of the CAKE-like queue, with `queue = "cake"`. The defaults are those of the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cake: Option<CakeOptions>,
    /// Token bucket, with `queue = "policer"` or `queue = "shaper"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_bucket: Option<TokenBucketOptions>,
    /// Probability that a packet is lost, independently of the others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss: Probability,
    /// Bursty losses (Gilbert–Elliott), in addition to `loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Scripted losses: `"24-30"` (data packets, counted from 0), `"26#2"` (the second transmission of 26), `"5 of
    /// 40-71"` (five of these, chosen by the run's seed), `"ack 3"`, `"1.5s..2s"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<DropRule>,
    /// Place of random losses: before the queue, or after the transmission.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss_placement: LossPlacement,
    /// Reordering: some packets are held back, so that later packets overtake them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Probability that a packet is duplicated.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplicate: Probability,
    /// Maximum of a random additional delay, which is uniform from zero. Packets may overtake each other.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub jitter: Delay,
    /// Scheduled changes of the link, in both directions. The reverse direction uses its own list if it has one.
    /// Otherwise, a rate or delay that `reverse` sets does not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// `true` if packets that leave after a change to a shorter delay may overtake packets that left before the change.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overtaking: bool,
    /// Periodic duty cycle, in both directions unless `reverse` has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<DutyCycle>,
    /// Deliberate dropping of ACKs in this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin_acks: Option<AckThinning>,
    /// Differences of the reverse direction, which carries the ACKs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Direction>,
}

impl LinkOptions {
    /// Returns `true` if the capacity of both queues is a number of packets or bytes.
    #[must_use]
    pub fn has_fixed_room(&self) -> bool {
        let fixed = |room: Room| matches!(room, Room::Fixed(_));
        let back = self.reverse.as_ref().and_then(|reverse| reverse.buffer);
        self.buffer.is_some_and(fixed) && back.is_none_or(fixed)
    }
}

/// Options of the reverse direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Rate of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Recorded delivery opportunities of this direction, instead of `rate`. The recordings of both directions are
    /// assumed to be simultaneous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Capacity of the queue. Defaults to the packets or bytes of the forward direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Room>,
    /// Queue discipline of this direction. The discipline of the forward direction is not inherited.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: QueueKind,
    /// Parameters of RED, with `queue = "red"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<RedOptions>,
    /// Parameters of CoDel, with `queue = "codel"`. The defaults are those of RFC 8289.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDelOptions>,
    /// Parameters of FQ-CoDel, with `queue = "fq_codel"`. The defaults are those of RFC 8290.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fq_codel: Option<FqCoDelOptions>,
    /// Parameters of PIE, with `queue = "pie"`. The defaults are those of RFC 8033.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pie: Option<PieOptions>,
    /// Parameters of DualPI2, with `queue = "dualpi2"`. The defaults are those of RFC 9332.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dualpi2: Option<DualPi2Options>,
    /// Parameters of the CAKE-like queue, with `queue = "cake"`. The defaults are those of the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cake: Option<CakeOptions>,
    /// Token bucket, with `queue = "policer"` or `queue = "shaper"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_bucket: Option<TokenBucketOptions>,
    /// Probability that a packet is lost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss: Probability,
    /// Bursty losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Scripted losses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<DropRule>,
    /// Scheduled changes of this direction. Default to those of the forward direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
    /// Duty cycle of this direction. Defaults to that of the forward direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<DutyCycle>,
    /// Deliberate dropping of ACKs in this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin_acks: Option<AckThinning>,
}

/// Queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QueueKind {
    /// Drops arriving packets when the queue is full.
    #[default]
    DropTail,
    /// Drops early and at random (Floyd and Jacobson, 1993).
    Red,
    /// Drops packets at the head of the queue after packets have waited too long (RFC 8289).
    CoDel,
    /// CoDel for each flow, with round-robin scheduling among flows (RFC 8290).
    #[serde(rename = "fq_codel")]
    FqCoDel,
    /// Drops early and at random, depending on the queueing delay (RFC 8033).
    Pie,
    /// Controls the queueing delay, with a separate queue for L4S (RFC 9332).
    DualPi2,
    /// One queue per flow with fairness among hosts, a shaper and COBALT (similar to CAKE, LANMAN 2018).
    Cake,
    /// Drop-tail queue behind a token bucket that drops excess packets.
    Policer,
    /// Drop-tail queue with a token bucket that delays packets (Linux's `tbf`).
    Shaper,
}

/// Parameters of RED, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedOptions {
    /// Average queue length below which no packet is dropped, in packets.
    pub min: f64,
    /// Average queue length above which every packet is dropped, in packets. With `gentle`, the drop probability
    /// increases gradually above this length instead.
    pub max: f64,
    /// Drop probability at `max`.
    #[serde(default = "default_red_probability")]
    pub probability: Probability,
    /// Weight of the newest sample in the average queue.
    #[serde(default = "default_red_weight")]
    pub weight: f64,
    /// Raises the drop probability from `probability` at `max` to 1 at twice `max`.
    #[serde(default = "yes")]
    pub gentle: bool,
    /// Marks packets of flows that use ECN instead of dropping them (RFC 3168), unless the average queue length demands
    /// a drop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: bool,
}

fn default_red_probability() -> Probability {
    Probability::new(0.1).expect("0.1 is a probability")
}

fn default_red_weight() -> f64 {
    0.002
}

fn yes() -> bool {
    true
}

/// Bursty losses: a two-state Markov chain with one step per packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability per packet of a change to the bad state.
    pub enter: Probability,
    /// Probability per packet of a change to the good state.
    pub leave: Probability,
    /// Loss probability in the good state.
    #[serde(default)]
    pub good: Probability,
    /// Loss probability in the bad state.
    #[serde(default = "certain")]
    pub bad: Probability,
}

fn certain() -> Probability {
    Probability::new(1.0).expect("1 is a probability")
}

/// Place of random losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LossPlacement {
    /// On the medium: a lost packet occupied the queue and used transmission time.
    #[default]
    After,
    /// Before the queue, as ns-2's `lossmodel` does: a lost packet uses no capacity.
    Before,
}

/// Reordering by holding packets back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// Duration for which the packet is held back.
    pub delay: Delay,
}
