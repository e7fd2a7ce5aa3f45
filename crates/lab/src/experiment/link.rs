//! Links as an experiment file describes them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{AckThinning, Change, DutyCycle};
use super::queue::{
    CakeOptions, CoDelOptions, DualPi2Options, FqCoDelOptions, PieOptions, TokenBucketOptions,
};
use super::{DropRule, is_default};
use crate::units::{Delay, Probability, Rate, Room};

/// A link, or the bottleneck of a path. Both directions are alike unless `reverse` says
/// otherwise; loss, reordering and the like are the forward direction's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkOptions {
    /// The two nodes it joins; only in `[[links]]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// Its rate. Either this or `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A file of recorded delivery opportunities in Mahimahi's format, instead of `rate`: a
    /// line per 1500 bytes, in milliseconds, repeating. Relative to the experiment file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// One-way propagation delay.
    #[serde(default)]
    pub delay: Delay,
    /// What its queue holds, in packets, bytes or bandwidth-delay products, the packet in transmission not
    /// counted. Left out, one bandwidth-delay product, and at least 10 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Room>,
    /// How its queue drops.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: QueueKind,
    /// Parameters of RED, with `queue = "red"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<RedOptions>,
    /// Parameters of CoDel, with `queue = "codel"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDelOptions>,
    /// Parameters of FQ-CoDel, with `queue = "fq_codel"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fq_codel: Option<FqCoDelOptions>,
    /// Parameters of PIE, with `queue = "pie"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pie: Option<PieOptions>,
    /// Parameters of DualPI2, with `queue = "dualpi2"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dualpi2: Option<DualPi2Options>,
    /// Parameters of a queue like CAKE, with `queue = "cake"`; the paper's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cake: Option<CakeOptions>,
    /// The token bucket of `queue = "policer"` and `queue = "shaper"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_bucket: Option<TokenBucketOptions>,
    /// Probability that a packet is lost, each by itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss: Probability,
    /// Losses in bursts (Gilbert–Elliott), beside `loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Losses by list: `"24-30"` (data packets, counted from 0), `"26#2"` (the second
    /// transmission of 26), `"5 of 40-71"` (five of these, chosen by the run's seed), `"ack 3"`,
    /// `"1.5s..2s"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<DropRule>,
    /// Whether random losses strike before the queue or after the transmission.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss_placement: LossPlacement,
    /// Packets that are held back and overtaken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Probability that a packet arrives twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplicate: Probability,
    /// Random extra delay, uniform between zero and this; packets may overtake each other.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub jitter: Delay,
    /// How the link changes in the course of the run, in both directions: the reverse one has its own
    /// if it says so, and keeps the rate and the delay that are its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Whether packets that leave after a change to a shorter delay overtake those that left before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overtaking: bool,
    /// A link that is open for a part of every period, in both directions unless `reverse` has its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<DutyCycle>,
    /// Which ACKs it drops on purpose, in this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin_acks: Option<AckThinning>,
    /// Where the reverse direction, which carries the ACKs, differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Direction>,
}

impl LinkOptions {
    /// Whether the room of both queues is a number of packets or bytes.
    #[must_use]
    pub fn has_fixed_room(&self) -> bool {
        let fixed = |room: Room| matches!(room, Room::Fixed(_));
        let back = self.reverse.as_ref().and_then(|reverse| reverse.buffer);
        self.buffer.is_some_and(fixed) && back.is_none_or(fixed)
    }
}

/// What may differ in the reverse direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Rate of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Recorded delivery opportunities of this direction, instead of `rate`. The recordings of both
    /// directions are taken as made at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// One-way propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// What the queue holds; left out, as many packets or bytes as that of the forward direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Room>,
    /// How its queue drops, whatever the forward direction's does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: QueueKind,
    /// Parameters of RED, with `queue = "red"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<RedOptions>,
    /// Parameters of CoDel, with `queue = "codel"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDelOptions>,
    /// Parameters of FQ-CoDel, with `queue = "fq_codel"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fq_codel: Option<FqCoDelOptions>,
    /// Parameters of PIE, with `queue = "pie"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pie: Option<PieOptions>,
    /// Parameters of DualPI2, with `queue = "dualpi2"`; the RFC's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dualpi2: Option<DualPi2Options>,
    /// Parameters of a queue like CAKE, with `queue = "cake"`; the paper's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cake: Option<CakeOptions>,
    /// The token bucket of `queue = "policer"` and `queue = "shaper"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_bucket: Option<TokenBucketOptions>,
    /// Probability that a packet is lost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss: Probability,
    /// Losses in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Losses by list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<DropRule>,
    /// How this direction changes in the course of the run; left out, as the forward one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
    /// For what part of every period this direction is open; left out, as the forward one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<DutyCycle>,
    /// Which ACKs it drops on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin_acks: Option<AckThinning>,
}

/// How a queue drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QueueKind {
    /// When it is full.
    #[default]
    DropTail,
    /// Early and at random (Floyd and Jacobson, 1993).
    Red,
    /// At the head, once packets have waited too long (RFC 8289).
    CoDel,
    /// The same for each flow by itself, with flows served in turn (RFC 8290).
    #[serde(rename = "fq_codel")]
    FqCoDel,
    /// Early and at random, by the time that packets wait (RFC 8033).
    Pie,
    /// By the time that packets wait, with a line of its own for L4S (RFC 9332).
    DualPi2,
    /// A line for each flow, fair among hosts too, with a shaper and COBALT (like CAKE, LANMAN 2018).
    Cake,
    /// When it is full, and before that whatever a token bucket does not let pass.
    Policer,
    /// When it is full; a token bucket says when packets may leave (Linux's `tbf`).
    Shaper,
}

/// Parameters of RED, in packets of queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedOptions {
    /// Average queue below which nothing is dropped, in packets.
    pub min: f64,
    /// Average queue above which everything is dropped (with `gentle`: with growing
    /// probability), in packets.
    pub max: f64,
    /// Drop probability at `max`.
    #[serde(default = "default_red_probability")]
    pub probability: Probability,
    /// Weight of the newest sample in the average queue.
    #[serde(default = "default_red_weight")]
    pub weight: f64,
    /// Raise the probability from `probability` at `max` to 1 at twice `max`.
    #[serde(default = "yes")]
    pub gentle: bool,
    /// Mark packets of flows that use ECN instead of dropping them (RFC 3168), as long as the
    /// average leaves a choice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: bool,
}

fn default_red_probability() -> Probability {
    Probability::new(0.1).expect("it lies between 0 and 1")
}

fn default_red_weight() -> f64 {
    0.002
}

fn yes() -> bool {
    true
}

/// Losses in bursts: a two-state Markov chain that moves once per packet (Gilbert 1960,
/// Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability per packet of entering the bad state.
    pub enter: Probability,
    /// Probability per packet of leaving it.
    pub leave: Probability,
    /// Loss in the good state.
    #[serde(default)]
    pub good: Probability,
    /// Loss in the bad state.
    #[serde(default = "certain")]
    pub bad: Probability,
}

fn certain() -> Probability {
    Probability::new(1.0).expect("it lies between 0 and 1")
}

/// Where random losses strike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LossPlacement {
    /// On the medium: a lost packet took its place in the queue and its time on the link.
    #[default]
    After,
    /// Before the queue, as ns-2's `lossmodel` does: a lost packet costs nothing.
    Before,
}

/// Packets that are held back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// For how long.
    pub delay: Delay,
}
