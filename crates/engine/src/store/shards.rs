//! Folder of a shard: the experiment, the identity of the shard, its finished runs, and a mark of completion.
//!
//! Each file is written atomically, and the mark is written last, so the same command can resume the work after an
//! interruption at any time.

mod gathered;
mod identity;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::Source;
use serde::{Deserialize, Serialize};

pub use gathered::{GatherError, Gathered, Incomplete};
pub use identity::{Harm, Identity};

use super::{EXPERIMENT, FolderError, Store, Unlike, json, read_json};
use crate::folder::OutputFolder;
use crate::journal::{Journal, NAME as JOURNAL, Stored};
use crate::shard::Shard;
use crate::split::Share;

/// File that marks a shard as complete. It is written last.
pub const FINISHED: &str = "finished.json";

/// Existing folder of a shard.
#[derive(Debug)]
pub struct ShardFolder {
    path: PathBuf,
    identity: Identity,
    finished: Option<Finished>,
}

/// Contents of [`FINISHED`].
#[derive(Debug, Serialize, Deserialize)]
struct Finished {
    shard: Shard,
    runs: usize,
    /// Hash of the journal when the shard was finished.
    journal: String,
}

/// Shard in progress.
#[derive(Debug)]
pub struct BegunShard {
    store: Store<Identity>,
    /// Finished runs.
    pub journal: Arc<Journal>,
}

/// Help for a damaged file of a shard.
const AGAIN: &str = "remove its folder, and repeat the shard";

impl ShardFolder {
    /// Returns `true` if there is the folder of a shard at `path`.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        Store::<Identity>::is_at(path)
    }

    /// Reads the shard in the folder at `path`.
    ///
    /// # Errors
    /// If there is no shard, or if the file with the identity is damaged.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        let again = |error: FolderError| error.with_remedy(AGAIN);
        let identity = Store::<Identity>::read(path).map_err(again)?;
        let mark = path.join(FINISHED);
        let finished: Option<Finished> = match mark.exists() {
            true => Some(read_json(&mark).map_err(again)?),
            false => None,
        };
        let stranger = finished.as_ref().filter(|f| f.shard != identity.shard);
        if let Some(Finished { shard, .. }) = stranger {
            let cause = format!("it names shard {shard} instead of {}", identity.shard);
            return Err(again(FolderError::damaged(&mark, &cause)));
        }
        Ok(Self {
            path: path.to_owned(),
            identity,
            finished,
        })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the identity.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns `true` if all runs of the shard are done.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// Returns the text of the experiment.
    ///
    /// # Errors
    /// If the experiment cannot be read.
    pub fn source(&self) -> Result<Source, FolderError> {
        Ok(Source::read(&self.path.join(EXPERIMENT))?)
    }

    /// Returns the runs that are done so far, or all runs if the shard is finished.
    ///
    /// # Errors
    /// If the journal cannot be read, or has changed since the shard was finished.
    pub fn runs(&self) -> Result<Stored, FolderError> {
        let stored = Stored::read(&self.path)?;
        let changed = { self.finished.as_ref() }.filter(|f| f.journal != stored.hash());
        if changed.is_none() {
            return Ok(stored);
        }
        let line = stored.unreadable().first();
        Err(FolderError::Changed {
            file: self.path.join(JOURNAL).display().to_string(),
            shard: self.identity.shard,
            place: line.map_or_else(String::new, |line| format!(": line {line} is unreadable")),
        })
    }

    /// Checks that a finished shard has all runs of `share`, which are the runs of this shard.
    ///
    /// # Errors
    /// If runs are missing, and in the cases of [`runs`](Self::runs).
    pub fn check_runs(&self, share: &Share<'_>) -> Result<(), FolderError> {
        match share.missing(&self.runs()?) {
            missing if missing > 0 && self.is_finished() => {
                let cause = format!("{missing} run(s) are missing in {JOURNAL}");
                let error = FolderError::damaged(&self.path.join(FINISHED), &cause);
                Err(error.with_remedy(AGAIN))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the folder belongs to the shard `identity` of `experiment`.
    ///
    /// # Errors
    /// If the folder belongs to another shard or experiment, or if the experiment in the folder is invalid.
    pub fn check(&self, identity: &Identity, experiment: &Experiment) -> Result<(), FolderError> {
        let (ours, theirs) = (identity.shard, self.identity.shard);
        let shard = (ours != theirs).then(|| format!("the shard is {ours}, and was {theirs}"));
        let difference = match shard {
            Some(difference) => Some(difference),
            // A process that was killed at its start may have written only the identity.
            None if !self.path.join(EXPERIMENT).exists() => None,
            None => experiment.difference(&self.source()?.parse()?),
        };
        match difference.or_else(|| identity.difference(&self.identity)) {
            None => Ok(()),
            Some(difference) => Err(FolderError::Other {
                folder: self.path.display().to_string(),
                what: Unlike::Purpose,
                difference,
            }),
        }
    }
}

impl BegunShard {
    /// Starts the shard `identity` of the experiment of `source`, in the empty `folder`.
    ///
    /// # Errors
    /// If the folder is not writable.
    pub fn new(
        folder: OutputFolder,
        identity: Identity,
        source: &Source,
    ) -> Result<Self, FolderError> {
        Self::open(Store::begin(folder, identity)?, source)
    }

    /// Resumes the shard `found` of the experiment of `source`.
    ///
    /// # Errors
    /// If the folder is not writable, or another process has locked it.
    pub fn again(found: &ShardFolder, source: &Source) -> Result<Self, FolderError> {
        Self::open(Store::again(&found.path, found.identity.clone())?, source)
    }

    fn open(store: Store<Identity>, source: &Source) -> Result<Self, FolderError> {
        let journal = Arc::new(Journal::open(store.path())?);
        if !store.path().join(EXPERIMENT).exists() {
            store.folder().replace(EXPERIMENT, source.text.as_bytes())?;
        }
        Ok(Self { store, journal })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Marks the folder as complete, once all runs of `share` are done.
    ///
    /// # Errors
    /// If a run was not stored, or if the folder is not writable.
    pub fn finish(self, share: &Share<'_>) -> Result<(), FolderError> {
        self.journal.sync()?;
        let file = self.journal.path().display().to_string();
        drop(self.journal);
        let stored = Stored::read(self.store.path())?;
        let missing = share.missing(&stored);
        if missing > 0 {
            return Err(FolderError::Unkept { file, missing });
        }
        let finished = Finished {
            shard: self.store.identity().shard,
            runs: share.runs(),
            journal: stored.hash(),
        };
        Ok(self.store.folder().replace(FINISHED, &json(&finished))?)
    }
}

#[cfg(test)]
mod tests;
