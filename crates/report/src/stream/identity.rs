//! Identity of a streamed experiment: its runs and its settings.

use std::path::Path;

use dupack_engine::BlockSize;
use dupack_engine::store::shards::Harm;
use dupack_engine::store::{self, FolderError, Unlike};
use dupack_lab::results::Prefer;
use dupack_lab::run::{Fingerprint, Plan, engine};
use serde::{Deserialize, Serialize};

use super::{Format, Settings};

/// Identity of a streamed experiment, which decides whether a folder can be continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Engine that makes the runs: its version and a hash of its source code.
    engine: String,
    /// Fingerprint of all runs of the plan.
    runs: Fingerprint,
    /// Measurement of harm.
    harm: Harm,
    /// The reader's preference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefer: Option<Prefer>,
    /// File format of the runs.
    parts: Format,
    /// Number of runs of a block: a block ends with the point at which it reaches this number.
    block_runs: usize,
    /// Approximate number of packets of a block: a block ends with the point at which it reaches this number.
    block_packets: u64,
    /// Progress of the experiment.
    state: State,
}

/// Progress of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Some runs or files are missing.
    Begun,
    /// All runs are done and all files are written.
    Finished,
}

impl Identity {
    pub(super) fn new(plan: &Plan, settings: &Settings) -> Self {
        Self {
            engine: engine(),
            runs: plan.fingerprint_of_all(),
            harm: settings.harm,
            prefer: plan.prefer(),
            parts: settings.format,
            block_runs: settings.size.runs,
            block_packets: settings.size.packets,
            state: State::Begun,
        }
    }

    /// Returns an error if the folder at `path`, which has this identity, was begun for runs other than those of
    /// `plan`.
    pub(super) fn check(
        &self,
        path: &Path,
        plan: &Plan,
        format: Option<Format>,
    ) -> Result<(), FolderError> {
        let ours = engine();
        let prefer = plan.prefer();
        let named = |prefer: Option<Prefer>| prefer.map_or("nothing", Prefer::name);
        let difference = if self.engine != ours {
            format!("the engine is {ours}, but was {}", self.engine)
        } else if self.runs != plan.fingerprint_of_all() {
            "its runs are different (did the experiment or its recorded traces change?)".to_owned()
        } else if prefer != self.prefer {
            let (now, then) = (named(prefer), named(self.prefer));
            format!("--prefer is {now}, but was {then}")
        } else if let Some(other) = format.filter(|format| *format != self.parts) {
            let (now, then) = (other.ending(), self.parts.ending());
            format!("runs are stored as {now}, but were stored as {then}")
        } else {
            return Ok(());
        };
        Err(FolderError::Other {
            folder: path.display().to_string(),
            what: Unlike::Purpose,
            difference,
        })
    }

    /// Returns the measurement of harm.
    #[must_use]
    pub const fn harm(&self) -> Harm {
        self.harm
    }

    /// Returns the reader's preference.
    #[must_use]
    pub const fn prefer(&self) -> Option<Prefer> {
        self.prefer
    }

    /// Returns the file format of the runs.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.parts
    }

    /// Returns `true` if all runs are done and all files are written.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        matches!(self.state, State::Finished)
    }

    pub(super) const fn finished(mut self) -> Self {
        self.state = State::Finished;
        self
    }

    pub(super) fn size(&self) -> BlockSize {
        let mut size = BlockSize::default();
        size.runs = self.block_runs;
        size.packets = self.block_packets;
        size
    }
}

impl store::Identity for Identity {
    const FILE: &'static str = "stream.json";
    const NAME: &'static str = "the folder of a streamed experiment";
    const BEGIN: &'static str = "`dupack run FILE --stream --out DIR` begins one";
}
