//! The folder of a report card: what was begun there, so that it can be gone on with.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use dupack_engine::folder::OutputFolder;
use serde::{Deserialize, Serialize};

use crate::error::EvaluationError;
use crate::suite::{Extent, Scale};

const MANIFEST: &str = "evaluation.json";
const COMMAND: &str = "dupack evaluate";

/// A folder in which stacks are being evaluated. It is locked as long as this lives.
#[derive(Debug)]
pub struct EvaluationFolder {
    path: PathBuf,
    begun: Manifest,
    scale: Scale,
    _lock: File,
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// What was begun here.
    command: String,
    /// By which version.
    version: String,
    extent: String,
    seed_set: u32,
    stacks: Vec<String>,
    /// The criteria that were asked about; all, if none is named.
    criteria: Vec<String>,
    /// Whether real packets are asked, too.
    #[serde(default)]
    wire: bool,
    /// The folder of the suite; none if it is the one of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suite: Option<PathBuf>,
}

impl EvaluationFolder {
    /// Makes `folder`, which is empty, one for `stacks` and the criteria called `keys`.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn begin(
        folder: &OutputFolder,
        stacks: &[String],
        keys: &[String],
        scale: impl Into<Scale>,
    ) -> Result<Self, EvaluationError> {
        Self::begin_on(folder, (stacks, keys), scale, (false, None))
    }

    /// As [`begin`](Self::begin), and says whether real packets are asked, too, and in which folder the suite is,
    /// if it is not the one of the program.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn begin_on(
        folder: &OutputFolder,
        (stacks, keys): (&[String], &[String]),
        scale: impl Into<Scale>,
        (wire, suite): (bool, Option<&Path>),
    ) -> Result<Self, EvaluationError> {
        let scale = scale.into();
        let begun = Manifest {
            command: COMMAND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            extent: scale.extent.name().to_owned(),
            seed_set: scale.seed_set,
            stacks: stacks.to_vec(),
            criteria: keys.to_vec(),
            wire,
            // So that it is found from anywhere.
            suite: suite.map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())),
        };
        let mut text = serde_json::to_string_pretty(&begun).unwrap_or_default();
        text.push('\n');
        folder.claim(MANIFEST, text.as_bytes())?;
        Ok(Self {
            path: folder.path().to_owned(),
            begun,
            scale,
            _lock: lock(folder.path())?,
        })
    }

    /// The folder at `path`, to go on with.
    ///
    /// # Errors
    /// If it is not one of ours, or another process works in it.
    pub fn open(path: &Path) -> Result<Self, EvaluationError> {
        let text = fs::read_to_string(path.join(MANIFEST)).map_err(|_| not_ours(path))?;
        let begun: Manifest = serde_json::from_str(&text).map_err(|_| not_ours(path))?;
        let extent = Extent::of_name(&begun.extent)
            .filter(|_| begun.command == COMMAND && !begun.stacks.is_empty())
            .ok_or_else(|| not_ours(path))?;
        Ok(Self {
            scale: Scale {
                extent,
                seed_set: begun.seed_set,
            },
            begun,
            _lock: lock(path)?,
            path: path.to_owned(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stacks that are evaluated in it.
    #[must_use]
    pub fn stacks(&self) -> &[String] {
        &self.begun.stacks
    }

    /// The criteria that are asked about; all, if none is named.
    #[must_use]
    pub fn criteria(&self) -> &[String] {
        &self.begun.criteria
    }

    /// Whether real packets are asked, too.
    #[must_use]
    pub const fn is_on_wire(&self) -> bool {
        self.begun.wire
    }

    /// The folder of the suite; none if it is the one of the program.
    #[must_use]
    pub fn suite(&self) -> Option<&Path> {
        self.begun.suite.as_deref()
    }

    /// How much is run, and with which seeds.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        self.scale
    }
}

fn not_ours(path: &Path) -> EvaluationError {
    let path = path.display();
    EvaluationError::Folder {
        message: format!("{path} is not a folder that `{COMMAND}` has begun"),
        help: format!("name the folder that holds {MANIFEST}, or begin a new one with --out"),
    }
}

/// Two processes in one folder would write over each other. Where files cannot be locked, nothing
/// keeps them from it.
fn lock(path: &Path) -> Result<File, EvaluationError> {
    let file = File::open(path.join(MANIFEST)).map_err(|_| not_ours(path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(EvaluationError::Folder {
            message: format!("another dupack is at work in {}", path.display()),
            help: "wait for it, or begin a new folder with --out".to_owned(),
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
        let base = std::env::temp_dir().join(format!("dupack-evaluation-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        let message = |path: &Path| EvaluationFolder::open(path).unwrap_err().to_string();
        assert!(message(&base).contains("is not a folder"));
        let folder = OutputFolder::create(&base, IfPresent::Refuse).unwrap();
        let stacks = ["sack/reno".to_owned()];
        let keys = ["bufferbloat".to_owned()];
        let begun = EvaluationFolder::begin(&folder, &stacks, &keys, Extent::Quick).unwrap();
        assert!(message(&base).contains("another dupack"));
        drop(begun);
        let again = EvaluationFolder::open(&base).unwrap();
        assert_eq!((again.stacks(), again.criteria()), (&stacks[..], &keys[..]));
        assert_eq!(again.scale().extent, Extent::Quick);
        assert_eq!(again.suite(), None);
        drop(again);
        fs::remove_file(base.join(MANIFEST)).unwrap();
        let own = (false, Some(Path::new("own")));
        let keys = (&stacks[..], &keys[..]);
        drop(EvaluationFolder::begin_on(&folder, keys, Extent::Full, own).unwrap());
        let again = EvaluationFolder::open(&base).unwrap();
        assert_eq!(again.suite(), Some(&*std::path::absolute("own").unwrap()));
        fs::remove_dir_all(&base).unwrap();
    }
}
