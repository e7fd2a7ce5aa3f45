//! Folders in which runs are carried out.
//!
//! All are the same thing: a file that says what was begun, a lock, finished runs, and a mark that all of them are there. The
//! folder of an experiment holds all runs in a journal until its results are written; that of a [shard](shards) holds some of
//! them for good; a streamed experiment holds them block by block; papers and report cards have journals below. Each file is
//! there whole or not at all, and the mark is the last: whoever ends the program, at whatever moment, the same command goes on.

mod begun;
mod error;
pub mod shards;

use std::fs::{self, File, TryLockError};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use begun::Begun;
pub use error::{FolderError, Unlike};

use crate::folder::OutputFolder;

/// The experiment as it was run, so that `dupack run` can repeat it. It is written before the runs,
/// so that it is there whatever becomes of them.
pub const EXPERIMENT: &str = "experiment.toml";

/// The page for people.
pub const PAGE: &str = "report.html";

/// The results in one object, for other programs.
pub const RESULTS: &str = "results.json";

/// What was begun in a folder, as a file in it says.
pub trait Identity: Serialize + DeserializeOwned {
    /// Name of that file.
    const FILE: &'static str;
    /// What such a folder is called: `the folder of a shard`.
    const NAME: &'static str;
    /// How such a folder is begun, for an error's help.
    const BEGIN: &'static str;

    /// Returns `true` if the file is one of those that this program writes.
    fn is_ours(&self) -> bool {
        true
    }
}

/// A folder in which something was begun. It is locked as long as this lives.
#[derive(Debug)]
pub struct Store<I> {
    folder: OutputFolder,
    identity: I,
    _lock: File,
}

impl<I: Identity> Store<I> {
    /// Returns `true` if something of this kind was begun in the folder at `path`.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        path.join(I::FILE).is_file()
    }

    /// Reads what was begun in the folder at `path`, without a lock.
    ///
    /// # Errors
    /// If nothing of this kind was, or the file that says so is damaged.
    pub fn read(path: &Path) -> Result<I, FolderError> {
        if !Self::is_at(path) {
            return Err(FolderError::None {
                folder: path.display().to_string(),
                name: I::NAME,
                file: I::FILE,
                begin: I::BEGIN,
            });
        }
        let file = path.join(I::FILE);
        let identity: I = read_json(&file)?;
        match identity.is_ours() {
            true => Ok(identity),
            false => Err(FolderError::damaged(
                &file,
                &"another command or another version of dupack wrote it",
            )),
        }
    }

    /// Begins what `identity` says in `folder`, which is empty. Of several processes that begin at once, one does.
    ///
    /// # Errors
    /// If the folder cannot be written to, or holds something.
    pub fn begin(folder: OutputFolder, identity: I) -> Result<Self, FolderError> {
        folder.claim(I::FILE, &json(&identity))?;
        Self::lock(folder, identity)
    }

    /// Goes on in the folder at `path`, whose `identity` was [read](Self::read).
    ///
    /// # Errors
    /// If another process works in it.
    pub fn again(path: &Path, identity: I) -> Result<Self, FolderError> {
        Self::lock(OutputFolder::reopen(path), identity)
    }

    /// Two processes in one folder would write over each other. Where files cannot be locked, nothing
    /// keeps them from it.
    fn lock(folder: OutputFolder, identity: I) -> Result<Self, FolderError> {
        let file = folder.path().join(I::FILE);
        let lock = File::open(&file).map_err(|e| FolderError::damaged(&file, &e))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => Err(FolderError::Busy {
                folder: folder.path().display().to_string(),
            }),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self {
                folder,
                identity,
                _lock: lock,
            }),
        }
    }

    /// Replaces the file that says what was begun: it carries the mark of what is finished.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn mark(&self, identity: &I) -> Result<(), FolderError> {
        Ok(self.folder.replace(I::FILE, &json(identity))?)
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder.
    #[must_use]
    pub const fn folder(&self) -> &OutputFolder {
        &self.folder
    }

    /// Returns what was begun.
    #[must_use]
    pub const fn identity(&self) -> &I {
        &self.identity
    }
}

/// Reads the JSON object in `file`.
///
/// # Errors
/// If it cannot be read, or is none.
pub fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, FolderError> {
    let text = fs::read(file).map_err(|e| FolderError::damaged(file, &e))?;
    serde_json::from_slice(&text).map_err(|e| FolderError::damaged(file, &e))
}

/// Returns `value` as the text of a file.
fn json(value: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_string_pretty(value).expect("its keys are strings");
    format!("{text}\n").into_bytes()
}
