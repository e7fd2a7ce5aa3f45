//! Read-only access to a journal, for merging several journals and for runs that two journals have in common.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use dupack_lab::run::{Fingerprint, Job};

use super::line::Held;
use super::{Done, JournalError, NAME, file};
use crate::set::RunId;

/// Contents of a journal that was read without a lock. Another process may be writing to the journal.
#[derive(Debug)]
pub struct Stored {
    held: Held,
    hash: u64,
}

impl Stored {
    /// Reads the journal in `folder`. A missing journal counts as empty.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn read(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(NAME);
        let bytes = file::read_at(&path)?;
        let (held, _) = Held::read(&bytes);
        let hash = xxh3_64(&bytes);
        Ok(Self { held, hash })
    }

    /// Returns a hash of all bytes of the journal, as hexadecimal text.
    #[must_use]
    pub fn hash(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// Returns the numbers of incomplete or unreadable lines, counted from 1.
    #[must_use]
    pub fn unreadable(&self) -> &[usize] {
        &self.held.unreadable
    }

    /// Returns the fingerprints of all runs that this engine made, in any order.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        self.held.done.keys().copied()
    }

    /// Returns the run with the name `id` as `job`, if this engine made it.
    pub(crate) fn find(&self, id: &RunId, job: Job) -> Option<Done> {
        self.held.find(id, job)
    }

    /// Returns `true` if this engine made none of the runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.done.is_empty()
    }
}
