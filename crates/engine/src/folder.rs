//! Destinations of files: memory, or a folder on disk in which no file is overwritten by accident.

mod draft;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use crate::journal::NAME as JOURNAL;
use crate::shell::quoted;
pub use draft::Draft;

/// Destination of the files of a report.
pub trait Folder {
    /// Writes the file `name`, which may contain folders (`figures/goodput.svg`).
    ///
    /// # Errors
    /// If the file cannot be written.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;
}

impl Folder for OutputFolder {
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        Self::write(self, name, bytes).map(|_| ())
    }
}

/// Folder in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFolder(RefCell<BTreeMap<String, Vec<u8>>>);

impl MemoryFolder {
    /// Returns the files by name.
    #[must_use]
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.0.into_inner()
    }
}

impl Folder for MemoryFolder {
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.borrow_mut().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// Folder of an experiment's files.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    path: PathBuf,
    files: Files,
    /// Command-line flag that named the folder.
    flag: &'static str,
    /// The folder and the parent folders that were created for it, the innermost first.
    made: Vec<PathBuf>,
}

/// Treatment of existing files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// Existing files are kept, and writing to them is an error.
    Keep,
    /// Existing files are replaced.
    Replace,
}

/// Error when writing to the disk.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot {what} {path}: {cause}")]
pub struct StoreError {
    what: &'static str,
    path: String,
    cause: String,
    #[help]
    remedy: String,
}

/// Command-line flag that names most folders.
const OUT: &str = "--out";

/// Suffix of incomplete files and folders.
const PARTIAL: &str = ".partial";

impl StoreError {
    fn new(what: &'static str, path: &Path, cause: impl ToString, flag: &str) -> Self {
        Self {
            what,
            path: path.display().to_string(),
            cause: cause.to_string(),
            remedy: format!("choose another folder with {flag}"),
        }
    }

    /// Returns the error for a folder that `--out` named and that is not empty.
    #[must_use]
    pub fn taken(path: &Path) -> Self {
        Self::taken_for(OUT, path)
    }

    fn taken_for(flag: &str, path: &Path) -> Self {
        let cause = "it is not empty, and results are never overwritten";
        let mut error = Self::new("write to", path, cause, flag);
        if path.join(JOURNAL).is_file() {
            error.remedy = format!(
                "it contains the finished runs of an interrupted command: repeat that command \
                 with --resume {} in place of {flag}, or choose another folder with {flag}",
                quoted(&path.display().to_string())
            );
        }
        error
    }

    /// Returns the error for an I/O error.
    fn system(what: &'static str, path: &Path, error: &io::Error, flag: &str) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let mut this = Self::new(what, path, error, flag);
        if matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
            // The file is incomplete and cannot be used.
            this.remedy = format!(
                "make room on the disk, or choose a folder on another one with {flag}; the files \
                 in this folder are incomplete"
            );
        }
        this
    }
}

/// Treatment of an existing folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfPresent {
    /// Another name is used: `name-2`, `name-3`, …, because the user did not choose the name.
    Number,
    /// The creation fails, because the user chose the name.
    Refuse,
}

impl OutputFolder {
    /// Creates an empty folder at `path`, which `--out` named.
    ///
    /// # Errors
    /// If the folder cannot be created, or if it is not empty and `if_present` is [`IfPresent::Refuse`].
    pub fn create(path: &Path, if_present: IfPresent) -> Result<Self, StoreError> {
        Self::create_for(OUT, path, if_present)
    }

    /// Same as [`create`](Self::create), for a folder that another flag named. Errors mention this flag.
    ///
    /// # Errors
    /// Same as [`create`](Self::create).
    pub fn create_for(
        flag: &'static str,
        path: &Path,
        if_present: IfPresent,
    ) -> Result<Self, StoreError> {
        let chosen = choose(flag, path, if_present)?;
        let is_new = |folder: &&Path| fs::symlink_metadata(folder).is_err();
        let ways = chosen.ancestors().filter(|p| !p.as_os_str().is_empty());
        let made = ways.take_while(is_new).map(Path::to_path_buf).collect();
        fs::create_dir_all(&chosen).map_err(|e| StoreError::new("create", &chosen, e, flag))?;
        Ok(Self {
            path: chosen,
            files: Files::Keep,
            flag,
            made,
        })
    }

    /// Removes the folder and the parent folders that were created for it, if they are empty.
    pub fn abandon(self) {
        for folder in self.made {
            // A folder that is not empty is kept, and so are its parents.
            let _ = fs::remove_dir(folder);
        }
    }

    /// Opens the existing folder at `path`. New files replace existing ones.
    #[must_use]
    pub fn reopen(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            files: Files::Replace,
            flag: OUT,
            made: Vec::new(),
        }
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `bytes` to the file `name`, which may contain folders.
    ///
    /// # Errors
    /// If the file exists and the folder was not reopened, or if the file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let mut file = self.make(name)?;
        file.write_all(bytes)
            .map_err(|error| self.unwritten(name, &error))?;
        Ok(self.path.join(name))
    }

    /// Creates the file `name`, which may contain folders, and returns it for incremental writing.
    ///
    /// # Errors
    /// If the file exists and the folder was not reopened, if the file cannot be created, or if its path contains a
    /// symbolic link.
    pub fn make(&self, name: &str) -> Result<File, StoreError> {
        self.make_way(name)?;
        let path = self.path.join(name);
        if self.files == Files::Replace {
            clear(&path).map_err(|error| self.unwritten(name, &error))?;
        }
        File::create_new(&path).map_err(|error| self.unwritten(name, &error))
    }

    /// Creates the folders of the file `name`. Symbolic links are an error, because they may point to any place.
    fn make_way(&self, name: &str) -> Result<(), StoreError> {
        let names = Path::new(name).parent().into_iter().flat_map(Path::iter);
        let mut way = self.path.clone();
        for name in names {
            way.push(name);
            let link = fs::symlink_metadata(&way).is_ok_and(|found| found.is_symlink());
            let made = match link {
                true => Err(io::Error::other(
                    "it is a symbolic link, and links are not followed",
                )),
                false => fs::create_dir_all(&way),
            };
            made.map_err(|e| StoreError::system("create", &way, &e, self.flag))?;
        }
        Ok(())
    }

    /// Flushes all files and directory entries to the disk, so that they survive a crash of the machine.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn sync(&self) -> Result<(), StoreError> {
        draft::sync(&self.path).map_err(|e| StoreError::system("write", &self.path, &e, self.flag))
    }

    /// Writes `bytes` to the file `name` atomically: readers see either the old or the new contents.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut file = self.begin(name)?;
        file.put(bytes)?;
        file.complete()
    }

    /// Writes `bytes` to the file `name` atomically, if the file does not exist. If several processes call this at the
    /// same time, only one succeeds.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn claim(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path.join(name);
        let own = self
            .path
            .join(format!("{name}.{}{PARTIAL}", std::process::id()));
        let claimed = || {
            clear(&own)?;
            let mut file = File::create_new(&own)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            let made = match fs::hard_link(&own, &path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    // The file system does not support hard links.
                    File::create_new(&path).and_then(|mut file| file.write_all(bytes))
                }
                made => made,
            };
            clear(&own)?;
            made?;
            draft::sync_names(&self.path)
        };
        claimed().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::taken_for(self.flag, &self.path),
            _ => self.unwritten(name, &error),
        })
    }

    /// Starts a replacement of the file `name`, which may contain folders.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn begin(&self, name: &str) -> Result<Replacement<'_>, StoreError> {
        self.make_way(name)?;
        let partial = self.path.join(format!("{name}{PARTIAL}"));
        let file = clear(&partial).and_then(|()| File::create_new(&partial));
        let file = file.map_err(|error| self.unwritten(name, &error))?;
        Ok(Replacement {
            folder: self,
            name: name.to_owned(),
            partial,
            file: BufWriter::new(file),
        })
    }

    /// Returns the error for a failed write to the file `name`.
    #[must_use]
    pub fn unwritten(&self, name: &str, error: &io::Error) -> StoreError {
        StoreError::system("write", &self.path.join(name), error, self.flag)
    }
}

/// Incomplete replacement of a file. Readers see the old contents until the replacement is complete.
#[derive(Debug)]
pub struct Replacement<'f> {
    folder: &'f OutputFolder,
    name: String,
    partial: PathBuf,
    file: BufWriter<File>,
}

impl Replacement<'_> {
    /// Appends `bytes`.
    ///
    /// # Errors
    /// If the bytes cannot be written.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| self.folder.unwritten(&self.name, &error))
    }

    /// Returns the writer of the file, for code that requires a writer.
    pub const fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.file
    }

    /// Returns the error for a failed write.
    #[must_use]
    pub fn unwritten(&self, error: &io::Error) -> StoreError {
        self.folder.unwritten(&self.name, error)
    }

    /// Completes the file and renames it to its final name.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn complete(self) -> Result<(), StoreError> {
        let Self {
            folder,
            name,
            partial,
            file,
        } = self;
        let complete = || {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            // Without this, a crash of the machine may preserve the name but lose the contents.
            file.sync_all()?;
            let path = folder.path.join(&name);
            // An existing link is replaced, not followed.
            fs::rename(&partial, &path)?;
            path.parent().map_or(Ok(()), draft::sync_names)
        };
        complete().map_err(|error| folder.unwritten(&name, &error))
    }
}

/// Removes the file or link at `path`, if there is one. The target of a link is kept.
fn clear(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns `true` if `path` contains something that must be kept.
fn is_taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok() && !is_blank(path)
}

/// Returns `true` if `path` is a folder without content that must be kept. Incomplete files and journals without runs
/// need not be kept.
#[must_use]
pub fn is_blank(path: &Path) -> bool {
    let is_of_no_use = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let is_journal = name == JOURNAL && is_without_runs(&entry.path());
            is_journal || name.to_string_lossy().ends_with(PARTIAL)
        })
    };
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_of_no_use))
}

/// Returns `true` if the journal at `path` contains at most the line that names its engine.
fn is_without_runs(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let length = fs::metadata(path).map_or(u64::MAX, |found| found.len());
    is_file
        && length <= ENGINE_LINE
        && fs::read(path).is_ok_and(|text| {
            let lines = text.split(|&byte| byte == b'\n');
            lines.filter(|line| !line.is_empty()).count() <= 1
                && !text
                    .windows(FINGERPRINT.len())
                    .any(|part| part == FINGERPRINT)
        })
}

/// Maximum length of the line that names the engine.
const ENGINE_LINE: u64 = 1024;

/// Text that occurs in every line with a run.
const FINGERPRINT: &[u8] = b"\"fingerprint\"";

/// Returns the path of a new folder: `path`, which `flag` named, or a numbered variant.
fn choose(flag: &'static str, path: &Path, if_present: IfPresent) -> Result<PathBuf, StoreError> {
    let mut chosen = path.to_path_buf();
    let mut number = 2_u32;
    while is_taken(&chosen) {
        if if_present == IfPresent::Refuse {
            return Err(StoreError::taken_for(flag, path));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        chosen = path.with_file_name(format!("{name}-{number}"));
        number += 1;
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_empty_is_never_reused() {
        let base = std::env::temp_dir().join(format!("dupack-store-{}", std::process::id()));
        let path = base.join("out");
        let first = OutputFolder::create(&path, IfPresent::Number).unwrap();
        first.write("figures/a.svg", b"x").unwrap();
        assert!(first.write("figures/a.svg", b"y").is_err());
        let again = OutputFolder::reopen(first.path());
        let replaced = again.write("figures/a.svg", b"z").unwrap();
        assert_eq!(fs::read(replaced).unwrap(), b"z");
        let second = OutputFolder::create(&path, IfPresent::Number).unwrap();
        assert!(second.path().ends_with("out-2"));
        assert!(OutputFolder::create(&path, IfPresent::Refuse).is_err());
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn incomplete_files_do_not_block_a_folder() {
        let base = std::env::temp_dir().join(format!("dupack-whole-{}", std::process::id()));
        let path = base.join("out");
        let folder = OutputFolder::create(&path, IfPresent::Refuse).unwrap();
        // A crash can leave an incomplete file.
        fs::write(path.join("a.partial"), b"x").unwrap();
        let again = OutputFolder::create(&path, IfPresent::Refuse).unwrap();
        assert_eq!(again.path(), folder.path());
        for text in [b"one", b"two"] {
            folder.replace("a", text).unwrap();
            assert_eq!(fs::read(path.join("a")).unwrap(), text);
        }
        assert!(!path.join("a.partial").exists());
        assert!(OutputFolder::create(&path, IfPresent::Refuse).is_err());
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn an_error_mentions_the_flag_that_named_the_folder() {
        let base = std::env::temp_dir().join(format!("dupack-flag-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let file = base.join("file");
        fs::write(&file, b"x").unwrap();
        let remedy = |error: StoreError| error.help().map(|help| help.to_string());
        let other = OutputFolder::create_for("--trace", &file, IfPresent::Refuse).unwrap_err();
        let wanted = "choose another folder with --trace";
        assert_eq!(remedy(other).as_deref(), Some(wanted));
        let folder =
            OutputFolder::create_for("--trace", &base.join("new"), IfPresent::Refuse).unwrap();
        folder.write("a", b"x").unwrap();
        assert_eq!(
            remedy(folder.write("a", b"x").unwrap_err()).as_deref(),
            Some(wanted)
        );
        let usual = OutputFolder::create(&file, IfPresent::Refuse).unwrap_err();
        assert_eq!(
            remedy(usual).as_deref(),
            Some("choose another folder with --out")
        );
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn a_folder_with_finished_runs_suggests_resuming() {
        let base = std::env::temp_dir().join(format!("dupack-journal-{}", std::process::id()));
        let path = base.join("a b");
        let folder = OutputFolder::create(&path, IfPresent::Refuse).unwrap();
        folder.write("experiment.toml", b"x").unwrap();
        let help = || {
            let error = OutputFolder::create(&path, IfPresent::Refuse).unwrap_err();
            error.help().map(|help| help.to_string()).unwrap()
        };
        assert_eq!(help(), "choose another folder with --out");
        folder.write(JOURNAL, b"x").unwrap();
        let wanted = format!("--resume '{}' in place of --out", path.display());
        assert!(help().contains(&wanted), "{}", help());
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn abandoning_a_folder_keeps_what_existed_before() {
        let base = std::env::temp_dir().join(format!("dupack-abandoned-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let new = |name: &str| OutputFolder::create(&base.join(name), IfPresent::Number).unwrap();
        new("a/b/c").abandon();
        assert!(base.is_dir() && !base.join("a").exists());
        let kept = new("a/b");
        new("a/b/c").abandon();
        assert!(kept.path().is_dir() && !base.join("a/b/c").exists());
        kept.write("file", b"x").unwrap();
        kept.abandon();
        assert!(base.join("a/b/file").is_file());
        // An empty folder that existed before must not be removed.
        fs::create_dir(base.join("theirs")).unwrap();
        new("theirs").abandon();
        assert!(base.join("theirs").is_dir());
        fs::remove_dir_all(&base).unwrap();
    }
}
