//! A journal that is only read, as by those who put several together.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use dupack_lab::results::Run;
use dupack_lab::run::{Fingerprint, Job};

use super::line::Held;
use super::{JournalError, NAME, file};
use crate::set::RunId;

/// What a journal holds, left as it is and without a lock: somebody may be at work with it.
#[derive(Debug)]
pub struct Stored {
    held: Held,
    hash: u64,
}

impl Stored {
    /// Reads the journal in `folder`; where there is none, nothing was done yet.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn read(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(NAME);
        let bytes = file::read_at(&path)?;
        let (held, _) = Held::read(&bytes);
        let hash = xxh3_64(&bytes);
        Ok(Self { held, hash })
    }

    /// A hash of all its bytes, as hexadecimal text.
    #[must_use]
    pub fn hash(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// The numbers of lines that are torn or unreadable, from 1 on.
    #[must_use]
    pub fn unreadable(&self) -> &[usize] {
        &self.held.unreadable
    }

    /// The fingerprints of all runs that this engine has made, in any order.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        self.held.done.keys().copied()
    }

    /// Returns the run with the name `id`, as `job`, if this engine has made it.
    pub(crate) fn find(&self, id: &RunId, job: Job) -> Option<Run> {
        Some(self.held.find(id, job)?.run)
    }
}
