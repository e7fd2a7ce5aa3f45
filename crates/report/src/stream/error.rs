//! What can go wrong with the folder of a streamed experiment.

use std::io;
use std::path::Path;

use dupack_lab::experiment::load::ExperimentError;
use miette::Diagnostic;
use thiserror::Error;

use super::STREAM;
use crate::figure::FigureError;
use crate::files::DeliveryError;
use dupack_engine::folder::StoreError;

/// A streamed experiment that cannot be begun, gone on with, or finished.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum StreamError {
    /// There is none in the folder.
    #[error("no experiment was streamed to {folder}: it has no {STREAM}")]
    #[diagnostic(help("`dupack run FILE --stream --out DIR` begins one"))]
    None {
        /// The folder.
        folder: String,
    },
    /// One of its files is damaged.
    #[error("{file} cannot be used: {cause}")]
    #[diagnostic(help("take it away and go on with --resume: what it is made of is made again"))]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong.
        cause: String,
    },
    /// It was begun for something else.
    #[error("{folder} was begun for something else: {difference}")]
    #[diagnostic(help(
        "repeat the command that it was begun with, with --resume; for anything else take a new folder, with --out"
    ))]
    Other {
        /// The folder.
        folder: String,
        /// Where they differ first.
        difference: String,
    },
    /// Another process works with it.
    #[error("another dupack is at work in {folder}")]
    #[diagnostic(help("wait for it, or begin a new folder with --out"))]
    Busy {
        /// The folder.
        folder: String,
    },
    /// A table cannot be written as it should be.
    #[error("cannot write {file}: {cause}")]
    #[diagnostic(help("this is a fault of dupack; --parts csv writes the same runs as text"))]
    Table {
        /// The file.
        file: String,
        /// Why not.
        cause: String,
    },
    /// Its experiment is none.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// It cannot be written to.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// A figure cannot be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// The page and its figures cannot be written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Delivery(#[from] DeliveryError),
}

impl StreamError {
    pub(super) fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self::Damaged {
            file: file.display().to_string(),
            cause: error.to_string(),
        }
    }
}
