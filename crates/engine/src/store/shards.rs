//! The folder of a shard: the experiment, which part of its runs it is, those that are finished, and at
//! the end a mark that all of them are.
//!
//! Each file is there whole or not at all, and the mark is the last: whoever ends the program, at
//! whatever moment, the same command goes on.

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

/// Says that all runs of a shard are done: it is the last file that is written.
pub const FINISHED: &str = "finished.json";

/// A shard's folder, as it is found.
#[derive(Debug)]
pub struct ShardFolder {
    path: PathBuf,
    identity: Identity,
    finished: Option<Finished>,
}

/// What stands in [`FINISHED`].
#[derive(Debug, Serialize, Deserialize)]
struct Finished {
    shard: Shard,
    runs: usize,
    /// A hash of the journal as it was then.
    journal: String,
}

/// A shard that is being done.
#[derive(Debug)]
pub struct BegunShard {
    store: Store<Identity>,
    /// The finished runs.
    pub journal: Arc<Journal>,
}

/// What to do about a damaged file of a shard.
const AGAIN: &str = "take its folder away, and do the shard again";

impl ShardFolder {
    /// Whether a shard was begun in the folder at `path`.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        Store::<Identity>::is_at(path)
    }

    /// The shard that was begun in the folder at `path`.
    ///
    /// # Errors
    /// If there is none, or what says so is damaged.
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
            let cause = format!("it speaks of shard {shard}, not of {}", identity.shard);
            return Err(again(FolderError::damaged(&mark, &cause)));
        }
        Ok(Self {
            path: path.to_owned(),
            identity,
            finished,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is a part of.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether all of its runs are done.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// Its experiment's text.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn source(&self) -> Result<Source, FolderError> {
        Ok(Source::read(&self.path.join(EXPERIMENT))?)
    }

    /// Its runs: all that were done so far, or all that it was finished with.
    ///
    /// # Errors
    /// If they cannot be read, or are not those that it was finished with.
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

    /// An error if it is finished without all runs of `share`, which is its own.
    ///
    /// # Errors
    /// If so, or as [`runs`](Self::runs).
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

    /// An error if it was begun for anything else than this part of `experiment`.
    ///
    /// # Errors
    /// If so, or if its own experiment is none.
    pub fn check(&self, identity: &Identity, experiment: &Experiment) -> Result<(), FolderError> {
        let (ours, theirs) = (identity.shard, self.identity.shard);
        let shard = (ours != theirs).then(|| format!("the shard is {ours}, and was {theirs}"));
        let difference = match shard {
            Some(difference) => Some(difference),
            // Whoever was ended at once left no more than which shard it is.
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
    /// Begins the shard that `identity` names, of the experiment of `source`, in `folder`, which is empty.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn new(
        folder: OutputFolder,
        identity: Identity,
        source: &Source,
    ) -> Result<Self, FolderError> {
        Self::open(Store::begin(folder, identity)?, source)
    }

    /// Goes on with `found`, which is of the experiment of `source`.
    ///
    /// # Errors
    /// If the folder cannot be written to, or somebody else is at work in it.
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

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// All runs of `share` are done: says so in the folder, for good.
    ///
    /// # Errors
    /// If one of them was not kept, or the folder cannot be written to.
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
