//! The folder of a report card. The folder records the stacks and criteria of an evaluation, so that the evaluation can
//! be resumed.

use std::path::{Path, PathBuf};

use dupack_engine::folder::OutputFolder;
use dupack_engine::store::{FolderError, Identity, Store};
use serde::{Deserialize, Serialize};

use crate::suite::{Extent, Scale};

const COMMAND: &str = "dupack evaluate";

/// A folder in which stacks are evaluated. The folder is locked for the lifetime of this value.
#[derive(Debug)]
pub struct EvaluationFolder {
    store: Store<Manifest>,
    scale: Scale,
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// Command that began the evaluation.
    command: String,
    /// Version of dupack that began the evaluation.
    version: String,
    extent: String,
    seed_set: u32,
    stacks: Vec<String>,
    /// Selected criteria. Empty for all criteria.
    criteria: Vec<String>,
    /// `true` if real packets are included.
    #[serde(default)]
    wire: bool,
    /// Folder of the suite. `None` for the built-in suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suite: Option<PathBuf>,
}

impl Identity for Manifest {
    const FILE: &'static str = "evaluation.json";
    const NAME: &'static str = "a folder that `dupack evaluate` began";
    const BEGIN: &'static str =
        "name the folder of an interrupted evaluation, or begin a new one with --out";

    fn is_ours(&self) -> bool {
        self.command == COMMAND && !self.stacks.is_empty() && extent(&self.extent).is_some()
    }
}

/// Returns the extent called `name`.
fn extent(name: &str) -> Option<Extent> {
    let all = [Extent::Full, Extent::Quick];
    all.into_iter().find(|extent| extent.name() == name)
}

impl EvaluationFolder {
    /// Prepares the empty `folder` for `stacks` and the criteria called `keys`.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn begin(
        folder: OutputFolder,
        stacks: &[String],
        keys: &[String],
        scale: impl Into<Scale>,
    ) -> Result<Self, FolderError> {
        Self::begin_on(folder, (stacks, keys), scale, (false, None))
    }

    /// Works like [`begin`](Self::begin), but also records whether real packets are included, and the folder of the
    /// suite, unless the suite is the built-in one.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn begin_on(
        folder: OutputFolder,
        (stacks, keys): (&[String], &[String]),
        scale: impl Into<Scale>,
        (wire, suite): (bool, Option<&Path>),
    ) -> Result<Self, FolderError> {
        let scale = scale.into();
        let begun = Manifest {
            command: COMMAND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            extent: scale.extent.name().to_owned(),
            seed_set: scale.seed_set,
            stacks: stacks.to_vec(),
            criteria: keys.to_vec(),
            wire,
            // An absolute path is valid from any working directory.
            suite: suite.map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())),
        };
        Ok(Self {
            store: Store::begin(folder, begun)?,
            scale,
        })
    }

    /// Opens the folder at `path` to resume its evaluation.
    ///
    /// # Errors
    /// If the folder was not made by this command, or is locked by another process.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let begun = Store::<Manifest>::read(path)?;
        Ok(Self {
            scale: Scale {
                extent: extent(&begun.extent).unwrap_or(Extent::Full),
                seed_set: begun.seed_set,
            },
            store: Store::again(path, begun)?,
        })
    }

    /// Returns the folder in which the cards are written.
    #[must_use]
    pub const fn folder(&self) -> &OutputFolder {
        self.store.folder()
    }

    /// Returns the stacks under evaluation.
    #[must_use]
    pub fn stacks(&self) -> &[String] {
        &self.store.identity().stacks
    }

    /// Returns the selected criteria. The list is empty if all criteria are selected.
    #[must_use]
    pub fn criteria(&self) -> &[String] {
        &self.store.identity().criteria
    }

    /// Returns `true` if real packets are included.
    #[must_use]
    pub const fn is_on_wire(&self) -> bool {
        self.store.identity().wire
    }

    /// Returns the folder of the suite, or `None` for the built-in suite.
    #[must_use]
    pub fn suite(&self) -> Option<&Path> {
        self.store.identity().suite.as_deref()
    }

    /// Returns the extent and the set of seeds.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_engine::folder::IfPresent;

    #[test]
    fn only_what_was_begun_is_gone_on_with() {
        let base = std::env::temp_dir().join(format!("dupack-evaluation-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        let message = |path: &Path| EvaluationFolder::open(path).unwrap_err().to_string();
        assert!(message(&base).contains("is not a folder"));
        let folder = OutputFolder::create(&base, IfPresent::Refuse).unwrap();
        let stacks = ["sack/reno".to_owned()];
        let keys = ["bufferbloat".to_owned()];
        let begun = EvaluationFolder::begin(folder, &stacks, &keys, Extent::Quick).unwrap();
        assert!(message(&base).contains("another dupack"));
        drop(begun);
        let again = EvaluationFolder::open(&base).unwrap();
        assert_eq!((again.stacks(), again.criteria()), (&stacks[..], &keys[..]));
        assert_eq!(again.scale().extent, Extent::Quick);
        assert_eq!(again.suite(), None);
        drop(again);
        std::fs::remove_file(base.join(Manifest::FILE)).unwrap();
        let folder = OutputFolder::reopen(&base);
        let own = (false, Some(Path::new("own")));
        let keys = (&stacks[..], &keys[..]);
        drop(EvaluationFolder::begin_on(folder, keys, Extent::Full, own).unwrap());
        let again = EvaluationFolder::open(&base).unwrap();
        assert_eq!(again.suite(), Some(&*std::path::absolute("own").unwrap()));
        std::fs::remove_dir_all(&base).unwrap();
    }
}
