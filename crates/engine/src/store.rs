//! Folders in which runs are performed.
//!
//! All of these folders have the same structure: a file that identifies the content, a lock, finished runs, and a mark
//! of completion. The folder of an experiment keeps all runs in a journal until its results are written. The folder of
//! a [shard](shards) keeps the runs of the shard permanently. A streamed experiment stores runs block by block. Papers
//! and report cards have journals in subfolders. Each file is written atomically, and the mark is written last, so the
//! same command can resume the work after an interruption at any time.

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

/// Name of the file with the experiment as it was run, so that `dupack run` can repeat it. The file is written before
/// the runs, so it always exists.
pub const EXPERIMENT: &str = "experiment.toml";

/// Name of the file with the report page.
pub const PAGE: &str = "report.html";

/// Name of the file with the results as one JSON object, for other programs.
pub const RESULTS: &str = "results.json";

/// Identity of a folder's content. It is stored in a file of the folder.
pub trait Identity: Serialize + DeserializeOwned {
    /// Name of the file.
    const FILE: &'static str;
    /// Name of this kind of folder in messages, such as `the folder of a shard`.
    const NAME: &'static str;
    /// Help text that explains how to create such a folder.
    const BEGIN: &'static str;

    /// Returns `true` if this program wrote the file.
    fn is_ours(&self) -> bool {
        true
    }
}

/// Folder with an identity. The folder stays locked until this value is dropped.
#[derive(Debug)]
pub struct Store<I> {
    folder: OutputFolder,
    identity: I,
    _lock: File,
}

impl<I: Identity> Store<I> {
    /// Returns `true` if there is a folder of this kind at `path`.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        path.join(I::FILE).is_file()
    }

    /// Reads the identity of the folder at `path`, without a lock.
    ///
    /// # Errors
    /// If there is no folder of this kind, or if the file with the identity is damaged.
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

    /// Writes `identity` to the empty `folder` and locks the folder. If several processes call this at the same time,
    /// only one succeeds.
    ///
    /// # Errors
    /// If the folder is not writable or not empty.
    pub fn begin(folder: OutputFolder, identity: I) -> Result<Self, FolderError> {
        folder.claim(I::FILE, &json(&identity))?;
        Self::lock(folder, identity)
    }

    /// Resumes work in the folder at `path`, whose `identity` was [read](Self::read).
    ///
    /// # Errors
    /// If another process has locked the folder.
    pub fn again(path: &Path, identity: I) -> Result<Self, FolderError> {
        Self::lock(OutputFolder::reopen(path), identity)
    }

    /// Locks the folder, because two processes would overwrite each other's files. On file systems without locks,
    /// simultaneous use is not prevented.
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

    /// Replaces the file with the identity, which contains the mark of completion.
    ///
    /// # Errors
    /// If the file cannot be written.
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

    /// Returns the identity.
    #[must_use]
    pub const fn identity(&self) -> &I {
        &self.identity
    }
}

/// Reads the JSON object in `file`.
///
/// # Errors
/// If the file cannot be read, or is not such an object.
pub fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, FolderError> {
    let text = fs::read(file).map_err(|e| FolderError::damaged(file, &e))?;
    serde_json::from_slice(&text).map_err(|e| FolderError::damaged(file, &e))
}

/// Serialises `value` to the text of a file.
fn json(value: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_string_pretty(value).expect("the keys are strings");
    format!("{text}\n").into_bytes()
}
