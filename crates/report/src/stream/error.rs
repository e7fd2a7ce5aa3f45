//! What can go wrong with the folder of a streamed experiment.

use std::path::Path;

use dupack_engine::store::FolderError;
use miette::Diagnostic;
use thiserror::Error;

use crate::figure::FigureError;
use crate::files::DeliveryError;
use dupack_engine::folder::StoreError;

/// A streamed experiment that cannot be begun, gone on with, or finished.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum StreamError {
    /// A table cannot be written as it should be.
    #[error("cannot write {file}: {cause}")]
    #[diagnostic(help("this is a fault of dupack; --parts csv writes the same runs as text"))]
    Table {
        /// The file.
        file: String,
        /// Why not.
        cause: String,
    },
    /// Its folder can be neither begun nor gone on with.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
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

/// What to do about a damaged file.
const AGAIN: &str = "take it away and go on with --resume: what it is made of is made again";

impl StreamError {
    /// Returns the error of a damaged `file`.
    pub(super) fn damaged(file: &Path, cause: &impl ToString) -> Self {
        Self::Folder(FolderError::damaged(file, cause).with_remedy(AGAIN))
    }
}
