//! The file of a journal: opened without following links, locked, and no larger than memory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::{JournalError, system};
use dupack_lab::run::room;
use dupack_lab::run::size::bytes_in_words;

/// Bytes of memory for each of the file: the lines are kept in parts.
const PER_BYTE: u64 = 4;

/// Opens the file at `path` or makes it, and locks it. `None` if somebody else has it; where files cannot be locked,
/// nothing keeps two from it.
pub(super) fn open(path: &Path) -> io::Result<Option<File>> {
    refuse_link(path)?;
    let file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Ok(None);
    }
    // Nothing was written yet. Somebody may have put a link there, or finished and taken the file away.
    refuse_link(path)?;
    Ok(is_at(&file, path).then_some(file))
}

/// An error if a symbolic link is at `path`: what it leads to is not ours.
fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(io::Error::other(
            "it is a symbolic link, which is not followed",
        )),
        _ => Ok(()),
    }
}

/// Whether `file` is what is at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(own), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.is_file()
}

/// All of `file`, which is at `path`, if there is memory for it.
pub(super) fn read(mut file: &File, path: &Path) -> Result<Vec<u8>, JournalError> {
    let fail = |e: io::Error| system("read", path, &e);
    let size = file.metadata().map_err(fail)?.len();
    let there = room();
    if size.saturating_mul(PER_BYTE) > there {
        return Err(JournalError::TooLarge {
            path: path.display().to_string(),
            size: bytes_in_words(size),
            there: bytes_in_words(there),
        });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

/// As [`read`], for one that nobody locks; empty where there is none.
pub(super) fn read_at(path: &Path) -> Result<Vec<u8>, JournalError> {
    match File::open(path) {
        Ok(file) => read(&file, path),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(system("read", path, &e)),
    }
}

/// Sees to it that what was made, renamed or taken away in `folder` stays so after a crash of the machine.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)?.sync_all()
}

/// Other systems have no way to ask for that.
#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
