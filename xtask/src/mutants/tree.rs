//! The copy of the sources in which mutants live, so that nobody's own files are ever changed.
//!
//! What is the same is left alone: its times tell cargo what need not be built again.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dupack_build::{output, root};

/// Makes the copy what the sources are now, with what is not committed.
///
/// # Errors
/// If git does not tell which files there are, or something cannot be copied.
pub fn refresh(tree: &Path) -> Result<(), String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root());
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let (names, _) = output(&mut git)?;
    let names: HashSet<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    copy(root(), tree, &names)?;
    remove_others(tree, tree, &names)
}

fn copy(from: &Path, to: &Path, names: &HashSet<&str>) -> Result<(), String> {
    for name in names {
        let (source, copy) = (from.join(name), to.join(name));
        if let Ok(target) = fs::read_link(&source) {
            link(&target, &copy)?;
            continue;
        }
        // It may be deleted and git not know.
        let Ok(text) = fs::read(&source) else {
            continue;
        };
        if fs::read(&copy).is_ok_and(|before| before == text) {
            continue;
        }
        let folder = copy.parent().map_or(Ok(()), fs::create_dir_all);
        // Written, not copied: a copy may have the time of its source, and cargo would not build it again.
        let written = folder.and_then(|()| fs::write(&copy, text));
        written.map_err(|e| format!("cannot copy {name} to {}: {e}", to.display()))?;
    }
    Ok(())
}

/// Makes the link that `copy` is to be, such as that of a crate to the experiments of the repository.
fn link(target: &Path, copy: &Path) -> Result<(), String> {
    if fs::read_link(copy).is_ok_and(|before| before == target) {
        return Ok(());
    }
    let folder = copy.parent().map_or(Ok(()), fs::create_dir_all);
    let _ = fs::remove_file(copy);
    let linked = folder.and_then(|()| std::os::unix::fs::symlink(target, copy));
    linked.map_err(|e| format!("cannot link {}: {e}", copy.display()))
}

/// Removes files that are no sources any more. No link is followed.
fn remove_others(tree: &Path, folder: &Path, names: &HashSet<&str>) -> Result<(), String> {
    let failed = |e| format!("cannot read {}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path: PathBuf = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            remove_others(tree, &path, names)?;
            continue;
        }
        let name = path.strip_prefix(tree).unwrap_or(&path).to_string_lossy();
        if !names.contains(&*name.replace('\\', "/")) {
            fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_becomes_what_the_sources_are() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (name, text) in [
            ("from/a", "1"),
            ("from/d/b", "2"),
            ("to/a", "0"),
            ("to/c", "3"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let names = HashSet::from(["a", "d/b", "deleted"]);
        copy(&from, &to, &names).unwrap();
        remove_others(&to, &to, &names).unwrap();
        assert_eq!(fs::read_to_string(to.join("a")).unwrap(), "1");
        assert_eq!(fs::read_to_string(to.join("d/b")).unwrap(), "2");
        assert!(!to.join("c").exists());
    }

    #[test]
    fn a_link_is_copied_and_what_it_leads_to_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for name in ["from/d/a", "elsewhere/b"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "1").unwrap();
        }
        let elsewhere = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, from.join("l")).unwrap();
        let names = HashSet::from(["d/a", "l"]);
        for _ in 0..2 {
            copy(&from, &to, &names).unwrap();
            remove_others(&to, &to, &names).unwrap();
            assert_eq!(fs::read_to_string(to.join("l/b")).unwrap(), "1");
        }
        remove_others(&to, &to, &HashSet::from(["d/a"])).unwrap();
        assert!(!to.join("l").exists() && elsewhere.join("b").exists());
    }

    #[test]
    fn what_is_the_same_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for place in [&from, &to] {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join("a"), "1").unwrap();
        }
        let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        let before = time(&to.join("a"));
        copy(&from, &to, &HashSet::from(["a"])).unwrap();
        assert_eq!(time(&to.join("a")), before);
    }
}
