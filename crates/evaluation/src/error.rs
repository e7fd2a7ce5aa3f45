//! What can go wrong before anything runs.

use dupack_engine::JournalError;
use dupack_engine::folder::StoreError;
use dupack_engine::store::FolderError;
use dupack_lab::experiment::load::ExperimentError;
use dupack_report::files::DeliveryError;
use miette::Diagnostic;
use thiserror::Error;

/// Why there is no report card.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum EvaluationError {
    /// The suite itself is not what it should be.
    #[error("the suite is not sound: {message}")]
    #[diagnostic(help(
        "criteria.toml lists headings, criteria and scenarios; each criterion has a claim in its scenario"
    ))]
    Suite {
        /// What is wrong.
        message: String,
    },
    /// There is no such criterion.
    #[error("there is no criterion `{key}`")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// What was asked for.
        key: String,
        /// What was meant, or what there is.
        help: String,
    },
    /// A stack that cannot be had.
    #[error("{message}")]
    #[diagnostic(help("{help}"))]
    Stack {
        /// What is wrong with it.
        message: String,
        /// What to write instead.
        help: String,
    },
    /// A scenario does not suit a stack.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(ExperimentError),
    /// Finished runs cannot be kept.
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
    /// A file that should be a card is none.
    #[error("{path} is no report card: {cause}")]
    #[diagnostic(help(
        "name the card.json that `dupack evaluate` wrote, or what it printed with --format json"
    ))]
    NoCard {
        /// The file.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The card to compare with was made in another way.
    #[error("the baseline is a {held} card, and this is a {wanted} one")]
    #[diagnostic(help("run both with --quick, or both without"))]
    OtherExtent {
        /// The extent of the baseline.
        held: String,
        /// That of the new card.
        wanted: String,
    },
    /// The card to compare with has nothing in common with the new one.
    #[error("the baseline has none of the criteria that were evaluated")]
    #[diagnostic(help("name the same criteria with --only, or leave it out"))]
    NothingInCommon,
    /// The card to compare with was interrupted.
    #[error("the baseline is not finished: {missing} of its runs are missing")]
    #[diagnostic(help("finish it with `dupack evaluate --resume` and its folder"))]
    Unfinished {
        /// How many.
        missing: usize,
    },
    /// One card cannot be held against several, or several against one.
    #[error("a baseline is held against one card, and here come {cards} cards")]
    #[diagnostic(help("evaluate one stack at a time, or leave out --baseline"))]
    SeveralCards {
        /// How many.
        cards: usize,
    },
    /// Real packets cannot be had here.
    #[error("no runs on real packets: {cause}")]
    #[diagnostic(help(
        "they take Linux, and root or a system that lets ordinary users make user namespaces; without --wire \
         the card of a stack needs neither"
    ))]
    NoRealPackets {
        /// What is missing.
        cause: String,
    },
    /// A folder that can be neither begun nor gone on with.
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

    /// There is no criterion `key` among `known`.
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
