//! What a shard is a part of.

use std::fmt;

use dupack_lab::run::{Fingerprint, engine};
use serde::{Deserialize, Serialize};

use crate::shard::Shard;
use crate::split::Split;
use crate::store;

/// What a shard is a part of: shards with the same are parts of one whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Which part it is.
    pub shard: Shard,
    /// What the whole is called: the name of the experiment's file without its ending. Nothing rests
    /// on it.
    pub name: String,
    /// The engine that makes the runs: its version, and a hash of its sources.
    pub engine: String,
    /// Whether the runs that measure harm are among them.
    pub harm: Harm,
    /// Names all runs of all shards.
    pub runs: Fingerprint,
}

impl store::Identity for Identity {
    const FILE: &'static str = "shard.json";
    const NAME: &'static str = "the folder of a shard";
    const BEGIN: &'static str = "`dupack run FILE --shard I/N --out DIR` makes one";
}

/// Whether harm to a standing flow is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Harm {
    /// It is, where it makes sense.
    Measured,
    /// It is not, as was asked for.
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
    /// That of `shard`, which is one of `split`.
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

    /// The first in which the whole is not what `other`'s is, with both values; `None` if it is.
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

    /// The folder of its name, where nobody names one.
    #[must_use]
    pub fn folder_name(&self) -> String {
        folder_name(&self.name, self.shard)
    }
}

/// The name of the folder of `shard` of what is called `name`.
pub(super) fn folder_name(name: &str, shard: Shard) -> String {
    format!("{name}-{}-of-{}", shard.index(), shard.of())
}
