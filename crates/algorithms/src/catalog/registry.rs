//! The catalog itself: a value that holds entries and takes in more.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::axis::Axis;
use super::entry::{Description, Entries, Entry, Opponent, Plugin};
use super::nearest::nearest;
use super::parameter::Text;
use super::refusal::{self, RegisterError};

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
    /// stack, or one of its parameters is not well-formed, or it excludes what is not there: see
    /// [`RegisterProblem`](super::RegisterProblem). Of two that exclude each other, the one that is
    /// registered last says so.
    pub fn register<P: Plugin + ?Sized>(&mut self, entry: Entry<P>) -> Result<(), RegisterError> {
        let description = entry.description();
        refusal::check_conflicts(self, description)
            .map_err(|problem| description.refused(problem))?;
        self.take(entry)
    }

    /// Takes out the entry on `axis` that is called `name`, if there is one: another may have its name then.
    /// Stacks that were read before hold it still.
    pub fn withdraw(&mut self, axis: Axis, name: &str) {
        fn drop_from<P: ?Sized>(entries: &mut Vec<Arc<Entry<P>>>, name: &str) {
            entries.retain(|entry| entry.name() != name);
        }
        let entries = Arc::make_mut(&mut self.entries);
        match axis {
            Axis::Recovery => drop_from(&mut entries.recoveries, name),
            Axis::Control => drop_from(&mut entries.controls, name),
            Axis::Differentiation => drop_from(&mut entries.differentiations, name),
            Axis::Response => drop_from(&mut entries.responses, name),
        }
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
                    Opponent::Named(with) => chosen.is_called(with),
                };
                hit.then(|| Forbidden {
                    by: (axis, entry.name.clone()),
                    with: (other, chosen.name.clone()),
                    why: conflict.why.clone(),
                })
            })
        })
    }

    /// The name, of an algorithm or an alias, that `name` is most likely a misspelling of; nothing if it is
    /// like none, or without the feature `suggest`.
    #[must_use]
    pub fn suggest(&self, name: &str) -> Option<&str> {
        let names = self.descriptions().flat_map(Description::names);
        nearest(name, names)
    }

    /// Takes in an entry, whatever it says that it may not be combined with.
    pub(super) fn take<P: Plugin + ?Sized>(
        &mut self,
        entry: Entry<P>,
    ) -> Result<(), RegisterError> {
        let description = entry.description();
        refusal::check(self, description).map_err(|problem| description.refused(problem))?;
        P::list_mut(Arc::make_mut(&mut self.entries)).push(Arc::new(entry));
        Ok(())
    }
}

fn described<P: ?Sized>(entries: &[Arc<Entry<P>>]) -> impl Iterator<Item = &Description> {
    entries.iter().map(|entry| entry.description())
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
