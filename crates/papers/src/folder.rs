//! The folder of a campaign: which papers were begun there and at what extent, so that it can be
//! gone on with.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Extent, Paper, UnknownPaper, find};
use dupack_engine::folder::{OutputFolder, StoreError};

const MANIFEST: &str = "papers.json";

/// A folder in which papers are being rerun. It is locked as long as this lives.
#[derive(Debug)]
pub struct CampaignFolder {
    path: PathBuf,
    papers: Vec<&'static Paper>,
    extent: Extent,
    readings: bool,
    _lock: File,
}

/// A folder that cannot be gone on with.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum FolderError {
    /// It was not made by `dupack papers`.
    #[error("{path} is not a folder that `dupack papers` has begun")]
    #[diagnostic(help(
        "name the folder that holds {MANIFEST}, or begin a new one: dupack papers --out {path}"
    ))]
    NotOurs {
        /// The folder.
        path: String,
    },
    /// It was begun for other papers.
    #[error("{path} was begun for {held}, not for {wanted}")]
    #[diagnostic(help("leave the paper out to go on with it, or begin a new folder with --out"))]
    OtherPapers {
        /// The folder.
        path: String,
        /// The papers in it.
        held: String,
        /// The paper asked for.
        wanted: String,
    },
    /// It was begun at another extent.
    #[error("{path} was begun as a full run, not as a quick look")]
    #[diagnostic(help("leave out --quick to go on with it, or begin a new folder with --out"))]
    OtherExtent {
        /// The folder.
        path: String,
    },
    /// Another process works in it.
    #[error("another dupack is at work in {path}")]
    #[diagnostic(help("wait for it, or begin a new folder with --out"))]
    Busy {
        /// The folder.
        path: String,
    },
    /// It names a paper that is not here.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unknown(#[from] UnknownPaper),
    /// It cannot be read or written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// What was begun here.
    command: String,
    /// By which version.
    version: String,
    extent: String,
    /// Whether the readings of the papers are rerun as well.
    #[serde(default)]
    readings: bool,
    papers: Vec<String>,
}

const COMMAND: &str = "dupack papers";

impl Extent {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }
}

impl CampaignFolder {
    /// Makes `folder`, which is empty, one for `papers`.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn begin(
        folder: &OutputFolder,
        papers: &[&'static Paper],
        extent: Extent,
        readings: bool,
    ) -> Result<Self, FolderError> {
        let manifest = Manifest {
            command: COMMAND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            extent: extent.name().to_owned(),
            readings,
            papers: papers.iter().map(|paper| paper.key.to_owned()).collect(),
        };
        let mut text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
        text.push('\n');
        folder.claim(MANIFEST, text.as_bytes())?;
        Ok(Self {
            path: folder.path().to_owned(),
            papers: papers.to_vec(),
            extent,
            readings,
            _lock: lock(folder.path())?,
        })
    }

    /// The folder at `path`, to go on with.
    ///
    /// # Errors
    /// If it is not one of ours, or another process works in it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let not_ours = || FolderError::NotOurs {
            path: path.display().to_string(),
        };
        let text = fs::read_to_string(path.join(MANIFEST)).map_err(|_| not_ours())?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|_| not_ours())?;
        let extent = [Extent::Full, Extent::Quick]
            .into_iter()
            .find(|extent| extent.name() == manifest.extent)
            .filter(|_| manifest.command == COMMAND && !manifest.papers.is_empty())
            .ok_or_else(not_ours)?;
        let papers = manifest.papers.iter().map(|key| find(key));
        Ok(Self {
            papers: papers.collect::<Result<_, _>>()?,
            extent,
            readings: manifest.readings,
            _lock: lock(path)?,
            path: path.to_owned(),
        })
    }

    /// Checks that it is what was asked for: the paper `key`, if one was named, and a quick look,
    /// if one was asked for.
    ///
    /// # Errors
    /// If it is not.
    pub fn expect(&self, key: Option<&str>, extent: Option<Extent>) -> Result<(), FolderError> {
        let path = self.path.display().to_string();
        let held: Vec<&str> = self.papers.iter().map(|paper| paper.key).collect();
        match (key, extent) {
            (Some(key), _) if held != [key] => Err(FolderError::OtherPapers {
                path,
                held: held.join(", "),
                wanted: key.to_owned(),
            }),
            (_, Some(Extent::Quick)) if self.extent == Extent::Full => {
                Err(FolderError::OtherExtent { path })
            }
            _ => Ok(()),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The papers that are rerun in it.
    #[must_use]
    pub fn papers(&self) -> &[&'static Paper] {
        &self.papers
    }

    /// How much of them.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        self.extent
    }

    /// Whether their readings are rerun as well.
    #[must_use]
    pub const fn readings(&self) -> bool {
        self.readings
    }
}

/// Two processes in one folder would write over each other. Where files cannot be locked, nothing
/// keeps them from it.
fn lock(path: &Path) -> Result<File, FolderError> {
    let not_ours = |_| FolderError::NotOurs {
        path: path.display().to_string(),
    };
    let file = File::open(path.join(MANIFEST)).map_err(not_ours)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(FolderError::Busy {
            path: path.display().to_string(),
        }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_engine::folder::IfPresent;

    #[test]
    fn only_what_was_begun_is_gone_on_with() {
        let base = std::env::temp_dir().join(format!("dupack-campaign-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        let new = |name: &str| OutputFolder::create(&base.join(name), IfPresent::Refuse).unwrap();
        assert!(matches!(
            CampaignFolder::open(&base.join("none")),
            Err(FolderError::NotOurs { .. })
        ));
        let other = new("other");
        other.write(MANIFEST, b"{\"papers\": []}").unwrap();
        assert!(matches!(
            CampaignFolder::open(other.path()),
            Err(FolderError::NotOurs { .. })
        ));
        let folder = new("full");
        let momentary = find("momentary").unwrap();
        let begun = CampaignFolder::begin(&folder, &[momentary], Extent::Full, false).unwrap();
        assert!(matches!(
            CampaignFolder::open(folder.path()),
            Err(FolderError::Busy { .. })
        ));
        drop(begun);
        let again = CampaignFolder::open(folder.path()).unwrap();
        assert_eq!(again.extent(), Extent::Full);
        assert_eq!(again.papers()[0].key, "momentary");
        assert!(again.expect(Some("momentary"), None).is_ok());
        assert!(matches!(
            again.expect(Some("newreno-smooth"), None),
            Err(FolderError::OtherPapers { .. })
        ));
        assert!(matches!(
            again.expect(None, Some(Extent::Quick)),
            Err(FolderError::OtherExtent { .. })
        ));
        fs::remove_dir_all(&base).unwrap();
    }
}
