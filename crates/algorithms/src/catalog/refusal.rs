//! Errors of entries that a catalog rejects.

use core::error::Error;
use core::fmt;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::axis::Axis;
use super::dialect::Dialect;
use super::entry::{Description, Opponent};
use super::parameter::{Kind, ParameterSpec};
use super::registry::Catalog;

/// Error: a catalog rejects an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    /// Axis of the entry.
    pub axis: Axis,
    /// Name of the entry.
    pub name: String,
    /// Problem with the entry.
    pub problem: RegisterProblem,
}

/// Problem with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterProblem {
    /// The name or an alias of the entry belongs to another entry.
    Taken {
        /// The name or alias.
        name: String,
        /// Name of the other entry.
        by: String,
    },
    /// The name or an alias of the entry cannot be written in a stack.
    Unwritable(String),
    /// An alias is the same as the name of the entry, or as another alias.
    Repeated(String),
    /// The entry excludes an entry that the catalog does not have.
    Opponent {
        /// Axis of the other entry.
        axis: Axis,
        /// Name that does not exist on this axis.
        name: String,
    },
    /// A parameter is invalid.
    Parameter {
        /// Name of the parameter.
        name: String,
        /// Problem with the parameter.
        fault: ParameterFault,
    },
}

/// Problem with a parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterFault {
    /// Another parameter has the same name.
    Repeated,
    /// The name of the parameter cannot be written in a stack.
    Unwritable,
    /// One of the parameter's words cannot be written in a stack.
    UnwritableWord(String),
    /// The default of the parameter is not one of its valid values.
    Default {
        /// Dialect of the default.
        dialect: Dialect,
        /// Default value.
        value: String,
        /// Valid values of the parameter.
        takes: String,
    },
}

/// Checks that `catalog` can contain `entry`. The entries that it excludes are not checked.
pub(super) fn check(catalog: &Catalog, entry: &Description) -> Result<(), RegisterProblem> {
    let mut names: Vec<&str> = Vec::new();
    for name in entry.names() {
        if !is_name(name) {
            return Err(RegisterProblem::Unwritable(name.to_string()));
        }
        if let Some(holder) = catalog.find(entry.axis, name) {
            return Err(RegisterProblem::Taken {
                name: name.to_string(),
                by: holder.name.to_string(),
            });
        }
        if names.contains(&name) {
            return Err(RegisterProblem::Repeated(name.to_string()));
        }
        names.push(name);
    }
    for (i, spec) in entry.parameters.iter().enumerate() {
        if let Some(fault) = fault(spec, &entry.parameters[..i]) {
            return Err(RegisterProblem::Parameter {
                name: spec.name.to_string(),
                fault,
            });
        }
    }
    Ok(())
}

/// Checks that every entry that `entry` excludes exists. A misspelt name would exclude nothing.
pub(super) fn check_conflicts(
    catalog: &Catalog,
    entry: &Description,
) -> Result<(), RegisterProblem> {
    for conflict in &entry.conflicts {
        if let Opponent::Named(with) = &conflict.with
            && catalog.find(conflict.axis, with).is_none()
        {
            return Err(RegisterProblem::Opponent {
                axis: conflict.axis,
                name: with.to_string(),
            });
        }
    }
    Ok(())
}

/// Returns the problem with a parameter; `before` are the parameters that precede it.
fn fault(spec: &ParameterSpec, before: &[ParameterSpec]) -> Option<ParameterFault> {
    if !is_name(&spec.name) {
        return Some(ParameterFault::Unwritable);
    }
    if before.iter().any(|other| other.name == spec.name) {
        return Some(ParameterFault::Repeated);
    }
    if let Kind::Choice(words) = &spec.kind
        && let Some(known) = words.iter().find(|known| !is_name(&known.word))
    {
        return Some(ParameterFault::UnwritableWord(known.word.to_string()));
    }
    Dialect::ALL.into_iter().find_map(|dialect| {
        let value = spec.default.of(dialect);
        (!spec.kind.admits(value)).then(|| ParameterFault::Default {
            dialect,
            value: value.to_string(),
            takes: spec.kind.to_string(),
        })
    })
}

/// Returns `true` if `name` can be written in the text of a stack: it has no blanks and no separators of a stack.
fn is_name(name: &str) -> bool {
    let divides = |c: char| c.is_whitespace() || "/(),=".contains(c);
    !name.is_empty() && !name.contains(divides)
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`: ", self.axis.noun(), self.name)?;
        match &self.problem {
            RegisterProblem::Taken { name, by } => {
                write!(f, "the name `{name}` is taken by `{by}`: choose another")
            }
            RegisterProblem::Unwritable(name) => {
                write!(f, "`{name}` {UNWRITABLE}")
            }
            RegisterProblem::Repeated(name) => {
                write!(f, "it has the name `{name}` twice: remove one")
            }
            RegisterProblem::Opponent { axis, name } => write!(
                f,
                "it excludes the {} `{name}`, which does not exist: register that entry first, or \
                 declare the conflict there",
                axis.noun()
            ),
            RegisterProblem::Parameter { name, fault } => {
                write!(f, "its parameter `{name}` {fault}")
            }
        }
    }
}

const UNWRITABLE: &str = "cannot be written in a stack: a name has at least one character, and no blank, \
                          `/`, `(`, `)`, `,` or `=`";

impl fmt::Display for ParameterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated => f.write_str("is declared twice: remove one"),
            Self::Unwritable => f.write_str(UNWRITABLE),
            Self::UnwritableWord(word) => write!(f, "has the word `{word}`, which {UNWRITABLE}"),
            Self::Default {
                dialect,
                value,
                takes,
            } => write!(
                f,
                "has the default `{value}` in the dialect `{dialect}`, but takes {takes}"
            ),
        }
    }
}

impl Error for RegisterError {}
