//! What a caller can get wrong, each with its place and its remedy.

use dupack_lab::experiment::load::ExperimentError;
use dupack_lab::run::BuildError;
use miette::Diagnostic;
use thiserror::Error;

/// What is wrong with a description of environments, or with a call.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The experiment is impossible, or a drawn value makes it so.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A setting is impossible.
    #[error("{place}: {message}")]
    #[diagnostic(help("{remedy}"))]
    Setting {
        /// The setting, by its path: `action.low`.
        place: String,
        /// What is wrong.
        message: String,
        /// What to write instead.
        remedy: String,
    },
    /// The episode of a seed cannot be built.
    #[error("the episode of seed {seed}: {cause}")]
    #[diagnostic(help("the values drawn: {drawn}; narrow the ranges that they are of"))]
    Episode {
        /// The seed of the episode.
        seed: u64,
        /// Why.
        cause: BuildError,
        /// What was drawn for it.
        drawn: String,
    },
    /// An action is no number, or beyond its bounds.
    #[error(
        "the action {value} of agent {agent} in environment {environment} is not from {low} to {high}"
    )]
    #[diagnostic(help(
        "clip actions to the bounds of the action space; of NaN, look for a policy that diverges"
    ))]
    Action {
        /// Which environment, from 0.
        environment: usize,
        /// Which of its agents, from 0.
        agent: usize,
        /// What was given.
        value: f32,
        /// The least that may be given.
        low: f32,
        /// The most that may be given.
        high: f32,
    },
    /// A slice has the wrong length.
    #[error("{what}: {given} given, {wanted} wanted")]
    #[diagnostic(help("{meaning}"))]
    Length {
        /// Of what.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many there should be.
        wanted: usize,
        /// How that number comes about.
        meaning: String,
    },
    /// An environment was stepped that has no episode.
    #[error("environment {environment} has not been reset")]
    #[diagnostic(help("call reset first"))]
    NotReset {
        /// Which environment, from 0.
        environment: usize,
    },
    /// An environment was stepped whose episode is over.
    #[error("the episode of environment {environment} is over")]
    #[diagnostic(help(
        "call reset before the next step, or let a vector of environments do it (Autoreset::NextStep)"
    ))]
    Over {
        /// Which environment, from 0.
        environment: usize,
    },
    /// The threads cannot be started.
    #[error("{count} threads cannot be started: {cause}")]
    #[diagnostic(help("ask for fewer"))]
    Threads {
        /// How many were asked for.
        count: usize,
        /// Why, in the system's words.
        cause: String,
    },
}

impl EnvironmentError {
    /// A setting at `place` that is impossible.
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

    /// The same error, of environment `number` of several.
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

/// Makes sure that a slice has the length that is wanted.
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
