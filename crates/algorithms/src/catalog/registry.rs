//! Catalog: a value that contains entries, and to which entries can be added.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::axis::Axis;
use super::entry::{Description, Entries, Entry, Opponent, Plugin};
use super::nearest::nearest;
use super::parameter::Text;
use super::refusal::{self, RegisterError};

/// Algorithms for stacks, by axis and name. A catalog is cheap to clone.
///
/// [`Catalog::builtin`](super::Catalog::builtin) contains the algorithms of this crate; [`register`](Self::register)
/// adds others. A clone is independent of its original.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    entries: Arc<Entries>,
}

impl Catalog {
    /// Returns a catalog without entries.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds an entry, on the axis of its trait.
    ///
    /// # Errors
    /// If the name or an alias of the entry is taken on its axis or cannot be written in a stack, if one of its
    /// parameters is not well-formed, or if it excludes an entry that does not exist: see
    /// [`RegisterProblem`](super::RegisterProblem). If two entries exclude each other, the one that is registered last
    /// declares the conflict.
    pub fn register<P: Plugin + ?Sized>(&mut self, entry: Entry<P>) -> Result<(), RegisterError> {
        let description = entry.description();
        refusal::check_conflicts(self, description)
            .map_err(|problem| description.refused(problem))?;
        self.take(entry)
    }

    /// Removes the entry `name` on `axis`, if there is one; its name is then free for another entry. Stacks that were
    /// read earlier still contain the entry.
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

    /// Returns the description of every entry, axis by axis.
    pub fn descriptions(&self) -> impl Iterator<Item = &Description> + '_ {
        Axis::ALL.into_iter().flat_map(|axis| self.on(axis))
    }

    /// Returns the descriptions of the entries on `axis`.
    pub fn on(&self, axis: Axis) -> Box<dyn Iterator<Item = &Description> + '_> {
        match axis {
            Axis::Recovery => Box::new(described(&self.entries.recoveries)),
            Axis::Control => Box::new(described(&self.entries.controls)),
            Axis::Differentiation => Box::new(described(&self.entries.differentiations)),
            Axis::Response => Box::new(described(&self.entries.responses)),
        }
    }

    /// Returns the entry on `axis` that has `name` as its name or alias.
    #[must_use]
    pub fn find(&self, axis: Axis, name: &str) -> Option<&Description> {
        self.on(axis).find(|known| known.is_called(name))
    }

    /// Returns the entries that build a `P`, which are those of its axis.
    #[must_use]
    pub fn entries<P: Plugin + ?Sized>(&self) -> &[Arc<Entry<P>>] {
        P::list(&self.entries)
    }

    /// Returns the first conflict among these entries, which are named in the order of [`Axis::ALL`]. Unknown names
    /// have no conflicts.
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

    /// Returns the name or alias that was most likely meant by `name`. Returns `None` if no name is similar, or without
    /// the feature `suggest`.
    #[must_use]
    pub fn suggest(&self, name: &str) -> Option<&str> {
        let names = self.descriptions().flat_map(Description::names);
        nearest(name, names)
    }

    /// Adds an entry without checking the entries that it excludes.
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

/// Two entries that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// Axis and name of the entry that declares the conflict.
    pub by: (Axis, Text),
    /// Axis and name of the other entry.
    pub with: (Axis, Text),
    /// Reason.
    pub why: Text,
}
