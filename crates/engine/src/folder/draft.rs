//! Folders that are created atomically with all of their files.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Folder, IfPresent, OUT, OutputFolder, PARTIAL, StoreError, choose, is_taken};

/// Incomplete folder. Its files are written to a temporary folder in the same parent folder, which is renamed at the
/// end. An incomplete folder is removed when it is dropped.
#[derive(Debug)]
pub struct Draft {
    folder: OutputFolder,
    target: PathBuf,
    /// Parent folders that were created.
    parents: Vec<PathBuf>,
}

impl Draft {
    /// Starts the folder at `path`, which `--out` named.
    ///
    /// # Errors
    /// If the folder is not empty and `if_present` is [`IfPresent::Refuse`], or if the temporary folder cannot be
    /// created.
    pub fn beside(path: &Path, if_present: IfPresent) -> Result<Self, StoreError> {
        let chosen = choose(OUT, path, if_present)?;
        // The path of an existing empty folder may be a link.
        let target = chosen.canonicalize().unwrap_or(chosen);
        let parent = target.parent().filter(|p| !p.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).to_path_buf();
        let ways = parent.ancestors().filter(|p| !p.as_os_str().is_empty());
        let is_new = |folder: &&Path| fs::symlink_metadata(folder).is_err();
        let parents = ways.take_while(is_new).map(Path::to_path_buf).collect();
        fs::create_dir_all(&parent).map_err(|e| StoreError::system("create", &parent, &e, OUT))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let mut number = std::process::id();
        let path = loop {
            let path = parent.join(format!(".{name}-{number}{PARTIAL}"));
            match fs::create_dir(&path) {
                Ok(()) => break path,
                // The temporary folder belongs to a process that was killed, or to a process with the same number on
                // another machine.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => number = number.wrapping_add(1),
                Err(e) => return Err(StoreError::system("create", &path, &e, OUT)),
            }
        };
        let folder = OutputFolder::reopen(&path);
        Ok(Self {
            folder,
            target,
            parents,
        })
    }

    /// Completes the folder and renames it to its final name.
    ///
    /// # Errors
    /// If the target is no longer empty, or the system reports an error.
    pub fn complete(mut self) -> Result<OutputFolder, StoreError> {
        if is_taken(&self.target) {
            return Err(StoreError::taken(&self.target));
        }
        let fail = |e| StoreError::system("create", &self.target, &e, OUT);
        // Without this, a crash of the machine may preserve the name but lose the contents.
        sync(self.folder.path()).map_err(fail)?;
        match fs::remove_dir(&self.target) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(fail(e)),
            _ => {}
        }
        fs::rename(self.folder.path(), &self.target).map_err(fail)?;
        let names = self.target.parent().map_or(Ok(()), sync_names);
        names.map_err(fail)?;
        self.parents.clear();
        Ok(OutputFolder::reopen(&self.target))
    }
}

/// Flushes all files in `folder` and its subfolders to the disk. Links are ignored.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync(&entry.path())?;
        } else if kind.is_file() {
            // The file is opened for writing, because some systems can only sync such files.
            let file = File::options().append(true).open(entry.path())?;
            file.sync_all()?;
        }
    }
    sync_names(folder)
}

/// Flushes the directory entries of `folder` to the disk, if the system supports this.
pub(super) fn sync_names(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    File::open(folder)?.sync_all()
}

impl Folder for Draft {
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        Folder::write(&self.folder, name, bytes).map_err(|mut error| {
            if error.remedy.starts_with("make room") {
                error.remedy = format!(
                    "make room on the disk, or choose another folder with {OUT}: {} is only \
                     created once it is complete",
                    self.target.display()
                );
            }
            error
        })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // A completed folder has been renamed, so this call has no effect.
        let _ = fs::remove_dir_all(self.folder.path());
        for parent in &self.parents {
            let _ = fs::remove_dir(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(name: &str) -> PathBuf {
        let base = std::env::temp_dir().join(format!("dupack-draft-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        base
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_exists_with_all_of_its_files_or_not_at_all() {
        let base = base("whole");
        let path = base.join("a/out");
        let draft = Draft::beside(&path, IfPresent::Refuse).unwrap();
        draft.write("figures/x.svg", b"x").unwrap();
        assert!(!path.exists());
        drop(draft);
        assert!(!base.exists(), "the parent folders are removed");
        let draft = Draft::beside(&path, IfPresent::Refuse).unwrap();
        draft.write("figures/x.svg", b"x").unwrap();
        let folder = draft.complete().unwrap();
        assert_eq!(fs::read(folder.path().join("figures/x.svg")).unwrap(), b"x");
        assert_eq!(names(&base.join("a")), ["out"]);
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn existing_files_stay() {
        let base = base("taken");
        let path = base.join("out");
        fs::create_dir_all(&path).unwrap();
        // An existing empty folder is accepted. Another process may fill it later.
        let draft = Draft::beside(&path, IfPresent::Refuse).unwrap();
        draft.write("x", b"x").unwrap();
        let late = Draft::beside(&path, IfPresent::Refuse).unwrap();
        draft.complete().unwrap();
        late.write("x", b"y").unwrap();
        let error = late.complete().unwrap_err().to_string();
        assert!(error.contains("is not empty"), "{error}");
        assert_eq!(fs::read(path.join("x")).unwrap(), b"x");
        assert!(Draft::beside(&path, IfPresent::Refuse).is_err());
        let second = Draft::beside(&path, IfPresent::Number).unwrap();
        assert!(second.complete().unwrap().path().ends_with("out-2"));
        assert_eq!(names(&base), ["out", "out-2"]);
        fs::remove_dir_all(&base).unwrap();
    }
}
