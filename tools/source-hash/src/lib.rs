//! A hash of a crate's sources, made when the crate is built.
//!
//! A stored run is valid only as long as the code that produced the run has not changed. People forget to raise a
//! version number, but a hash that the crate's own build computes is always up to date, in a workspace and in a
//! package.
//!
//! The build script of a crate calls [`emit`]. The crate reads the hash, which consists of sixteen hexadecimal digits,
//! as `env!("DUPACK_SOURCE_HASH")`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use xxhash_rust::xxh3::Xxh3Default;

/// Passes the hash of the folder `src` to the crate of this build script, and reruns the script when a file there
/// changes.
///
/// # Panics
/// If the sources cannot be read.
pub fn emit() {
    let hash = of_folder(Path::new("src")).expect("a crate's sources can be read");
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=DUPACK_SOURCE_HASH={hash:016x}");
}

/// Returns the hash of the relative paths and the contents of all files below a folder. The hash does not depend on the
/// location of the folder, on the system's path separator or on line endings.
///
/// # Errors
/// If a file or folder in it cannot be read.
pub fn of_folder(folder: &Path) -> io::Result<u64> {
    let mut files = Vec::new();
    collect(folder, "", &mut files)?;
    files.sort_unstable();
    let mut hasher = Xxh3Default::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for (name, path) in files {
        let mut bytes = fs::read(path)?;
        bytes.retain(|&byte| byte != b'\r');
        part(name.as_bytes());
        part(&bytes);
    }
    Ok(hasher.digest())
}

/// Collects the names and paths of the files below a folder. Names begin with `above`, with `/` between folders.
fn collect(folder: &Path, above: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        match fs::metadata(entry.path())?.is_dir() {
            true => collect(&entry.path(), &format!("{name}/"), files)?,
            false => files.push((name, entry.path())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the hash of a folder with these files.
    fn hash(files: &[(&str, &str)]) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        of_folder(folder.path()).unwrap()
    }

    #[test]
    fn the_hash_depends_on_every_name_and_every_byte() {
        let base = hash(&[("lib.rs", "ab"), ("a/b.rs", "c")]);
        assert_ne!(hash(&[("lib.rs", "ax"), ("a/b.rs", "c")]), base);
        assert_ne!(hash(&[("lib.rs", "ab"), ("a/x.rs", "c")]), base);
        assert_ne!(hash(&[("lib.rs", "ab"), ("a/b.rs", "x")]), base);
        assert_ne!(hash(&[("lib.rs", "ab")]), base);
        // The hash also depends on the boundaries between files.
        assert_ne!(hash(&[("lib.rs", "a"), ("a/b.rs", "bc")]), base);
    }

    #[test]
    fn the_hash_depends_on_nothing_else() {
        let base = hash(&[("lib.rs", "a\nb\n"), ("a/b.rs", "c")]);
        assert_eq!(hash(&[("a/b.rs", "c"), ("lib.rs", "a\r\nb\r\n")]), base);
    }
}
