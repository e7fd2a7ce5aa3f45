//! Building what is measured, always in the same way, and running it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR");
    root().join(named.map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// Builds an example of a package as `--release` does for everybody: what the environment says about
/// optimisation is left out.
pub fn release_example(package: &str, name: &str) -> Result<PathBuf, String> {
    let args = ["build", "--release", "--package", package, "--example"];
    super::succeed(&mut release(&[&args[..], &[name]].concat()))?;
    Ok(target().join("release/examples").join(name))
}

/// Cargo with `args`, without what the environment says about optimisation.
pub fn release(args: &[&str]) -> Command {
    let mut command = super::command(args);
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

/// What the compiler says of itself when it is asked with `words`.
pub fn rustc(words: &[&str]) -> Result<String, String> {
    let (stdout, _) = output(Command::new("rustc").args(words))?;
    Ok(stdout.trim().to_owned())
}

/// What a program wrote on standard output and standard error.
///
/// # Errors
/// If it cannot be started or fails, with what it said.
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
