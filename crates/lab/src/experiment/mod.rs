//! Experiment files: what a TOML file may say.
//!
//! The types here are the schema: `dupack schema` prints it, unknown keys are errors, and every
//! quantity carries its unit. [`load`] reads a file and points at the line that is wrong;
//! [`points`] unrolls the sweep.
//!
//! ```toml
//! title = "Which recovery survives 3 % loss?"
//! stacks = ["newreno/reno", "le/reno"]
//! seeds = 10
//! duration = "60s"
//!
//! [path]
//! rate = "10Mbit/s"
//! delay = "20ms"
//! buffer = "50pkt"
//!
//! [sweep]
//! "path.loss" = ["0%", "1%", "3%"]
//! ```

pub mod change;
pub mod claim;
mod difference;
pub mod drop;
pub mod endpoint;
pub mod lie;
pub mod link;
pub mod load;
pub mod media;
pub mod points;
pub mod queue;
pub mod radio;
pub mod traffic;

use std::collections::BTreeMap;

use dupack_algorithms::catalog::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use change::{AckThinning, Change, DutyCycle, Queued};
pub use claim::{Claim, LabelledStack, Named, OneOrMore, Vocabulary};
pub use drop::DropRule;
pub use endpoint::{Acks, CreditFor, EcnKind, EcnName, ReceiverOptions, SenderOptions};
pub use lie::Lie;
pub use link::{BurstLoss, Direction, LinkOptions, LossPlacement, QueueKind, RedOptions, Reorder};
pub use media::MediaSource;
pub use queue::{
    CakeOptions, CoDelOptions, DualPi2Options, Fairness, FqCoDelOptions, PieOptions,
    TokenBucketOptions,
};
pub use radio::RadioOptions;
pub use traffic::{AppWrite, FlowGroup, FlowSizes, Starts, UdpSource, Video, Web};

use crate::units::{Delay, Probability, Rate};

/// Stacks that `dupack compare` and Python's `dupack.compare` run if none are named; the first is the baseline.
///
/// The baseline is TCP without SACK: NewReno (RFC 6582) with Reno (RFC 5681). The other recoveries are SACK
/// (RFC 6675), Momentary (Hwang, Yoo and Yoo), LE (Kang, Park and Mo 2012) and RACK-TLP (RFC 8985). The other
/// congestion controls are Westwood (Mascolo et al. 2000), CUBIC (RFC 9438) and both versions of BBR (Linux 4.9, and
/// draft-ietf-ccwg-bbr). One stack has Veno's loss differentiation (Fu and Liew 2003) with the response 24 of Park et
/// al. The catalog has the full citations.
pub const DEFAULT_STACKS: [&str; 11] = [
    "newreno/reno",
    "sack/reno",
    "momentary/reno",
    "le/reno",
    "le/westwood",
    "le/reno/veno/24",
    "sack/westwood",
    "rack/reno",
    "rack/cubic",
    "rack/bbr-v1",
    "rack/bbr",
];

/// An experiment: stacks under comparison on a path or a topology, over a sweep, with seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What the experiment asks, as a title for its figures and its report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// A few sentences for the report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The stacks under comparison, each `recovery/control[/lda/response]`. The first is the
    /// one that the others are measured against.
    pub stacks: Vec<String>,
    /// Which rules the endpoints follow where TCPs differ.
    #[serde(default)]
    pub dialect: Dialect,
    /// How many seeds, counted from 1, or a list of them. Stacks see the same seeds.
    #[serde(default)]
    pub seeds: Seeds,
    /// Seeds are added until the goodput of every stack is known this well at every point: half the
    /// 95 % confidence interval of its mean, as a share of the mean. `seeds` are the first ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Probability>,
    /// The most seeds that `precision` may take; 200 if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds_max: Option<u32>,
    /// Simulated time of a run.
    #[serde(default = "default_duration")]
    pub duration: Delay,
    /// Measures start after this much simulated time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up: Delay,
    /// When flows and UDP sources start, and where recorded traces begin. Left out, every seed draws
    /// it, unless a flow or a UDP source says `start`, `start_spread` or `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
    /// The most that a sender's host takes to process an ACK, each time drawn between zero and this, so that flows
    /// do not run in lockstep. Left out, a packet's transmission time at the bottleneck where several flows share a
    /// drop-tail queue, and none in the dialect `ns2`; `"0s"` turns it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processing_jitter: Option<Delay>,
    /// The bottleneck between the senders and the receivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<LinkOptions>,
    /// The links between each host and the bottleneck; only with `path`. Without it hosts sit
    /// at the bottleneck's ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// The links of a topology, instead of `path`. Nodes are what the links name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkOptions>,
    /// A chain of 802.11 stations, instead of `path` or `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioOptions>,
    /// Routes given node by node, where the shortest path is not wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Vec<String>>,
    /// The TCP flows; one greedy flow of the compared stack if none is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowGroup>,
    /// UDP sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub udp: Vec<UdpSource>,
    /// Real-time media.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediaSource>,
    /// What all senders have in common; a flow may differ.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sender: SenderOptions,
    /// What all receivers have in common; a flow may differ.
    #[serde(default, skip_serializing_if = "is_default")]
    pub receiver: ReceiverOptions,
    /// Keys of this file and the values that they take in turn; several keys are combined.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<String, Vec<SweepValue>>,
    /// Points given one by one, instead of a sweep: each sets the same keys of this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<BTreeMap<String, SweepValue>>,
    /// What the claims call the stacks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, Named>,
    /// Shorthands for the claims: expressions by their names, which may have inputs, as `gain(s)`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub define: BTreeMap<String, String>,
    /// What is claimed of the results, judged when all is run.
    #[serde(default, rename = "claim", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// A value in a sweep, written as it would be at its own place in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text, a number, or true or false")]
#[non_exhaustive]
pub enum SweepValue {
    /// Text, which is what every quantity with a unit is.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A switch.
    Switch(bool),
}

impl std::fmt::Display for SweepValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Switch(on) => write!(f, "{on}"),
        }
    }
}

/// The seeds of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a number of seeds, as 10, or a list of seeds, as [1, 2, 3]"
)]
pub enum Seeds {
    /// This many: 1, 2, 3, …
    Count(u32),
    /// These seeds, one by one.
    List(Vec<u64>),
}

impl Default for Seeds {
    fn default() -> Self {
        Self::Count(10)
    }
}

impl Seeds {
    /// The seeds themselves.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u64> {
        match self {
            Self::Count(count) => (1..=u64::from(*count)).collect(),
            Self::List(seeds) => seeds.clone(),
        }
    }

    /// `times` as many, these among them; `None` where they are listed: what is made for each of them has
    /// no others.
    #[must_use]
    pub const fn times(&self, times: u32) -> Option<Self> {
        match self {
            Self::Count(count) => Some(Self::Count(count.saturating_mul(times))),
            Self::List(_) => None,
        }
    }
}

/// The links between the hosts and the bottleneck of a dumbbell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Rate of each access link.
    pub rate: Rate,
    /// One-way delay of each access link.
    pub delay: Delay,
}

fn default_duration() -> Delay {
    Delay::from_nanos(60_000_000_000)
}

pub(crate) fn is_zero(delay: &Delay) -> bool {
    delay.as_nanos() == 0
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Experiment {
    /// Whether `key` takes several values, in a sweep or point by point.
    #[must_use]
    pub fn varies(&self, key: &str) -> bool {
        self.sweep.contains_key(key) || self.points.iter().any(|point| point.contains_key(key))
    }

    /// When its flows start: as it says, or drawn by every seed if it fixes nothing.
    #[must_use]
    pub fn starts(&self) -> Starts {
        let flow = |flow: &FlowGroup| flow.start.is_some() || flow.start_spread.is_some();
        let udp = |udp: &UdpSource| udp.start.is_some() || udp.stop.is_some();
        let media = |media: &MediaSource| media.start.is_some() || media.stop.is_some();
        let fixed =
            self.flows.iter().any(flow) || self.udp.iter().any(udp) || self.media.iter().any(media);
        self.starts.unwrap_or(match fixed {
            true => Starts::Given,
            false => Starts::Drawn,
        })
    }

    /// The text of a file that says what it says.
    #[must_use]
    pub fn text(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }

    /// What its claims may use.
    #[must_use]
    pub fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            instead: BTreeMap::new(),
            names: self.names.clone(),
            define: self.define.clone(),
        }
    }

    /// Gives it this path under these loss probabilities: one is the path's, several are compared
    /// one after the other.
    pub fn set_path(&mut self, mut path: LinkOptions, losses: &[Probability]) {
        match losses {
            [one] => path.loss = *one,
            many => {
                let values = many.iter().map(|p| SweepValue::Text(p.to_string()));
                self.sweep.insert("path.loss".to_owned(), values.collect());
            }
        }
        self.path = Some(path);
    }

    /// An experiment with these stacks and everything else at its default; it still wants a
    /// path or links.
    #[must_use]
    pub fn new(stacks: Vec<String>) -> Self {
        Self {
            title: String::new(),
            description: String::new(),
            stacks,
            dialect: Dialect::default(),
            seeds: Seeds::default(),
            precision: None,
            seeds_max: None,
            duration: default_duration(),
            warm_up: Delay::default(),
            starts: None,
            processing_jitter: None,
            path: None,
            access: None,
            links: Vec::new(),
            radio: None,
            routes: Vec::new(),
            flows: Vec::new(),
            udp: Vec::new(),
            media: Vec::new(),
            sender: SenderOptions::default(),
            receiver: ReceiverOptions::default(),
            sweep: BTreeMap::new(),
            points: Vec::new(),
            names: BTreeMap::new(),
            define: BTreeMap::new(),
            claims: Vec::new(),
        }
    }
}

/// The JSON Schema of experiment files, as `dupack schema` prints it.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Experiment).to_value()
}
