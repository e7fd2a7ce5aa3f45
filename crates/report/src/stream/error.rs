//! Errors of the folder of a streamed experiment.

use std::path::Path;

use dupack_engine::store::FolderError;
use miette::Diagnostic;
use thiserror::Error;

use crate::figure::FigureError;
use crate::files::DeliveryError;
use dupack_engine::folder::StoreError;

/// Error of a streamed experiment when it begins, continues or ends.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum StreamError {
    /// A table cannot be encoded.
    #[error("cannot write {file}: {cause}")]
    #[diagnostic(help("this is a bug in dupack; --parts csv writes the same runs as text"))]
    Table {
        /// Name of the file.
        file: String,
        /// Reason for the failure.
        cause: String,
    },
    /// The folder of the experiment cannot be begun or continued.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be written.
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

/// Remedy for a damaged file.
const AGAIN: &str = "delete it and continue with --resume, which makes it again";

impl StreamError {
    /// Returns the error of a damaged `file`.
    pub(super) fn damaged(file: &Path, cause: &impl ToString) -> Self {
        Self::Folder(FolderError::damaged(file, cause).with_remedy(AGAIN))
    }
}
