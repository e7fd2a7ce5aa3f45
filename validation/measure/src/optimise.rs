//! `cargo measure optimise`: dupack built by a profile of its own work.
//!
//! The compiler counts how often each branch is taken while the simulator does what it does most, and
//! lays the program out by that. What the program computes stays the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dupack_build::{output, release, root, rustc, succeed, target};

/// What the simulator does most, for [`Profile`]: rows of `cargo measure peers`, the longer ones shortened.
const WORK: [&[&str]; 6] = [
    &["one", "newreno"],
    &["ten", "60"],
    &["hundred"],
    &["thousand"],
    &["sweep", "1"],
    &["chain", "100"],
];

/// Packets that each recovery of the catalog transfers for the profile.
const PACKETS: &str = "300000";

/// How often each branch was taken.
pub struct Profile {
    /// In the form that the compiler reads.
    data: PathBuf,
    /// The machine's name for the compiler.
    host: String,
}

/// Builds the program, and says where it is.
pub fn run() -> Result<(), String> {
    let profile = Profile::take()?;
    let program = profile.build(&["--package", "dupack-cli", "--bin", "dupack"], "dupack")?;
    eprintln!("built: {}", program.display());
    Ok(())
}

impl Profile {
    /// Builds the simulator so that it counts, and lets it work. Takes some minutes.
    ///
    /// # Errors
    /// If the compiler's tool is missing, with what to install, or anything fails.
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
        let work = counting("dupack-lab", "work")?;
        let counted = counting("xtask", "counted")?;
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

    /// Builds what `args` name, whose program is called `name` in the folder of the release build.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn build(&self, args: &[&str], name: &str) -> Result<PathBuf, String> {
        let flag = format!("-Cprofile-use={}", text(&self.data)?);
        build(&self.host, &flag, &folder(), args, name)
    }
}

/// Where optimised programs are built.
fn folder() -> PathBuf {
    target().join("optimised")
}

/// A release build with one more flag for the compiler, in a folder of its own.
fn build(host: &str, flag: &str, to: &Path, what: &[&str], name: &str) -> Result<PathBuf, String> {
    // With a target named, the flag is not for build scripts and macros.
    let args = ["build", "--release", "--target", host];
    let mut command = release(&[&args[..], what].concat());
    // Encoded, because the folder's name may hold spaces.
    command
        .env("CARGO_ENCODED_RUSTFLAGS", flag)
        .env("CARGO_TARGET_DIR", to);
    succeed(&mut command)?;
    Ok(to.join(host).join("release").join(name))
}

/// The host in what `rustc -vV` prints.
fn host(version: &str) -> Result<String, String> {
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc -vV names no host")?;
    Ok(host.to_owned())
}

/// The program that merges what was counted.
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

/// Where the examples of an optimised build are, as a reader in the workspace would type it.
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
    fn what_is_missing_is_told() {
        let told = merger(Path::new("/nowhere"), "x");
        assert!(told.is_err_and(|told| told.contains("rustup component add llvm-tools")));
    }
}
