//! The catalog itself: a value that holds entries and takes in more.

use core::error::Error;
use core::fmt;

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use super::axis::Axis;
use super::dialect::Dialect;
use super::entry::{Description, Entries, Entry, Opponent, Plugin};
use super::parameter::{Kind, ParameterSpec, Text};

/// The algorithms that stacks are made of, by axis and name. Cheap to clone.
///
/// [`Catalog::builtin`](super::Catalog::builtin) has those of this crate; anyone adds theirs by
/// [`register`](Self::register). Clones go their own way from then on.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    entries: Arc<Entries>,
}

impl Catalog {
    /// One without entries.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Takes in an entry, on the axis of its trait.
    ///
    /// # Errors
    /// If its name or one of its aliases is taken on its axis, or it could not be written in a
    /// stack, or one of its parameters is not well-formed: see [`RegisterProblem`].
    pub fn register<P: Plugin + ?Sized>(&mut self, entry: Entry<P>) -> Result<(), RegisterError> {
        let description = entry.description();
        self.check(description).map_err(|problem| RegisterError {
            axis: description.axis,
            name: description.name.to_string(),
            problem,
        })?;
        P::list_mut(Arc::make_mut(&mut self.entries)).push(Arc::new(entry));
        Ok(())
    }

    /// Every entry's description, axis by axis.
    pub fn descriptions(&self) -> impl Iterator<Item = &Description> + '_ {
        Axis::ALL.into_iter().flat_map(|axis| self.on(axis))
    }

    /// The descriptions of the entries on `axis`.
    pub fn on(&self, axis: Axis) -> Box<dyn Iterator<Item = &Description> + '_> {
        match axis {
            Axis::Recovery => Box::new(described(&self.entries.recoveries)),
            Axis::Control => Box::new(described(&self.entries.controls)),
            Axis::Differentiation => Box::new(described(&self.entries.differentiations)),
            Axis::Response => Box::new(described(&self.entries.responses)),
        }
    }

    /// The entry on `axis` that goes by `name`, or has it for an alias.
    #[must_use]
    pub fn find(&self, axis: Axis, name: &str) -> Option<&Description> {
        self.on(axis).find(|known| known.is_called(name))
    }

    /// The entries that build a `P`: those of its axis.
    #[must_use]
    pub fn entries<P: Plugin + ?Sized>(&self) -> &[Arc<Entry<P>>] {
        P::list(&self.entries)
    }

    /// The first conflict among these entries, named in the order of [`Axis::ALL`]; names that the
    /// catalog does not know have none.
    #[must_use]
    pub fn forbids(&self, names: [&str; 4]) -> Option<Forbidden> {
        Axis::ALL.into_iter().zip(names).find_map(|(axis, name)| {
            let entry = self.on(axis).find(|known| known.name == name)?;
            entry.conflicts.iter().find_map(|conflict| {
                let other = conflict.axis;
                let wanted = names[other as usize];
                let chosen = self.on(other).find(|known| known.name == wanted)?;
                let hit = match &conflict.with {
                    Opponent::AnyButNull => Some(&*chosen.name) != other.null(),
                    Opponent::Named(with) => *with == chosen.name,
                };
                hit.then(|| Forbidden {
                    by: (axis, entry.name.clone()),
                    with: (other, chosen.name.clone()),
                    why: conflict.why.clone(),
                })
            })
        })
    }

    fn check(&self, entry: &Description) -> Result<(), RegisterProblem> {
        for name in core::iter::once(&entry.name).chain(&entry.aliases) {
            if !is_name(name) {
                return Err(RegisterProblem::Unwritable(name.to_string()));
            }
            if let Some(holder) = self.find(entry.axis, name) {
                return Err(RegisterProblem::Taken {
                    name: name.to_string(),
                    by: holder.name.to_string(),
                });
            }
        }
        for (i, spec) in entry.parameters.iter().enumerate() {
            let twice = entry.parameters[..i].iter().any(|s| s.name == spec.name);
            if twice || !is_name(&spec.name) || !is_well_formed(spec) {
                return Err(RegisterProblem::Parameter(spec.name.to_string()));
            }
        }
        Ok(())
    }
}

fn described<P: ?Sized>(entries: &[Arc<Entry<P>>]) -> impl Iterator<Item = &Description> {
    entries.iter().map(|entry| entry.description())
}

/// Whether a stack's text can hold it: no blanks, and none of the signs that divide a stack.
fn is_name(name: &str) -> bool {
    let divides = |c: char| c.is_whitespace() || "/(),=".contains(c);
    !name.is_empty() && !name.contains(divides)
}

/// Whether it admits its own defaults, and its words can be written.
fn is_well_formed(spec: &ParameterSpec) -> bool {
    let words = match &spec.kind {
        Kind::Choice(words) => words.iter().all(|known| is_name(&known.word)),
        Kind::Integer { .. } | Kind::Real { .. } | Kind::Time => true,
    };
    let admits = |dialect: Dialect| spec.kind.admits(spec.default.of(dialect));
    words && Dialect::ALL.into_iter().all(admits)
}

/// Two choices that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// The axis and name of the one that says so.
    pub by: (Axis, Text),
    /// The axis and name of the other.
    pub with: (Axis, Text),
    /// Why.
    pub why: Text,
}

/// An entry that a catalog does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    /// The entry's axis.
    pub axis: Axis,
    /// The entry's name.
    pub name: String,
    /// What is wrong with it.
    pub problem: RegisterProblem,
}

/// What can be wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterProblem {
    /// Its name, or an alias, is another entry's.
    Taken {
        /// The name or alias.
        name: String,
        /// The other entry.
        by: String,
    },
    /// A name or alias that cannot stand in a stack.
    Unwritable(String),
    /// A parameter of this name that is there twice, cannot stand in a stack, or does not admit
    /// its own default.
    Parameter(String),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`: ", self.axis.noun(), self.name)?;
        match &self.problem {
            RegisterProblem::Taken { name, by } => {
                write!(f, "the name `{name}` is taken by `{by}`: choose another")
            }
            RegisterProblem::Unwritable(name) => write!(
                f,
                "`{name}` cannot be written in a stack: a name has a letter at least, and no \
                 blank, `/`, `(`, `)`, `,` or `=`"
            ),
            RegisterProblem::Parameter(name) => write!(
                f,
                "its parameter `{name}` is declared twice, or cannot be written in a stack, or \
                 does not admit its own default"
            ),
        }
    }
}

impl Error for RegisterError {}
