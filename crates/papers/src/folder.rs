//! The folder of a campaign. It records which papers are rerun and at which extent, so that the campaign can be
//! resumed.

use std::path::Path;

use dupack_engine::folder::OutputFolder;
use dupack_engine::store::{FolderError, Identity, Store, Unlike};
use serde::{Deserialize, Serialize};

use super::{Extent, Paper, PapersError, find};

/// A folder in which papers are rerun. The folder is locked for the lifetime of this value.
#[derive(Debug)]
pub struct CampaignFolder {
    store: Store<Manifest>,
    papers: Vec<&'static Paper>,
    extent: Extent,
}

/// Contents of the folder's manifest file.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// Command that began the campaign.
    command: String,
    /// Version of dupack that began the campaign.
    version: String,
    extent: String,
    /// `true` if the papers are also rerun under their other readings.
    #[serde(default)]
    readings: bool,
    papers: Vec<String>,
}

const COMMAND: &str = "dupack papers";

impl Identity for Manifest {
    const FILE: &'static str = "papers.json";
    const NAME: &'static str = "a folder that `dupack papers` began";
    const BEGIN: &'static str =
        "name the folder of an interrupted campaign, or begin a new one with --out";

    fn is_ours(&self) -> bool {
        self.command == COMMAND && !self.papers.is_empty() && extent(&self.extent).is_some()
    }
}

/// Returns the extent called `name`.
fn extent(name: &str) -> Option<Extent> {
    let all = [Extent::Full, Extent::Quick];
    all.into_iter().find(|extent| extent.name() == name)
}

impl Extent {
    /// Returns the name of the extent.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }
}

impl CampaignFolder {
    /// Prepares the empty `folder` for a campaign on `papers`.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn begin(
        folder: OutputFolder,
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
        Ok(Self {
            store: Store::begin(folder, manifest)?,
            papers: papers.to_vec(),
            extent,
        })
    }

    /// Opens the folder at `path` to resume its campaign.
    ///
    /// # Errors
    /// If the folder was not made by this command, names an unknown paper, or is locked by another process.
    pub fn open(path: &Path) -> Result<Self, PapersError> {
        let manifest = Store::<Manifest>::read(path)?;
        let papers = manifest.papers.iter().map(|key| find(key));
        Ok(Self {
            papers: papers.collect::<Result<_, _>>()?,
            extent: extent(&manifest.extent).unwrap_or(Extent::Full),
            store: Store::again(path, manifest)?,
        })
    }

    /// Checks that the folder fits the request: it contains the paper `key`, if one is given, and has the given extent,
    /// if one is given.
    ///
    /// # Errors
    /// If the folder does not fit.
    pub fn expect(&self, key: Option<&str>, extent: Option<Extent>) -> Result<(), FolderError> {
        let held: Vec<&str> = self.papers.iter().map(|paper| paper.key).collect();
        let difference = match (key, extent) {
            (Some(key), _) if held != [key] => {
                format!("its papers are {}, not {key}", held.join(", "))
            }
            (_, Some(Extent::Quick)) if self.extent == Extent::Full => {
                "it was begun without --quick".to_owned()
            }
            _ => return Ok(()),
        };
        Err(FolderError::Other {
            folder: self.store.path().display().to_string(),
            what: Unlike::Papers,
            difference,
        })
    }

    /// Returns the folder in which the report is written.
    #[must_use]
    pub const fn folder(&self) -> &OutputFolder {
        self.store.folder()
    }

    /// Returns the papers that are rerun in the folder.
    #[must_use]
    pub fn papers(&self) -> &[&'static Paper] {
        &self.papers
    }

    /// Returns the extent of the campaign.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns `true` if the papers are also rerun under their other readings.
    #[must_use]
    pub const fn readings(&self) -> bool {
        self.store.identity().readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_engine::folder::IfPresent;

    #[test]
    fn only_what_was_begun_is_gone_on_with() {
        let base = std::env::temp_dir().join(format!("dupack-campaign-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        let new = |name: &str| OutputFolder::create(&base.join(name), IfPresent::Refuse).unwrap();
        assert!(matches!(
            CampaignFolder::open(&base.join("none")),
            Err(PapersError::Folder(FolderError::None { .. }))
        ));
        let other = new("other");
        other.write(Manifest::FILE, b"{\"papers\": []}").unwrap();
        assert!(matches!(
            CampaignFolder::open(other.path()),
            Err(PapersError::Folder(FolderError::Damaged { .. }))
        ));
        let folder = new("full");
        let momentary = find("momentary").unwrap();
        let path = folder.path().to_owned();
        let begun = CampaignFolder::begin(folder, &[momentary], Extent::Full, false).unwrap();
        assert!(matches!(
            CampaignFolder::open(&path),
            Err(PapersError::Folder(FolderError::Busy { .. }))
        ));
        drop(begun);
        let again = CampaignFolder::open(&path).unwrap();
        assert_eq!(again.extent(), Extent::Full);
        assert_eq!(again.papers()[0].key, "momentary");
        assert!(again.expect(Some("momentary"), None).is_ok());
        assert!(matches!(
            again.expect(Some("newreno-smooth"), None),
            Err(FolderError::Other { .. })
        ));
        assert!(matches!(
            again.expect(None, Some(Extent::Quick)),
            Err(FolderError::Other { .. })
        ));
        std::fs::remove_dir_all(&base).unwrap();
    }
}
