//! The folder of a shard: the experiment, which part of its runs it is, those that are finished, and at
//! the end a mark that all of them are.
//!
//! Each file is there whole or not at all, and the mark is the last: whoever ends the program, at
//! whatever moment, the same command goes on.

mod gathered;
mod identity;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dupack_engine::journal::NAME as JOURNAL;
use dupack_engine::{Journal, JournalError, Shard, Share, Stored};
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::{ExperimentError, Source};
use miette::Diagnostic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use gathered::{GatherError, Gathered, Incomplete};
pub use identity::{Harm, Identity};

use crate::files::EXPERIMENT;
use dupack_engine::folder::{OutputFolder, StoreError};

/// Says which shard a folder has.
pub const SHARD: &str = "shard.json";

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
    folder: OutputFolder,
    identity: Identity,
    /// The finished runs.
    pub journal: Arc<Journal>,
}

/// A folder of which a shard can make no use.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ShardFolderError {
    /// There is none in it.
    #[error("{folder} is no shard's folder: it has no {SHARD}")]
    #[diagnostic(help("`dupack run FILE --shard I/N --out DIR` makes one"))]
    None {
        /// The folder.
        folder: String,
    },
    /// One of its files is damaged.
    #[error("{file} cannot be used: {cause}")]
    #[diagnostic(help("take its folder away, and do the shard again"))]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong.
        cause: String,
    },
    /// Its runs are not those that it was finished with.
    #[error("{file} is not what shard {shard} was finished with{place}")]
    #[diagnostic(help(
        "it was changed or damaged since: take its folder away, and do the shard again"
    ))]
    Changed {
        /// The file.
        file: String,
        /// Whose runs it holds.
        shard: Shard,
        /// Where it is wrong, if that can be told.
        place: String,
    },
    /// It is another's.
    #[error("{folder} was begun for something else: {difference}")]
    #[diagnostic(help(
        "repeat the command that it was begun with; for anything else take a new folder, with --out"
    ))]
    Other {
        /// The folder.
        folder: String,
        /// Where they differ first.
        difference: String,
    },
    /// Runs were done and could not be kept.
    #[error("{missing} finished run(s) could not be kept in {file}")]
    #[diagnostic(help("make room, or look after the disk, and go on with --resume"))]
    Unkept {
        /// The journal.
        file: String,
        /// How many runs.
        missing: usize,
    },
    /// Its experiment is none.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// It cannot be written to.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// Its journal is of no use.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Journal(#[from] JournalError),
}

impl ShardFolder {
    /// Whether a shard was begun in the folder at `path`.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        path.join(SHARD).is_file()
    }

    /// The shard that was begun in the folder at `path`.
    ///
    /// # Errors
    /// If there is none, or what says so is damaged.
    pub fn read(path: &Path) -> Result<Self, ShardFolderError> {
        if !Self::is_at(path) {
            let folder = path.display().to_string();
            return Err(ShardFolderError::None { folder });
        }
        let identity: Identity = json(&path.join(SHARD))?;
        let mark = path.join(FINISHED);
        let finished: Option<Finished> = match mark.exists() {
            true => Some(json(&mark)?),
            false => None,
        };
        let stranger = finished.as_ref().filter(|f| f.shard != identity.shard);
        if let Some(Finished { shard, .. }) = stranger {
            return Err(ShardFolderError::Damaged {
                file: mark.display().to_string(),
                cause: format!("it speaks of shard {shard}, not of {}", identity.shard),
            });
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
    pub fn source(&self) -> Result<Source, ShardFolderError> {
        Ok(Source::read(&self.path.join(EXPERIMENT))?)
    }

    /// Its runs: all that were done so far, or all that it was finished with.
    ///
    /// # Errors
    /// If they cannot be read, or are not those that it was finished with.
    pub fn runs(&self) -> Result<Stored, ShardFolderError> {
        let stored = Stored::read(&self.path)?;
        let changed = { self.finished.as_ref() }.filter(|f| f.journal != stored.hash());
        if changed.is_none() {
            return Ok(stored);
        }
        let line = stored.unreadable().first();
        Err(ShardFolderError::Changed {
            file: self.path.join(JOURNAL).display().to_string(),
            shard: self.identity.shard,
            place: line.map_or_else(String::new, |line| format!(": line {line} is unreadable")),
        })
    }

    /// An error if it is finished without all runs of `share`, which is its own.
    ///
    /// # Errors
    /// If so, or as [`runs`](Self::runs).
    pub fn check_runs(&self, share: &Share<'_>) -> Result<(), ShardFolderError> {
        match share.missing(&self.runs()?) {
            missing if missing > 0 && self.is_finished() => Err(ShardFolderError::Damaged {
                file: self.path.join(FINISHED).display().to_string(),
                cause: format!("{missing} run(s) are missing in {JOURNAL}"),
            }),
            _ => Ok(()),
        }
    }

    /// An error if it was begun for anything else than this part of `experiment`.
    ///
    /// # Errors
    /// If so, or if its own experiment is none.
    pub fn check(
        &self,
        identity: &Identity,
        experiment: &Experiment,
    ) -> Result<(), ShardFolderError> {
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
            Some(difference) => Err(ShardFolderError::Other {
                folder: self.path.display().to_string(),
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
    ) -> Result<Self, ShardFolderError> {
        folder.claim(SHARD, &bytes(&identity))?;
        Self::open(folder, identity, source)
    }

    /// Goes on with `found`, which is of the experiment of `source`.
    ///
    /// # Errors
    /// If the folder cannot be written to, or somebody else is at work in it.
    pub fn again(found: &ShardFolder, source: &Source) -> Result<Self, ShardFolderError> {
        let folder = OutputFolder::reopen(&found.path);
        Self::open(folder, found.identity.clone(), source)
    }

    fn open(
        folder: OutputFolder,
        identity: Identity,
        source: &Source,
    ) -> Result<Self, ShardFolderError> {
        let journal = Arc::new(Journal::open(folder.path())?);
        if !folder.path().join(EXPERIMENT).exists() {
            folder.replace(EXPERIMENT, source.text.as_bytes())?;
        }
        Ok(Self {
            folder,
            identity,
            journal,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// All runs of `share` are done: says so in the folder, for good.
    ///
    /// # Errors
    /// If one of them was not kept, or the folder cannot be written to.
    pub fn finish(self, share: &Share<'_>) -> Result<(), ShardFolderError> {
        self.journal.sync()?;
        let file = self.journal.path().display().to_string();
        drop(self.journal);
        let stored = Stored::read(self.folder.path())?;
        let missing = share.missing(&stored);
        if missing > 0 {
            return Err(ShardFolderError::Unkept { file, missing });
        }
        let finished = Finished {
            shard: self.identity.shard,
            runs: share.runs(),
            journal: stored.hash(),
        };
        Ok(self.folder.replace(FINISHED, &bytes(&finished))?)
    }
}

/// What stands in `file`.
fn json<T: DeserializeOwned>(file: &Path) -> Result<T, ShardFolderError> {
    let damaged = |cause: String| ShardFolderError::Damaged {
        file: file.display().to_string(),
        cause,
    };
    let text = fs::read(file).map_err(|e| damaged(e.to_string()))?;
    serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))
}

/// What a file is to hold.
fn bytes(value: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_string_pretty(value).expect("its keys are strings");
    format!("{text}\n").into_bytes()
}

#[cfg(test)]
mod tests;
