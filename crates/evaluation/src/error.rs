//! Errors that occur before anything runs.

use dupack_engine::JournalError;
use dupack_engine::folder::StoreError;
use dupack_engine::store::FolderError;
use dupack_lab::experiment::load::ExperimentError;
use dupack_report::files::DeliveryError;
use miette::Diagnostic;
use thiserror::Error;

/// Reason why there is no report card.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum EvaluationError {
    /// The suite is invalid.
    #[error("invalid suite: {message}")]
    #[diagnostic(help(
        "criteria.toml lists headings, criteria and scenarios; each criterion needs a claim in its scenario"
    ))]
    Suite {
        /// Description of the error.
        message: String,
    },
    /// There is no criterion with this key.
    #[error("there is no criterion `{key}`")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// Key that was requested.
        key: String,
        /// A similar criterion, or a list of all criteria.
        help: String,
    },
    /// A stack does not exist or cannot be used.
    #[error("{message}")]
    #[diagnostic(help("{help}"))]
    Stack {
        /// Description of the error.
        message: String,
        /// Correct form.
        help: String,
    },
    /// A scenario does not suit a stack.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(ExperimentError),
    /// Finished runs cannot be stored.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Journal(#[from] JournalError),
    /// A file cannot be written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// A report cannot be written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Delivery(#[from] DeliveryError),
    /// A file cannot be read as a report card.
    #[error("cannot read {path} as a report card: {cause}")]
    #[diagnostic(help(
        "name a card.json that `dupack evaluate` wrote, or its output with --format json"
    ))]
    NoCard {
        /// Path of the file.
        path: String,
        /// Description of the error.
        cause: String,
    },
    /// The baseline has a different extent.
    #[error("the baseline is a {held} card, but this is a {wanted} one")]
    #[diagnostic(help("run both with --quick, or both without"))]
    OtherExtent {
        /// Extent of the baseline.
        held: String,
        /// Extent of the new card.
        wanted: String,
    },
    /// The baseline has no criterion in common with the new card.
    #[error("the baseline has none of the criteria that were evaluated")]
    #[diagnostic(help("name the same criteria with --only, or leave it out"))]
    NothingInCommon,
    /// The baseline was interrupted.
    #[error("the baseline is incomplete: {missing} of its runs are missing")]
    #[diagnostic(help("finish it with `dupack evaluate --resume` and its folder"))]
    Unfinished {
        /// Number of missing runs.
        missing: usize,
    },
    /// There are several cards, but a baseline is compared with exactly one card.
    #[error("a baseline is compared with one card, but there are {cards}")]
    #[diagnostic(help("evaluate one stack at a time, or leave out --baseline"))]
    SeveralCards {
        /// Number of cards.
        cards: usize,
    },
    /// Runs on real packets are not possible on this machine.
    #[error("cannot run on real packets: {cause}")]
    #[diagnostic(help(
        "runs on real packets need Linux, and root or unprivileged user namespaces; without --wire \
         the card of a stack needs neither"
    ))]
    NoRealPackets {
        /// Description of what is missing.
        cause: String,
    },
    /// A folder cannot be created or resumed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
}

impl EvaluationError {
    pub(crate) fn suite(message: impl Into<String>) -> Self {
        Self::Suite {
            message: message.into(),
        }
    }

    /// Creates the error for a criterion `key` that is not among `known`.
    pub(crate) fn unknown(key: &str, known: &[&str]) -> Self {
        let near = known
            .iter()
            .map(|known| (strsim::damerau_levenshtein(key, known), known))
            .filter(|(distance, known)| *distance <= 1 + known.len() / 3)
            .min();
        Self::Unknown {
            key: key.to_owned(),
            help: match near {
                Some((_, known)) => format!("did you mean `{known}`?"),
                None => format!("the criteria are {}", known.join(", ")),
            },
        }
    }
}
