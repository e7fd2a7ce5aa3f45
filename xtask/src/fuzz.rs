//! The fuzzers in `fuzz/`, which has a workspace of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, ValueEnum};
use dupack_build::{command, output, root, succeed, target};

/// What the fuzzers take: a compiler that can count branches for them, and the program that runs them.
const NIGHTLY: &str = "rustup toolchain install nightly";
const RUNNER: &str = "cargo install cargo-fuzz";

/// Their manifest.
const MANIFEST: &str = "fuzz/Cargo.toml";

#[derive(Args)]
pub struct FuzzArgs {
    /// Which fuzzer [default: one after the other]
    target: Option<Target>,
    /// How long each of them runs
    #[arg(long, value_name = "MINUTES", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    minutes: u32,
}

/// The fuzzers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Capture files of anybody's making
    Capture,
    /// Packets: reading and writing them
    Codec,
    /// Captures, and all that is found in them
    Diagnosis,
    /// A connection, and a peer that does anything
    Endpoint,
}

impl Target {
    /// Its name in `fuzz/Cargo.toml`, and of the folder of its corpus.
    const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Codec => "codec",
            Self::Diagnosis => "diagnosis",
            Self::Endpoint => "endpoint",
        }
    }
}

/// Lets the fuzzers work. What they find on their way stays in the build's folder, and what breaks
/// something in `fuzz/artifacts`.
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

/// Lets every fuzzer work for ten minutes, where there is all that it takes; if not, why.
///
/// # Errors
/// If a fuzzer finds something.
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

/// Whether there is all that it takes.
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
    // The first folder takes what is new: the corpus in the repository stays as it is.
    let found = self::target().join("fuzz-corpus").join(name);
    fs::create_dir_all(&found).map_err(|e| format!("cannot make {}: {e}", found.display()))?;
    let mut command = nightly(&["fuzz", "run", name]);
    command.arg(found).arg(corpus(name));
    command.args(["--", &format!("-max_total_time={}", minutes * 60)]);
    if target == Target::Diagnosis {
        // It works with threads, and what glibc keeps of one that is about to end is taken for a leak.
        command.arg("-detect_leaks=0");
    }
    succeed(&mut command)
}

fn corpus(name: &str) -> PathBuf {
    root().join("fuzz/corpus").join(name)
}

/// The nightly cargo, in the repository, without what the stable one has told this program.
fn nightly(args: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(args);
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command.current_dir(root());
    command
}

/// Whether what is in `fuzz/` compiles, as far as a stable compiler can tell. Its fuzzers' entry points
/// are tests of `packet`, `wire` and `diagnosis-tell`; this is for the rest. What is left out is given back.
pub fn check() -> Result<Option<String>, String> {
    let workspace = ["--locked", "--manifest-path", MANIFEST];
    let mut fetch = command(&["fetch", "--quiet"]);
    match output(fetch.args(workspace).current_dir(root())) {
        Ok(_) => {}
        Err(e) if e.contains("lock file") => {
            let remedy = "cargo update --workspace --manifest-path fuzz/Cargo.toml";
            return Err(format!("fuzz/Cargo.lock is out of date: `{remedy}` ({e})"));
        }
        // They are the only ones that the other tests do without.
        Err(e) => {
            let first = e.lines().next().unwrap_or_default();
            return Ok(Some(format!(
                "whether the fuzzers compile, as their crates cannot be had: {first}"
            )));
        }
    }
    let built = target().join("fuzz");
    let mut check = command(&["check"]);
    check.args(workspace).current_dir(root());
    check.arg("--target-dir").arg(&built);
    // A check links nothing: what is said to be the library in C++ need not be there, and is not compiled.
    check.env("CUSTOM_LIBFUZZER_PATH", built.join("libfuzzer.a"));
    succeed(&mut check).map(|()| None)
}
