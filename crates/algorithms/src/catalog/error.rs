//! Errors in the text of a stack: the problem, its place, and a suggestion.

use core::error::Error;
use core::fmt;
use core::ops::Range;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::axis::Axis;
use super::entry::Description;
use super::nearest::nearest;
use super::parameter::{Text, ValueError};
use super::registry::Forbidden;

/// Error in the text of a stack.
#[derive(Clone, Debug)]
pub struct StackError {
    /// Text of the stack.
    pub text: String,
    /// Byte range of the text that is wrong.
    pub at: Range<usize>,
    /// Problem with this part of the text.
    pub problem: Box<StackProblem>,
}

/// Name of an entry that may have been meant, and its other names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownName {
    /// Name of the entry.
    pub name: Text,
    /// Other names of the entry.
    pub aliases: Vec<Text>,
}

impl KnownName {
    /// Returns the names of an entry.
    #[must_use]
    pub fn of(entry: &Description) -> Self {
        Self {
            name: entry.name.clone(),
            aliases: entry.aliases.clone(),
        }
    }
}

/// Problem with the text of a stack.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StackProblem {
    /// The text names at most one axis.
    NoControl,
    /// The text names a loss differentiation, but no response to wireless losses.
    NoResponse,
    /// The text names more than four axes.
    TooManyAxes,
    /// A parenthesis that is not closed, or not opened.
    Parenthesis,
    /// Text between a closing parenthesis and the next axis.
    Trailing,
    /// An algorithm name is missing.
    NoName {
        /// Axis of the missing name.
        axis: Axis,
        /// Entries on the axis.
        known: Vec<KnownName>,
    },
    /// No entry on the axis has this name.
    UnknownAlgorithm {
        /// Axis of the name.
        axis: Axis,
        /// Another axis that has an entry of this name.
        elsewhere: Option<Axis>,
        /// Entries on the axis.
        known: Vec<KnownName>,
    },
    /// A parameter without `=` and a value.
    NoValue,
    /// A parameter that the algorithm does not have.
    UnknownParameter {
        /// Name of the algorithm.
        algorithm: Text,
        /// Parameters of the algorithm.
        known: Vec<Text>,
    },
    /// A parameter that is given twice.
    Repeated,
    /// The value is invalid.
    Value {
        /// Name of the parameter.
        parameter: Text,
        /// Error of the value.
        error: ValueError,
    },
    /// Two entries exclude each other.
    Forbidden(Forbidden),
}

impl StackError {
    /// Returns the part of the text that is wrong.
    #[must_use]
    pub fn excerpt(&self) -> &str {
        self.text.get(self.at.clone()).unwrap_or("")
    }
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excerpt = self.excerpt();
        if excerpt == self.text {
            write!(f, "stack `{}`: ", self.text)?;
        } else {
            write!(
                f,
                "stack `{}`, column {}: ",
                self.text,
                self.text[..self.at.start].chars().count() + 1
            )?;
        }
        match &*self.problem {
            StackProblem::NoControl => f.write_str(
                "it names no congestion control: write `recovery/control`, as in `newreno/reno`",
            ),
            StackProblem::NoResponse => write!(
                f,
                "it names a loss differentiation and no response to the losses it finds: add \
                 one, as in `{}/1`",
                self.text.trim()
            ),
            StackProblem::TooManyAxes => write!(
                f,
                "`{excerpt}` is a fifth axis: a stack is `recovery/control`, or \
                 `recovery/control/differentiation/response`"
            ),
            StackProblem::Parenthesis => write!(
                f,
                "unbalanced `{excerpt}`: write parameters as in `newreno(full_ack=alg2)`"
            ),
            StackProblem::Trailing => write!(
                f,
                "unexpected `{excerpt}` after a closing parenthesis: expected `/` and the next axis"
            ),
            StackProblem::NoName { axis, known } => {
                write!(f, "missing {}: expected one of ", axis.noun())?;
                names(f, known)
            }
            StackProblem::UnknownAlgorithm {
                axis,
                elsewhere,
                known,
            } => unknown_algorithm(f, excerpt, *axis, *elsewhere, known),
            StackProblem::NoValue => {
                write!(f, "`{excerpt}` has no value: write `{excerpt}=…`")
            }
            StackProblem::UnknownParameter { algorithm, known } => {
                unknown_parameter(f, excerpt, algorithm, known)
            }
            StackProblem::Repeated => write!(f, "`{excerpt}` is given twice: remove one"),
            StackProblem::Value { parameter, error } => write!(f, "{parameter}: {error}"),
            StackProblem::Forbidden(Forbidden { by, with, why }) => write!(
                f,
                "{} `{}` and {} `{}` cannot be combined: {why}",
                by.0.noun(),
                by.1,
                with.0.noun(),
                with.1
            ),
        }
    }
}

impl Error for StackError {}

fn names(f: &mut fmt::Formatter<'_>, known: &[KnownName]) -> fmt::Result {
    for (i, entry) in known.iter().enumerate() {
        write!(f, "{}`{}`", if i == 0 { "" } else { ", " }, entry.name)?;
        for alias in &entry.aliases {
            write!(f, " (or `{alias}`)")?;
        }
    }
    Ok(())
}

fn unknown_algorithm(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    axis: Axis,
    elsewhere: Option<Axis>,
    known: &[KnownName],
) -> fmt::Result {
    write!(f, "no {} is called `{name}`", axis.noun())?;
    if let Some(elsewhere) = elsewhere {
        write!(
            f,
            ", which is a {} (a stack is `recovery/control/differentiation/response`)",
            elsewhere.noun()
        )?;
    } else {
        let names = known.iter().map(|entry| &*entry.name);
        let aliases = known.iter().flat_map(|entry| &entry.aliases);
        match nearest(name, names.chain(aliases.map(|alias| &**alias))) {
            Some(meant) => write!(f, "; did you mean `{meant}`?")?,
            None => f.write_str(".")?,
        }
    }
    f.write_str(" There are ")?;
    names(f, known)
}

fn unknown_parameter(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    algorithm: &str,
    known: &[Text],
) -> fmt::Result {
    write!(f, "`{algorithm}` has no parameter `{name}`")?;
    if known.is_empty() {
        return f.write_str(" (it has none): leave it out");
    }
    match nearest(name, known.iter().map(|known| &**known)) {
        Some(meant) => write!(f, "; did you mean `{meant}`?")?,
        None => f.write_str(".")?,
    }
    f.write_str(" It has ")?;
    for (i, known) in known.iter().enumerate() {
        write!(f, "{}`{known}`", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}
