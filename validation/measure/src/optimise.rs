//! `cargo measure optimise`: builds dupack with a profile of its own work.
//!
//! A build with counters counts how often each branch is taken while the simulator does its most frequent work. The
//! compiler uses these counts to lay out the program. The results of the program are the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dupack_build::{output, release, root, rustc, succeed, target};

/// The simulator's most frequent work, for [`Profile`]: rows of `cargo measure peers`, some of them shortened.
const WORK: [&[&str]; 6] = [
    &["one", "newreno"],
    &["ten", "60"],
    &["hundred"],
    &["thousand"],
    &["sweep", "1"],
    &["chain", "100"],
];

/// Number of packets that each recovery of the catalog transfers for the profile.
const PACKETS: &str = "300000";

/// Branch counts of the simulator's work.
pub struct Profile {
    /// File with the counts in the compiler's format.
    data: PathBuf,
    /// Name of this platform in the compiler.
    host: String,
}

/// Builds the program, and prints its path.
pub fn run() -> Result<(), String> {
    let profile = Profile::take()?;
    let program = profile.build(&["--package", "dupack-cli", "--bin", "dupack"], "dupack")?;
    eprintln!("built: {}", program.display());
    Ok(())
}

impl Profile {
    /// Builds the simulator with counters, and runs it. This takes some minutes.
    ///
    /// # Errors
    /// If the compiler's tool is missing, with the command that installs it; or if a build or a run fails.
    pub fn take() -> Result<Self, String> {
        let host = host(&rustc(&["-vV"])?)?;
        let merge = merger(Path::new(&rustc(&["--print", "sysroot"])?), &host)?;
        let folder = target().join("profile");
        let raw = folder.join("raw");
        if raw.exists() {
            fs::remove_dir_all(&raw).map_err(|e| format!("cannot clear {}: {e}", raw.display()))?;
        }
        let flag = format!("-Cprofile-generate={}", text(&raw)?);
        let counting = |package, name| {
            let what = ["--package", package, "--example", name];
            build(&host, &flag, &folder, &what, &format!("examples/{name}"))
        };
        let work = counting("dupack-engine", "work")?;
        let counted = counting("dupack-net", "counted")?;
        for words in WORK {
            eprintln!("profile of the work: {}", words.join(" "));
            output(Command::new(&work).args(words))?;
        }
        let (stacks, _) = output(Command::new(&counted).arg("stacks"))?;
        for stack in stacks.lines() {
            eprintln!("profile of the work: {stack}");
            output(Command::new(&counted).args([stack, PACKETS]))?;
        }
        let data = folder.join("merged.profdata");
        let merging = [text(&data)?, text(&raw)?];
        output(Command::new(merge).args(["merge", "-o"]).args(merging))?;
        Ok(Self { data, host })
    }

    /// Builds the target in the arguments `args`, and returns the path of the program `name` in the folder of the
    /// optimised build.
    ///
    /// # Errors
    /// If the target cannot be built.
    pub fn build(&self, args: &[&str], name: &str) -> Result<PathBuf, String> {
        let flag = format!("-Cprofile-use={}", text(&self.data)?);
        build(&self.host, &flag, &folder(), args, name)
    }
}

/// Returns the folder of optimised builds.
fn folder() -> PathBuf {
    target().join("optimised")
}

/// Runs a release build with one more compiler flag, in a separate folder.
fn build(host: &str, flag: &str, to: &Path, what: &[&str], name: &str) -> Result<PathBuf, String> {
    // With an explicit target, the flag does not apply to build scripts and procedural macros.
    let args = ["build", "--release", "--target", host];
    let mut command = release(&[&args[..], what].concat());
    // The flags are encoded, because the name of the folder may contain spaces.
    command
        .env("CARGO_ENCODED_RUSTFLAGS", flag)
        .env("CARGO_TARGET_DIR", to);
    succeed(&mut command)?;
    Ok(to.join(host).join("release").join(name))
}

/// Returns the name of the host in the output of `rustc -vV`.
fn host(version: &str) -> Result<String, String> {
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc -vV does not name the host")?;
    Ok(host.to_owned())
}

/// Finds the program that merges the counts.
fn merger(sysroot: &Path, host: &str) -> Result<PathBuf, String> {
    let program = sysroot.join(format!("lib/rustlib/{host}/bin/llvm-profdata"));
    match program.exists() {
        true => Ok(program),
        false => Err(
            "the compiler's llvm-profdata is missing: `rustup component add llvm-tools`".to_owned(),
        ),
    }
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

/// Returns the folder of optimised examples, relative to the workspace.
pub fn examples() -> Result<String, String> {
    let folder = folder();
    let folder = folder.strip_prefix(root()).unwrap_or(&folder);
    let host = host(&rustc(&["-vV"])?)?;
    Ok(format!("{}/{host}/release/examples", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_found() {
        let version =
            "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n";
        assert_eq!(host(version).as_deref(), Ok("x86_64-unknown-linux-gnu"));
        assert!(host("rustc 1.95.0").is_err());
    }

    #[test]
    fn a_missing_tool_is_reported() {
        let told = merger(Path::new("/nowhere"), "x");
        assert!(told.is_err_and(|told| told.contains("rustup component add llvm-tools")));
    }
}
