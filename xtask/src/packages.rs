//! Checks each crate as a package: packs it, unpacks it, and compiles it outside the workspace.
//!
//! `cargo package` can build the packages, but `cargo package` never replaces a dependency that it has unpacked before
//! in the same version, and builds every dependency again. This check puts all packages into one workspace and uses the
//! dependencies that are already compiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dupack_build::{cargo, command, output, root, succeed, target};
use serde::Deserialize;

/// File name extension of a packed crate.
const PACKED: &str = "crate";

/// Packs, unpacks and checks the crates.
///
/// # Errors
/// If a crate cannot be packed, or does not compile without files from outside its package.
pub fn check() -> Result<(), String> {
    let folder = target().join("package");
    // Remove old packages: they may have other versions, or their crates may no longer exist.
    for old in packed(&folder) {
        remove(fs::remove_file(&old), &old)?;
    }
    let mut words = vec![
        "package",
        "--workspace",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
    ];
    // Private packages are left out: their dependencies have no version, and cargo cannot pack a dependency without
    // one.
    let private = private_packages()?;
    words.extend(private.iter().flat_map(|name| ["--exclude", name]));
    cargo(&words)?;
    let unpacked = target().join("packages");
    remove(fs::remove_dir_all(&unpacked), &unpacked)?;
    make(fs::create_dir_all(&unpacked), &unpacked)?;
    let mut names = Vec::new();
    for file in packed(&folder) {
        output(
            Command::new("tar")
                .arg("-xzmf")
                .arg(&file)
                .arg("-C")
                .arg(&unpacked),
        )?;
        names.extend(
            file.file_stem()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    let manifest = unpacked.join("Cargo.toml");
    let text = format!("{}\n{}", workspace(&names), profile()?);
    make(fs::write(&manifest, text), &manifest)?;
    // With the lock file, other crates have the same versions as in the repository, if the lock file contains them.
    let lock = unpacked.join("Cargo.lock");
    make(
        fs::copy(root().join("Cargo.lock"), &lock).map(|_| ()),
        &lock,
    )?;
    let mut check = command(&["check", "--workspace", "--quiet"]);
    check.arg("--manifest-path").arg(manifest);
    succeed(check.arg("--target-dir").arg(target()))
}

/// Returns the names of the workspace's packages with `publish = false`.
fn private_packages() -> Result<Vec<String>, String> {
    let mut metadata = command(&["metadata", "--no-deps", "--format-version", "1"]);
    let (text, _) = output(metadata.current_dir(root()))?;
    let metadata: Metadata =
        serde_json::from_str(&text).map_err(|e| format!("cannot read cargo's metadata: {e}"))?;
    let private = |package: &Package| package.publish.as_ref().is_some_and(Vec::is_empty);
    let private = metadata.packages.into_iter().filter(private);
    Ok(private.map(|package| package.name).collect())
}

/// The part of `cargo metadata` that is needed here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    /// Registries to which the package may be published. `None` stands for all registries.
    publish: Option<Vec<String>>,
}

/// Returns the packed crates in a folder, sorted by name.
fn packed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == PACKED));
    files.sort();
    files
}

/// Returns the manifest of a workspace of the unpacked crates. `names` contains their names with versions. The crates
/// depend on each other within this workspace.
fn workspace(names: &[String]) -> String {
    let mut text =
        format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n\n[patch.crates-io]\n");
    for folder in names {
        if let Some((name, _version)) = folder.rsplit_once('-') {
            text += &format!("{name} = {{ path = {folder:?} }}\n");
        }
    }
    text
}

/// Returns our development profile for a manifest. Packages that are compiled with the same profile can use the
/// compiled dependencies.
fn profile() -> Result<String, String> {
    let path = root().join("Cargo.toml");
    let bad = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = fs::read_to_string(&path).map_err(|e| bad(&e))?;
    let mut manifest: toml::Table = text.parse().map_err(|e: toml::de::Error| bad(&e))?;
    let profiles = manifest
        .get_mut("profile")
        .and_then(|all| all.as_table_mut());
    let dev = profiles.and_then(|all| all.remove("dev"));
    let dev = dev.ok_or_else(|| bad(&"missing table `profile.dev`"))?;
    let dev = toml::Table::from_iter([("dev".to_owned(), dev)]);
    let table = toml::Table::from_iter([("profile".to_owned(), dev.into())]);
    toml::to_string(&table).map_err(|e| bad(&e))
}

/// Ignores the error that there is nothing to remove.
fn remove(done: std::io::Result<()>, what: &Path) -> Result<(), String> {
    match done {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {e}", what.display()))
        }
        _ => Ok(()),
    }
}

fn make(done: std::io::Result<()>, what: &Path) -> Result<(), String> {
    done.map_err(|e| format!("cannot make {}: {e}", what.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_compiled_like_the_workspace() {
        let profile = profile().expect("our manifest has a profile");
        assert!(profile.starts_with("[profile.dev]\n"), "{profile}");
        assert!(profile.contains("[profile.dev.package.\"*\"]"), "{profile}");
        assert!(!profile.contains("profile.test"), "{profile}");
    }

    #[test]
    fn tools_are_not_packed() {
        let private = private_packages().expect("cargo knows its packages");
        assert!(private.iter().any(|name| name == "xtask"));
        assert!(!private.iter().any(|name| name == "dupack-tcp"));
    }

    #[test]
    fn packages_depend_on_each_other() {
        let text = workspace(&["a-b-0.1.0".to_owned(), "c-0.1.0".to_owned()]);
        assert!(
            text.contains("members = [\"a-b-0.1.0\", \"c-0.1.0\"]"),
            "{text}"
        );
        assert!(
            text.contains("\na-b = { path = \"a-b-0.1.0\" }\n"),
            "{text}"
        );
    }
}
