//! The Python package: installed as a user installs it, in a virtual environment of its own below the
//! folder in which cargo builds, and tested there.

use std::path::PathBuf;
use std::process::Command;

use dupack_build::{output, root, succeed, target};

/// The oldest Python that the package takes.
const OLDEST: (u32, u32) = (3, 10);

/// Which interpreter, and what it says of itself.
struct Python {
    program: &'static str,
    version: (u32, u32),
}

impl Python {
    /// The one that is called `python3`, if there is one that is new enough and can make virtual
    /// environments.
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
            return Err(format!("python3 says `{}` of its version", said.trim()));
        };
        let version = (major, minor);
        if version < OLDEST {
            let (major, minor) = OLDEST;
            return Err(format!(
                "python3 is {}.{}, and the Python package takes {major}.{minor}: it is not tested",
                version.0, version.1
            ));
        }
        Ok(Self { program, version })
    }
}

/// Why the package cannot be tested here, if it cannot.
pub fn missing() -> Option<String> {
    Python::find().err()
}

/// Installs the package and what its tests need, and runs them: pytest, and mypy over the types.
///
/// # Errors
/// If anything fails.
pub fn test() -> Result<(), String> {
    let python = Python::find()?;
    let own = environment(&python)?;
    // The profile is the one that builds in seconds: what it computes is the same.
    succeed(
        pip(&own)
            .args([
                "install",
                "--quiet",
                "--config-settings",
                "build-args=--profile edit",
            ])
            .arg(".[test]"),
    )?;
    succeed(
        Command::new(own.join("bin/python"))
            .current_dir(root())
            .args(["-m", "mypy", "python/dupack"]),
    )?;
    succeed(
        Command::new(own.join("bin/python"))
            .current_dir(root())
            .args(["-m", "pytest"]),
    )
}

/// The virtual environment, made if it is not there.
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

fn pip(environment: &std::path::Path) -> Command {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.current_dir(root());
    pip.args(["-m", "pip", "--disable-pip-version-check"]);
    pip
}
