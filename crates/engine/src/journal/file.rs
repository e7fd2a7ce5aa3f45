//! File of a journal. It is opened without following links, is locked, and must fit into memory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::{JournalError, system};
use dupack_lab::run::room;
use dupack_lab::run::size::bytes_in_words;

/// Number of bytes of memory per byte of the file, because the lines are stored in parsed form.
const PER_BYTE: u64 = 4;

/// Opens or creates the file at `path`, and locks it. Returns `None` if another process has locked it. On file systems
/// without locks, simultaneous use is not prevented.
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
    // Before the lock was acquired, a link may have been created at this path, or a process that finished may have
    // removed the file. Nothing has been written yet.
    refuse_link(path)?;
    Ok(is_at(&file, path).then_some(file))
}

/// Returns an error if `path` is a symbolic link, because its target may be a file of another program.
fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(io::Error::other(
            "it is a symbolic link, and links are not followed",
        )),
        _ => Ok(()),
    }
}

/// Returns `true` if `file` is the file at `path`.
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

/// Reads the complete `file` at `path`, if it fits into memory.
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

/// Same as [`read`], without a lock. Returns an empty vector if there is no file.
pub(super) fn read_at(path: &Path) -> Result<Vec<u8>, JournalError> {
    match File::open(path) {
        Ok(file) => read(&file, path),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(system("read", path, &e)),
    }
}

/// Flushes the directory entries of `folder` to the disk, so that changes survive a crash of the machine.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    File::open(folder)?.sync_all()
}

/// Does nothing, because other systems do not support this.
#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
