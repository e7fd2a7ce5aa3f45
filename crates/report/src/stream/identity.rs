//! What is streamed to a folder.

use std::path::Path;

use dupack_engine::BlockSize;
use dupack_engine::store::shards::Harm;
use dupack_engine::store::{self, FolderError, Unlike};
use dupack_lab::results::Prefer;
use dupack_lab::run::{Fingerprint, Plan, engine};
use serde::{Deserialize, Serialize};

use super::{Format, Settings};

/// What is streamed to a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The engine that makes the runs: its version, and a hash of its sources.
    engine: String,
    /// Names all runs.
    runs: Fingerprint,
    /// Whether the runs that measure harm are among them.
    harm: Harm,
    /// What counts most to the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefer: Option<Prefer>,
    /// In what files runs are kept.
    parts: Format,
    /// A block ends with the point with which it has so many runs …
    block_runs: usize,
    /// … or about so many packets.
    block_packets: u64,
    /// Whether all is done and written.
    state: State,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Something is missing.
    Begun,
    /// All is there.
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

    /// An error if the folder at `path`, whose identity this is, was begun for other runs than those of `plan`.
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
            format!("the engine is {ours}, and was {}", self.engine)
        } else if self.runs != plan.fingerprint_of_all() {
            "its runs are others (have the experiment or its recorded traces changed?)".to_owned()
        } else if prefer != self.prefer {
            let (now, then) = (named(prefer), named(self.prefer));
            format!("{now} counts most, and it was {then}")
        } else if let Some(other) = format.filter(|format| *format != self.parts) {
            let (now, then) = (other.ending(), self.parts.ending());
            format!("runs are kept as {now}, and were kept as {then}")
        } else {
            return Ok(());
        };
        Err(FolderError::Other {
            folder: path.display().to_string(),
            what: Unlike::Purpose,
            difference,
        })
    }

    /// Whether harm is measured.
    #[must_use]
    pub const fn harm(&self) -> Harm {
        self.harm
    }

    /// What counts most to the reader.
    #[must_use]
    pub const fn prefer(&self) -> Option<Prefer> {
        self.prefer
    }

    /// In what files runs are kept.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.parts
    }

    /// Whether all is done and written.
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
