//! Errors of folders in which runs are performed.

use std::fmt;
use std::path::Path;

use dupack_lab::experiment::load::ExperimentError;
use miette::Diagnostic;
use thiserror::Error;

use crate::folder::StoreError;
use crate::journal::JournalError;
use crate::shard::Shard;

/// Error of a folder in which runs cannot be started or resumed.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder is not of the required kind.
    #[error("{folder} is not {name}: it has no {file}")]
    #[diagnostic(help("{begin}"))]
    None {
        /// The folder.
        folder: String,
        /// Name of the required kind.
        name: &'static str,
        /// Name of the missing file.
        file: &'static str,
        /// Help text that explains how to create such a folder.
        begin: &'static str,
    },
    /// The folder contains no experiment.
    #[error("there is no experiment to resume in {folder}: its {file} {cause}", file = super::EXPERIMENT)]
    #[diagnostic(help("name the folder of an interrupted run"))]
    NoExperiment {
        /// The folder.
        folder: String,
        /// Cause of the error.
        cause: String,
    },
    /// The folder contains only the runs of a shard.
    #[error("{folder} is the folder of a shard")]
    #[diagnostic(help("`dupack run --resume DIR` resumes a shard"))]
    Shard {
        /// The folder.
        folder: String,
    },
    /// The folder is complete.
    #[error("{folder} has all runs and its report")]
    #[diagnostic(help("there is nothing to resume"))]
    Complete {
        /// The folder.
        folder: String,
    },
    /// A file of the folder is damaged.
    #[error("cannot use {file}: {cause}")]
    #[diagnostic(help("{remedy}"))]
    Damaged {
        /// The file.
        file: String,
        /// Cause of the error.
        cause: String,
        /// Suggestion.
        remedy: &'static str,
    },
    /// The runs of a finished shard have changed.
    #[error("{file} has changed since shard {shard} was finished{place}")]
    #[diagnostic(help("it was modified or damaged: remove its folder, and repeat the shard"))]
    Changed {
        /// The file.
        file: String,
        /// The shard.
        shard: Shard,
        /// Position of the error, if it is known.
        place: String,
    },
    /// The folder has other content.
    #[error("{folder} was started for {what}: {difference}")]
    #[diagnostic(help(
        "repeat the interrupted command with --resume, or start in a new folder with --out"
    ))]
    Other {
        /// The folder.
        folder: String,
        /// Kind of the difference.
        what: Unlike,
        /// The first difference, with both values.
        difference: String,
    },
    /// Another process has locked the folder.
    #[error("another dupack process is using {folder}")]
    #[diagnostic(help("wait for it, or start in a new folder with --out"))]
    Busy {
        /// The folder.
        folder: String,
    },
    /// Finished runs could not be stored.
    #[error("{missing} finished run(s) could not be kept in {file}")]
    #[diagnostic(help("make room on the disk, or check it, and continue with --resume"))]
    Unkept {
        /// The journal.
        file: String,
        /// Number of runs that were not stored.
        missing: usize,
    },
    /// The experiment in the folder is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// The folder is not writable.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// The journal cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Journal(#[from] JournalError),
}

/// Difference between the content of a folder and the required content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unlike {
    /// Another experiment.
    Experiment,
    /// Other runs, or other files for them.
    Purpose,
    /// Other papers, or another selection of them.
    Papers,
}

impl fmt::Display for Unlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Experiment => "another experiment",
            Self::Purpose => "something else",
            Self::Papers => "another campaign",
        })
    }
}

/// Default help for a damaged file.
const TAKE_AWAY: &str = "remove its folder, and start again";

impl FolderError {
    /// Creates the error of a damaged `file`.
    pub fn damaged(file: &Path, cause: &impl ToString) -> Self {
        Self::Damaged {
            file: file.display().to_string(),
            cause: cause.to_string(),
            remedy: TAKE_AWAY,
        }
    }

    /// Replaces the help, if this is the error of a damaged file.
    #[must_use]
    pub fn with_remedy(mut self, better: &'static str) -> Self {
        if let Self::Damaged { remedy, .. } = &mut self {
            *remedy = better;
        }
        self
    }
}
