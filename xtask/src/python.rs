//! Tests of the Python package in a virtual environment below the target directory.
//!
//! The compiled half of the package is the library that cargo has already built for the tests, so Python needs no
//! further compilation. Before a release, pip installs the package as a user does (README's commands, `crate::readme`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dupack_build::{output, root, succeed, target};

use crate::test::{RELEASE, Tier, VOLUME};

/// The oldest supported version of Python.
const OLDEST: (u32, u32) = (3, 10);

/// Packages that are needed only by tests before a release: schedulers, databases and notebooks.
const FOR_RELEASE: [&str; 5] = ["distributed", "duckdb", "ipykernel", "nbclient", "nbformat"];

/// A Python interpreter and its version.
struct Python {
    program: &'static str,
    version: (u32, u32),
}

impl Python {
    /// Finds `python3`, if its version is supported and it can create virtual environments.
    fn find() -> Result<Self, String> {
        let program = "python3";
        let ask = "import sys, venv, ensurepip; print(*sys.version_info[:2])";
        let said = output(Command::new(program).args(["-c", ask]));
        let (said, _) = said.map_err(|_| {
            "python3 with venv is missing: the Python package is not tested (`apt-get install python3-venv`)"
                .to_owned()
        })?;
        let mut numbers = said.split_whitespace().map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            return Err(format!(
                "python3 printed `{}` instead of its version",
                said.trim()
            ));
        };
        let version = (major, minor);
        if version < OLDEST {
            let (major, minor) = OLDEST;
            return Err(format!(
                "python3 is {}.{}, but the Python package needs {major}.{minor}: it is not tested",
                version.0, version.1
            ));
        }
        Ok(Self { program, version })
    }
}

/// Returns the reason why the package cannot be tested on this machine, or `None`.
pub fn missing() -> Option<String> {
    Python::find().err()
}

/// Unpacks the package as pip unpacks a wheel, installs the requirements of the tests, and runs mypy and pytest. The
/// compiled half and the command line must already be built.
///
/// # Errors
/// If any step fails.
pub fn test(tier: Tier) -> Result<(), String> {
    let python = Python::find()?;
    let own = environment(&python)?;
    let needed = needed(tier)?;
    let mut pip = Command::new(own.join("bin/python"));
    pip.args(["-m", "pip", "--disable-pip-version-check", "install"]);
    // Do not compile the modules, because no module is imported often enough to save time.
    pip.args(["--quiet", "--no-compile"]).args(needed);
    succeed(&mut pip)?;
    unpack(&own)?;
    let run = |program: &str, words: &[&str]| {
        let mut command = Command::new(own.join("bin").join(program));
        command.current_dir(root()).args(words);
        command.env("DUPACK_COMMAND", target().join("debug/dupack"));
        if tier == Tier::Release {
            command.env(VOLUME, RELEASE);
        }
        succeed(&mut command)
    };
    run("mypy", &["python/dupack"])?;
    run("pytest", &["--durations=15"])
}

/// Returns the packages that pip installs for the tests, as listed in pyproject.toml.
fn needed(tier: Tier) -> Result<Vec<String>, String> {
    let path = root().join("pyproject.toml");
    let bad = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = fs::read_to_string(&path).map_err(|e| bad(&e))?;
    let all: toml::Table = text.parse().map_err(|e: toml::de::Error| bad(&e))?;
    let project = all.get("project").and_then(toml::Value::as_table);
    let project = project.ok_or_else(|| bad(&"missing table `project`"))?;
    let mut names = listed(project.get("dependencies"));
    let extras = project
        .get("optional-dependencies")
        .and_then(toml::Value::as_table);
    for (_, extra) in extras.into_iter().flatten() {
        names.extend(listed(Some(extra)));
    }
    // Our own extras are removed because the list already has their contents.
    names.retain(|name| !name.starts_with("dupack["));
    let is_for_release = |name: &String| FOR_RELEASE.iter().any(|one| name.starts_with(one));
    names.retain(|name| tier == Tier::Release || !is_for_release(name));
    names.sort();
    names.dedup();
    Ok(names)
}

fn listed(list: Option<&toml::Value>) -> Vec<String> {
    let list = list.and_then(toml::Value::as_array).into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// Copies the package and its compiled half to the folder in which Python searches for packages.
fn unpack(own: &Path) -> Result<(), String> {
    let ask = "import sysconfig; print(sysconfig.get_path('platlib'))";
    let (place, _) = output(Command::new(own.join("bin/python")).args(["-c", ask]))?;
    let place = PathBuf::from(place.trim()).join("dupack");
    let failed = |e| format!("cannot put the package into {}: {e}", place.display());
    match fs::remove_dir_all(&place) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    fs::create_dir_all(&place).map_err(failed)?;
    for entry in fs::read_dir(root().join("python/dupack")).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            fs::copy(&path, place.join(path.file_name().unwrap_or_default())).map_err(failed)?;
        }
    }
    let (start, end) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let built = target().join(format!("debug/{start}dupack_native{end}"));
    fs::copy(&built, place.join("_native.abi3.so")).map_err(|e| {
        let built = built.display();
        format!("{built}: {e}: `cargo build --workspace --lib --tests` makes it")
    })?;
    Ok(())
}

/// Returns the virtual environment, and creates it if necessary.
fn environment(python: &Python) -> Result<PathBuf, String> {
    let (major, minor) = python.version;
    let folder = target().join(format!("python-{major}.{minor}"));
    if !folder.join("bin/python").is_file() {
        succeed(
            Command::new(python.program)
                .args(["-m", "venv"])
                .arg(&folder),
        )?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_needs_all_packages_of_a_change() {
        let (change, release) = (
            needed(Tier::Change).unwrap(),
            needed(Tier::Release).unwrap(),
        );
        assert!(change.iter().all(|name| release.contains(name)));
        assert_eq!(release.len() - change.len(), FOR_RELEASE.len());
        assert!(change.iter().any(|name| name.starts_with("numpy")));
        assert!(change.iter().any(|name| name.starts_with("pytest")));
    }
}
