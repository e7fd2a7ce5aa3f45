//! The project's chores. `cargo xtask test` is the one that everybody runs.

mod ns2;
mod ns3;
mod reproduce;

use std::ffi::OsStr;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's chores.")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Format check, lint, documentation and every test: what continuous integration runs.
    Test,
    /// The benchmarks.
    Bench,
    /// Measure ns-2.35 anew on the scenarios in peers/ns2 (needs the Debian package `ns2`).
    PeersNs2(ns2::Ns2Args),
    /// Measure ns-3.37 anew on the scenarios in peers/ns3 (needs the Debian package `libns3-dev`).
    PeersNs3(ns3::Ns3Args),
    /// Compare the dialect `ns2` with what ns-2.35 did, and write docs/ns2-agreement.md.
    AgreeNs2(ns2::AgreeArgs),
    /// Rerun every paper at full scale, and write docs/reproduction.md with its figures.
    Reproduce(reproduce::ReproduceArgs),
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Test => test(),
        Chore::Bench => cargo(&["bench", "--package", "dupack-lab"]),
        Chore::PeersNs2(args) => ns2::run(&args),
        Chore::PeersNs3(args) => ns3::run(&args),
        Chore::AgreeNs2(args) => cargo(&args.command()),
        Chore::Reproduce(args) => reproduce::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ])?;
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"])?;
    cargo(&["test", "--workspace"])
}

/// Runs cargo with `args`, showing what is run.
fn cargo<S: AsRef<OsStr>>(args: &[S]) -> Result<(), String> {
    let words: Vec<_> = args.iter().map(|a| a.as_ref().to_string_lossy()).collect();
    eprintln!("$ cargo {}", words.join(" "));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(args)
        .env("RUSTDOCFLAGS", "--deny warnings")
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`cargo {}` failed", words.join(" ")))
    }
}
