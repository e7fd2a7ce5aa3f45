//! Experiment files and their schema.
//!
//! The types in this module define the TOML schema, which `dupack schema` prints. Unknown keys are errors, and every
//! quantity carries its unit. [`load`] reads a file and reports errors by line. [`points`] expands the sweep.
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
pub use claim::{Claim, LabelledStack, Named, OneOrMore, Rewriting, Vocabulary};
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

/// An experiment: stacks to compare on a path or a topology, over a sweep, with several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Title of the figures and the report: the question that the experiment asks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// A few sentences for the report.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Stacks to compare, each written as `recovery/control[/lda/response]`. The first is the baseline of the
    /// comparisons.
    pub stacks: Vec<String>,
    /// Rules that the endpoints follow where TCP implementations differ.
    #[serde(default)]
    pub dialect: Dialect,
    /// Number of seeds, counted from 1, or a list of seeds. All stacks use the same seeds.
    #[serde(default)]
    pub seeds: Seeds,
    /// Target precision of the goodput of every stack at every point: half of the 95 % confidence interval of the mean,
    /// relative to the mean. Seeds are added to `seeds` until this precision is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Probability>,
    /// Maximum number of seeds with `precision`. Defaults to 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds_max: Option<u32>,
    /// Simulated duration of a run.
    #[serde(default = "default_duration")]
    pub duration: Delay,
    /// Simulated time before measurement starts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warm_up: Delay,
    /// Start times of flows and UDP sources, and the positions at which recorded traces begin. By default every seed
    /// draws them, unless a flow or a UDP source sets `start`, `start_spread` or `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<Starts>,
    /// Maximum time that a sender's host takes to process an ACK. Each time is drawn between zero and this maximum, so
    /// that flows do not run in lockstep. Defaults to the transmission time of a packet at the bottleneck if several
    /// flows share a drop-tail queue, and to zero otherwise and in the dialect `ns2`. `"0s"` turns it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processing_jitter: Option<Delay>,
    /// Bottleneck between the senders and the receivers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<LinkOptions>,
    /// Links between each host and the bottleneck. Only with `path`. Without them, the hosts are at the ends of the
    /// bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Links of a topology, instead of `path`. Their endpoints are its nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkOptions>,
    /// Chain of 802.11 stations, instead of `path` or `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioOptions>,
    /// Explicit routes, as lists of nodes, that replace shortest paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Vec<String>>,
    /// TCP flows. Defaults to one bulk flow of the stack under comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowGroup>,
    /// UDP sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub udp: Vec<UdpSource>,
    /// Real-time media sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediaSource>,
    /// Options of all senders. A flow may override them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sender: SenderOptions,
    /// Options of all receivers. A flow may override them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub receiver: ReceiverOptions,
    /// Swept keys of this file and their values. Every value of a key is combined with every value of the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<String, Vec<SweepValue>>,
    /// Explicit points, instead of a sweep. All points set the same keys of this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<BTreeMap<String, SweepValue>>,
    /// Names of stacks for use in claims.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, Named>,
    /// Named expressions for use in claims. A name may have inputs, as in `gain(s)`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub define: BTreeMap<String, String>,
    /// Claims about the results, which are judged when all runs are done.
    #[serde(default, rename = "claim", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// Value of a swept key, written as it would be outside the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text, a number, `true` or `false`")]
#[non_exhaustive]
pub enum SweepValue {
    /// Text. Every quantity with a unit is text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A boolean.
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

/// Seeds of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a number of seeds such as 10, or a list of seeds such as [1, 2, 3]"
)]
pub enum Seeds {
    /// The seeds from 1 to this number.
    Count(u32),
    /// Explicit seeds.
    List(Vec<u64>),
}

impl Default for Seeds {
    fn default() -> Self {
        Self::Count(10)
    }
}

impl Seeds {
    /// Returns the list of seeds.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u64> {
        match self {
            Self::Count(count) => (1..=u64::from(*count)).collect(),
            Self::List(seeds) => seeds.clone(),
        }
    }

    /// Returns seeds that include these and are `times` times as many. Returns `None` for explicit seeds, which cannot
    /// be extended.
    #[must_use]
    pub const fn times(&self, times: u32) -> Option<Self> {
        match self {
            Self::Count(count) => Some(Self::Count(count.saturating_mul(times))),
            Self::List(_) => None,
        }
    }
}

/// Links between the hosts and the bottleneck of a dumbbell.
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
    /// Returns `true` if `key` takes several values, in a sweep or in explicit points.
    #[must_use]
    pub fn varies(&self, key: &str) -> bool {
        self.sweep.contains_key(key) || self.points.iter().any(|point| point.contains_key(key))
    }

    /// Returns the rule for start times: the field `starts` if it is set. Otherwise, start times are drawn, unless a
    /// source sets a time.
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

    /// Returns the experiment as the text of a file.
    #[must_use]
    pub fn text(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the names that claims may use.
    #[must_use]
    pub fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            instead: BTreeMap::new(),
            names: self.names.clone(),
            define: self.define.clone(),
        }
    }

    /// Sets the path and its loss probabilities. A single probability becomes the path's `loss`; several become a
    /// sweep.
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

    /// Creates an experiment with these stacks and default values. It still needs a path or links.
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

/// Returns the JSON Schema of experiment files, as `dupack schema` prints it.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Experiment).to_value()
}
