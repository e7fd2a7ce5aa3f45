//! Runs and checks the fuzzers in `fuzz/`, which is a separate workspace.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, ValueEnum};
use dupack_build::{command, output, root, succeed, target};

/// Commands that install the requirements: the nightly compiler, which instruments branches, and cargo-fuzz, which runs
/// the fuzzers.
const NIGHTLY: &str = "rustup toolchain install nightly";
const RUNNER: &str = "cargo install cargo-fuzz";

/// Manifest of the fuzzers.
const MANIFEST: &str = "fuzz/Cargo.toml";

#[derive(Args)]
pub struct FuzzArgs {
    /// The fuzzer to run [default: all, one after the other]
    target: Option<Target>,
    /// Duration of each fuzzer
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    minutes: u32,
}

/// The fuzzers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Capture files of any origin
    Capture,
    /// Reading and writing packets
    Codec,
    /// Captures and all analyses of them
    Diagnosis,
    /// A connection with an arbitrary peer
    Endpoint,
}

impl Target {
    /// Returns the name of the fuzzer in `fuzz/Cargo.toml`, which is also the name of the corpus.
    const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Codec => "codec",
            Self::Diagnosis => "diagnosis",
            Self::Endpoint => "endpoint",
        }
    }
}

/// Runs the fuzzers. New inputs are stored in the target directory. An input that makes a fuzzer fail is written to
/// `fuzz/artifacts`.
pub fn run(args: &FuzzArgs) -> Result<(), String> {
    available()?;
    let targets = match args.target {
        Some(one) => vec![one],
        None => Target::value_variants().to_vec(),
    };
    for target in targets {
        fuzz(target, args.minutes)?;
    }
    Ok(())
}

/// Runs every fuzzer for ten minutes, or returns the reason why fuzzers cannot run here.
///
/// # Errors
/// If a fuzzer finds a failing input.
pub fn all() -> Result<Option<String>, String> {
    match available() {
        Err(told) => Ok(Some(told)),
        Ok(()) => {
            for &target in Target::value_variants() {
                fuzz(target, 10)?;
            }
            Ok(None)
        }
    }
}

/// Returns an error if a requirement is not installed.
fn available() -> Result<(), String> {
    let asked = [
        (nightly(&["--version"]), NIGHTLY),
        (nightly(&["fuzz", "--version"]), RUNNER),
    ];
    for (mut command, remedy) in asked {
        output(&mut command).map_err(|e| {
            format!("fuzzing needs a nightly compiler and cargo-fuzz: `{remedy}` ({e})")
        })?;
    }
    Ok(())
}

fn fuzz(target: Target, minutes: u32) -> Result<(), String> {
    let name = target.name();
    // New inputs go to the first folder, so the corpus in the repository does not change.
    let found = self::target().join("fuzz-corpus").join(name);
    fs::create_dir_all(&found).map_err(|e| format!("cannot make {}: {e}", found.display()))?;
    let mut command = nightly(&["fuzz", "run", name]);
    command.arg(found).arg(corpus(name));
    command.args(["--", &format!("-max_total_time={}", minutes * 60)]);
    if target == Target::Diagnosis {
        // The diagnosis uses threads, and the leak detector reports memory that glibc still holds for a thread that is
        // ending.
        command.arg("-detect_leaks=0");
    }
    succeed(&mut command)
}

fn corpus(name: &str) -> PathBuf {
    root().join("fuzz/corpus").join(name)
}

/// Returns a command that runs the nightly cargo in the repository, without the environment variables that the stable
/// cargo sets.
fn nightly(args: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(args);
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command.current_dir(root());
    command
}

/// Checks with a stable compiler that `fuzz/` compiles; `tools/fuzz-entries` tests the entry points. Returns a reason
/// if the dependencies of the fuzzers are unavailable.
pub fn check() -> Result<Option<String>, String> {
    let workspace = ["--locked", "--manifest-path", MANIFEST];
    let mut fetch = command(&["fetch", "--quiet"]);
    match output(fetch.args(workspace).current_dir(root())) {
        Ok(_) => {}
        Err(e) if e.contains("lock file") => {
            let remedy = "cargo update --workspace --manifest-path fuzz/Cargo.toml";
            return Err(format!("fuzz/Cargo.lock is out of date: `{remedy}` ({e})"));
        }
        // Only the fuzzers need these crates, so this check is skipped on a machine without them.
        Err(e) => {
            let first = e.lines().next().unwrap_or_default();
            return Ok(Some(format!(
                "the fuzzers are not compiled, as their dependencies are unavailable: {first}"
            )));
        }
    }
    let built = target().join("fuzz");
    let mut check = command(&["check"]);
    check.args(workspace).current_dir(root());
    check.arg("--target-dir").arg(&built);
    // `cargo check` does not link, so this file need not exist. With this variable, the C++ code of libfuzzer is not
    // compiled.
    check.env("CUSTOM_LIBFUZZER_PATH", built.join("libfuzzer.a"));
    succeed(&mut check).map(|()| None)
}
