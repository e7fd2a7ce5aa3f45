//! Builds and runs the project's own programs for development tasks (`cargo xtask`) and measurements (`cargo measure`).
//! [`succeed`], [`cargo`] and [`release_example`] print the command that they run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the workspace.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Returns the folder in which cargo builds.
pub fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR");
    root().join(named.map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// Builds an example of a package with `--release` and returns its path. Environment variables that change the release
/// profile or the compiler flags are ignored.
///
/// # Errors
/// If the example does not compile.
pub fn release_example(package: &str, name: &str) -> Result<PathBuf, String> {
    let args = ["build", "--release", "--package", package, "--example"];
    succeed(&mut release(&[&args[..], &[name]].concat()))?;
    Ok(target().join("release/examples").join(name))
}

/// Returns a command that runs cargo with `args`, without the environment variables that change optimisation.
pub fn release(args: &[&str]) -> Command {
    let mut command = command(args);
    let changes = |variable: &str| {
        variable.starts_with("CARGO_PROFILE_RELEASE_")
            || variable.ends_with("RUSTFLAGS")
            || variable == "CARGO_INCREMENTAL"
    };
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(changes) {
            command.env_remove(variable);
        }
    }
    command
}

/// Returns the output of the compiler for the arguments `words`.
///
/// # Errors
/// If the compiler cannot be started or fails.
pub fn rustc(words: &[&str]) -> Result<String, String> {
    let (stdout, _) = output(Command::new("rustc").args(words))?;
    Ok(stdout.trim().to_owned())
}

/// Runs a program and returns its standard output and standard error.
///
/// # Errors
/// If the program cannot be started, or if it fails; the error then contains its output.
pub fn output(command: &mut Command) -> Result<(String, String), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|e| format!("cannot start {name}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        Ok((stdout, stderr))
    } else {
        Err(format!(
            "{name} failed, {}: {stderr}{stdout}",
            output.status
        ))
    }
}

/// Prints and runs cargo with `args`. Rustdoc warnings are errors.
///
/// # Errors
/// If cargo cannot be started or fails.
pub fn cargo<S: AsRef<OsStr>>(args: &[S]) -> Result<(), String> {
    succeed(command(args).env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Returns a command that runs cargo with `args`.
pub fn command<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(args);
    command
}

/// Prints the command and runs it.
///
/// # Errors
/// If the program cannot be started or fails.
pub fn succeed(command: &mut Command) -> Result<(), String> {
    let program = Path::new(command.get_program()).file_stem();
    let words = program.into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    let words = words.join(" ");
    eprintln!("$ {words}");
    let status = command
        .status()
        .map_err(|e| format!("cannot start `{words}`: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{words}` failed"))
    }
}
