//! Identity of a shard.

use std::fmt;

use dupack_lab::run::{Fingerprint, engine};
use serde::{Deserialize, Serialize};

use crate::shard::Shard;
use crate::split::Split;
use crate::store;

/// Identity of a shard and of its experiment. Shards of the same experiment differ only in `shard`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The shard.
    pub shard: Shard,
    /// Name of the experiment: the name of its file without the extension. The name is not compared.
    pub name: String,
    /// Engine of the runs: its version and a hash of its sources.
    pub engine: String,
    /// Presence of the runs that measure harm.
    pub harm: Harm,
    /// Fingerprint of all runs of all shards.
    pub runs: Fingerprint,
}

impl store::Identity for Identity {
    const FILE: &'static str = "shard.json";
    const NAME: &'static str = "the folder of a shard";
    const BEGIN: &'static str = "create one with `dupack run FILE --shard I/N --out DIR`";
}

/// Presence of the runs that measure harm to a competing flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Harm {
    /// Harm is measured, if it is meaningful.
    Measured,
    /// Harm was not requested.
    LeftOut,
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::LeftOut => "left out",
        })
    }
}

impl Identity {
    /// Creates the identity of `shard`, which belongs to `split`.
    #[must_use]
    pub fn new(shard: Shard, split: &Split<'_>, name: &str, harm: Harm) -> Self {
        Self {
            shard,
            name: name.to_owned(),
            engine: engine(),
            harm,
            runs: split.fingerprint(),
        }
    }

    /// Returns the first difference from the experiment of `other`, with both values, or `None` if both shards belong
    /// to the same experiment.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let all = [self, other];
        let pairs = [
            ("the engine", all.map(|i| i.engine.clone())),
            (
                "the number of shards",
                all.map(|i| i.shard.of().to_string()),
            ),
            ("harm", all.map(|i| i.harm.to_string())),
            (
                "the fingerprint of all runs (have recorded traces changed?)",
                all.map(|i| i.runs.to_string()),
            ),
        ];
        let first = pairs.into_iter().find(|(_, [ours, theirs])| ours != theirs);
        first.map(|(what, [ours, theirs])| format!("{what} is {ours}, and was {theirs}"))
    }

    /// Returns the default name of the shard's folder.
    #[must_use]
    pub fn folder_name(&self) -> String {
        folder_name(&self.name, self.shard)
    }
}

/// Returns the name of the folder of `shard` of the experiment `name`.
pub(super) fn folder_name(name: &str, shard: Shard) -> String {
    format!("{name}-{}-of-{}", shard.index(), shard.of())
}
