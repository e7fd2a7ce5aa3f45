//! Errors of folders in which runs are carried out.

use std::fmt;
use std::path::Path;

use dupack_lab::experiment::load::ExperimentError;
use miette::Diagnostic;
use thiserror::Error;

use crate::folder::StoreError;
use crate::journal::JournalError;
use crate::shard::Shard;

/// A folder in which runs can be neither begun nor gone on with.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum FolderError {
    /// Nothing of that kind was begun in it.
    #[error("{folder} is not {name}: it has no {file}")]
    #[diagnostic(help("{begin}"))]
    None {
        /// The folder.
        folder: String,
        /// What it should be.
        name: &'static str,
        /// The file that would say so.
        file: &'static str,
        /// How such a folder is begun.
        begin: &'static str,
    },
    /// There is no experiment in it.
    #[error("no experiment was begun in {folder}: {file} in it {cause}", file = super::EXPERIMENT)]
    #[diagnostic(help("name the folder of an interrupted run"))]
    NoExperiment {
        /// The folder.
        folder: String,
        /// What is wrong.
        cause: String,
    },
    /// It has a part of the runs only.
    #[error("{folder} is the folder of a shard")]
    #[diagnostic(help("`dupack run --resume DIR` goes on with a shard"))]
    Shard {
        /// The folder.
        folder: String,
    },
    /// Nothing is missing in it.
    #[error("{folder} has all runs, and its report is written")]
    #[diagnostic(help("there is nothing to go on with"))]
    Complete {
        /// The folder.
        folder: String,
    },
    /// One of its files is damaged.
    #[error("{file} cannot be used: {cause}")]
    #[diagnostic(help("{remedy}"))]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong.
        cause: String,
        /// What to do.
        remedy: &'static str,
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
    /// It was begun for something else.
    #[error("{folder} was begun for {what}: {difference}")]
    #[diagnostic(help(
        "repeat the command that was interrupted, with --resume; for anything else take a new folder, with --out"
    ))]
    Other {
        /// The folder.
        folder: String,
        /// What differs.
        what: Unlike,
        /// The first difference, with both values.
        difference: String,
    },
    /// Another process works in it.
    #[error("another dupack is at work in {folder}")]
    #[diagnostic(help("wait for it, or begin a new folder with --out"))]
    Busy {
        /// The folder.
        folder: String,
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

/// In what a folder is not the one that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unlike {
    /// The experiment.
    Experiment,
    /// The runs, or the files in which they are kept.
    Purpose,
    /// The papers, or how much of them.
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

/// What to do about a damaged file, unless something else is said.
const TAKE_AWAY: &str = "take its folder away, and begin anew";

impl FolderError {
    /// Returns the error of a damaged `file`.
    pub fn damaged(file: &Path, cause: &impl ToString) -> Self {
        Self::Damaged {
            file: file.display().to_string(),
            cause: cause.to_string(),
            remedy: TAKE_AWAY,
        }
    }

    /// Returns it with another remedy, if a file is damaged.
    #[must_use]
    pub fn with_remedy(mut self, better: &'static str) -> Self {
        if let Self::Damaged { remedy, .. } = &mut self {
            *remedy = better;
        }
        self
    }
}
