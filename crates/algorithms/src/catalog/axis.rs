//! The four axes of a stack, and what the catalog says of the entries on them.

use std::fmt;

use super::spec::{Conflict, Entry, ParameterSpec};
use super::{CONTROLS, DIFFERENTIATIONS, RECOVERIES, RESPONSES};

/// One of the four decisions that make a stack, in the order in which a stack names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// What is lost, what goes out next, what counts as in flight.
    Recovery,
    /// How the window grows, and what a congestion loss makes of it.
    Control,
    /// Whether a loss was congestion or the link.
    Differentiation,
    /// What the window becomes after a loss that was the link's.
    Response,
}

impl Axis {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [
        Self::Recovery,
        Self::Control,
        Self::Differentiation,
        Self::Response,
    ];

    /// Its name in the catalog.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Control => "control",
            Self::Differentiation => "differentiation",
            Self::Response => "response",
        }
    }

    /// What is chosen on it, in words.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Recovery => "loss recovery",
            Self::Control => "congestion control",
            Self::Differentiation => "loss differentiation",
            Self::Response => "response",
        }
    }

    /// The choice that does nothing, if there is one.
    #[must_use]
    pub const fn null(self) -> Option<&'static str> {
        match self {
            Self::Recovery | Self::Control => None,
            Self::Differentiation => Some("none"),
            Self::Response => Some("0"),
        }
    }

    /// Other names for entries on it, each with the entry's own.
    #[must_use]
    pub const fn aliases(self) -> &'static [(&'static str, &'static str)] {
        match self {
            // The methods of Park et al., Table 1, by word.
            Self::Response => &[("tcp", "0"), ("previous", "1")],
            _ => &[],
        }
    }

    /// What the catalog says of the entries on it.
    pub fn descriptions(self) -> Box<dyn Iterator<Item = Description>> {
        match self {
            Self::Recovery => Box::new(of(self, RECOVERIES)),
            Self::Control => Box::new(of(self, CONTROLS)),
            Self::Differentiation => Box::new(of(self, DIFFERENTIATIONS)),
            Self::Response => Box::new(of(self, RESPONSES)),
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An entry of the catalog as data, the same for all axes.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Its axis.
    pub axis: Axis,
    /// Its name in a stack.
    pub name: &'static str,
    /// The source file that it is in, from the workspace's root.
    pub file: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub citation: &'static str,
    /// Its parameters, with their defaults by dialect.
    pub parameters: &'static [ParameterSpec],
    /// What it may not be combined with.
    pub conflicts: &'static [Conflict],
}

impl Description {
    /// Its other names.
    pub fn aliases(&self) -> impl Iterator<Item = &'static str> + use<> {
        let name = self.name;
        let aliases = self.axis.aliases().iter();
        aliases
            .filter(move |(_, of)| *of == name)
            .map(|(alias, _)| *alias)
    }
}

fn of<P: ?Sized>(
    axis: Axis,
    entries: &'static [&'static Entry<P>],
) -> impl Iterator<Item = Description> {
    entries.iter().map(move |entry| Description {
        axis,
        name: entry.name,
        file: entry.file,
        summary: entry.summary,
        citation: entry.citation,
        parameters: entry.parameters,
        conflicts: entry.conflicts,
    })
}

/// Every entry of the catalog, axis by axis.
pub fn describe() -> impl Iterator<Item = Description> {
    Axis::ALL.into_iter().flat_map(Axis::descriptions)
}

/// Two choices that exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// The axis and name of the one that says so.
    pub by: (Axis, &'static str),
    /// The axis and name of the other.
    pub with: (Axis, &'static str),
    /// Why.
    pub why: &'static str,
}

/// The first conflict among these entries, named in the order of [`Axis::ALL`]; names that the
/// catalog does not know have none.
#[must_use]
pub fn forbids(names: [&str; 4]) -> Option<Forbidden> {
    Axis::ALL.into_iter().zip(names).find_map(|(axis, name)| {
        let entry = axis.descriptions().find(|d| d.name == name)?;
        entry.conflicts.iter().find_map(|conflict| {
            let (other, index) = (0..4)
                .map(|index| (Axis::ALL[index], index))
                .find(|(axis, _)| axis.name() == conflict.axis)?;
            let chosen = other.descriptions().find(|d| d.name == names[index])?;
            let hit = match conflict.with {
                "*" => Some(chosen.name) != other.null(),
                with => with == chosen.name,
            };
            hit.then_some(Forbidden {
                by: (axis, entry.name),
                with: (other, chosen.name),
                why: conflict.why,
            })
        })
    })
}
