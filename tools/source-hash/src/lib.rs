//! A hash of a crate's sources, made when the crate is built.
//!
//! A run that is stored is only worth keeping as long as the code that made it is the code of today. A
//! number that somebody has to raise is forgotten; what a crate's own build finds out is not, neither in
//! a workspace nor in a package.
//!
//! The build script of a crate calls [`emit`], and the crate has the hash, sixteen hexadecimal digits,
//! as `env!("DUPACK_SOURCE_HASH")`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use xxhash_rust::xxh3::Xxh3Default;

/// Hands the hash of the folder `src` to the crate whose build script this is, and has the script run
/// again when something in it changes.
///
/// # Panics
/// If the sources cannot be read: a build without them makes no sense.
pub fn emit() {
    let hash = of_folder(Path::new("src")).expect("a crate's sources can be read");
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=DUPACK_SOURCE_HASH={hash:016x}");
}

/// The hash of every file in a folder and its folders: where it is in the folder, and its bytes. It
/// depends neither on where the folder is, nor on how a system separates folders or ends lines.
///
/// # Errors
/// If something in it cannot be read.
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

/// The files of a folder: names that begin with `above`, with `/` between folders, and paths.
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

    /// The hash of a folder with these files.
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
    fn it_depends_on_every_name_and_every_word() {
        let base = hash(&[("lib.rs", "ab"), ("a/b.rs", "c")]);
        assert_ne!(hash(&[("lib.rs", "ax"), ("a/b.rs", "c")]), base);
        assert_ne!(hash(&[("lib.rs", "ab"), ("a/x.rs", "c")]), base);
        assert_ne!(hash(&[("lib.rs", "ab"), ("a/b.rs", "x")]), base);
        assert_ne!(hash(&[("lib.rs", "ab")]), base);
        // Where one file ends and the next begins, too.
        assert_ne!(hash(&[("lib.rs", "a"), ("a/b.rs", "bc")]), base);
    }

    #[test]
    fn it_depends_on_nothing_else() {
        let base = hash(&[("lib.rs", "a\nb\n"), ("a/b.rs", "c")]);
        assert_eq!(hash(&[("a/b.rs", "c"), ("lib.rs", "a\r\nb\r\n")]), base);
    }
}
