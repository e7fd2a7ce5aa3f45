//! Errors of callers. Each error names its place and suggests a correction.

use dupack_lab::experiment::load::ExperimentError;
use dupack_lab::run::BuildError;
use miette::Diagnostic;
use thiserror::Error;

/// Error in the description of an environment, or in a call.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The experiment is invalid, or a drawn value makes it invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A setting is invalid.
    #[error("{place}: {message}")]
    #[diagnostic(help("{remedy}"))]
    Setting {
        /// Path of the setting, such as `action.low`.
        place: String,
        /// The error message.
        message: String,
        /// Suggested correction.
        remedy: String,
    },
    /// The episode of a seed cannot be built.
    #[error("cannot build the episode of seed {seed}: {cause}")]
    #[diagnostic(help("drawn values: {drawn}; narrow their ranges"))]
    Episode {
        /// The seed of the episode.
        seed: u64,
        /// Cause of the failure.
        cause: BuildError,
        /// Values drawn for the episode.
        drawn: String,
    },
    /// An action is NaN or out of bounds.
    #[error(
        "invalid action {value} of agent {agent} in environment {environment}: expected a number from {low} to {high}"
    )]
    #[diagnostic(help(
        "clip actions to the bounds of the action space; if the action is NaN, check whether the policy diverges"
    ))]
    Action {
        /// Index of the environment, from 0.
        environment: usize,
        /// Index of the agent in the environment, from 0.
        agent: usize,
        /// The action.
        value: f32,
        /// Minimum action.
        low: f32,
        /// Maximum action.
        high: f32,
    },
    /// A slice has the wrong length.
    #[error("{what}: {given} given, {wanted} expected")]
    #[diagnostic(help("{meaning}"))]
    Length {
        /// Name of the slice.
        what: &'static str,
        /// Length of the slice.
        given: usize,
        /// Expected length.
        wanted: usize,
        /// Explanation of the expected length.
        meaning: String,
    },
    /// A step was called on an environment without an episode.
    #[error("environment {environment} has not been reset")]
    #[diagnostic(help("call reset first"))]
    NotReset {
        /// Index of the environment, from 0.
        environment: usize,
    },
    /// A step was called on an environment whose episode is over.
    #[error("the episode of environment {environment} is over")]
    #[diagnostic(help(
        "call reset before the next step, or use a vector environment with Autoreset::NextStep"
    ))]
    Over {
        /// Index of the environment, from 0.
        environment: usize,
    },
    /// The threads cannot be started.
    #[error("cannot start {count} threads: {cause}")]
    #[diagnostic(help("use fewer threads"))]
    Threads {
        /// Number of threads requested.
        count: usize,
        /// The system's error message.
        cause: String,
    },
}

impl EnvironmentError {
    /// Creates an error for the invalid setting at `place`.
    pub(crate) fn setting(
        place: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Setting {
            place: place.into(),
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// Returns the same error for the environment with the index `number`.
    #[must_use]
    pub(crate) fn of_environment(self, number: usize) -> Self {
        match self {
            Self::Action {
                agent,
                value,
                low,
                high,
                ..
            } => Self::Action {
                environment: number,
                agent,
                value,
                low,
                high,
            },
            Self::NotReset { .. } => Self::NotReset {
                environment: number,
            },
            Self::Over { .. } => Self::Over {
                environment: number,
            },
            other => other,
        }
    }
}

/// Checks the length of a slice.
pub(crate) fn check_length(
    what: &'static str,
    given: usize,
    wanted: usize,
    meaning: impl FnOnce() -> String,
) -> Result<(), EnvironmentError> {
    if given == wanted {
        return Ok(());
    }
    Err(EnvironmentError::Length {
        what,
        given,
        wanted,
        meaning: meaning(),
    })
}
