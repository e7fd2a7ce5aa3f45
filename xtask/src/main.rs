//! The project's chores. `cargo xtask test` is the one that everybody runs.

mod fuzz;
mod instructions;
mod interop;
mod profile;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dupack_build::{cargo, command, succeed};

use instructions::Counting;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "The project's chores.",
    after_help = "What dupack is measured against: cargo measure --help."
)]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Format check, lint, documentation, every test, and the gate on instructions per packet: what
    /// continuous integration runs.
    Test(TestArgs),
    /// The benchmarks, and instructions per packet: for watching our own speed.
    Bench,
    /// Count instructions per packet and compare them with xtask/instructions.toml (needs valgrind).
    Count(instructions::CountArgs),
    /// The long form of a test: 100 MB both ways at once through 5 % loss both ways, between every recovery and this
    /// machine's kernel, every byte checked (needs Linux and the right to make network namespaces; takes minutes).
    Interop(interop::InteropArgs),
    /// Let the fuzzers of packets and connections work for a while (needs a nightly compiler and cargo-fuzz).
    Fuzz(fuzz::FuzzArgs),
    /// What is measured beside other programs: `cargo measure`, which this leads to.
    #[command(external_subcommand)]
    Measurement(Vec<OsString>),
}

#[derive(clap::Args)]
struct TestArgs {
    /// Leave the gate on instructions per packet out.
    #[arg(long)]
    without_valgrind: bool,
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Test(args) => test(&args),
        Chore::Bench => bench(),
        Chore::Count(args) => instructions::run(&args),
        Chore::Interop(args) => interop::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Measurement(words) => measure(&words),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The measurements, which were chores once, by the names that they had.
const MEASUREMENTS: [&str; 8] = [
    "peers",
    "optimise",
    "wire-speed",
    "peers-ns2",
    "peers-ns3",
    "agree-ns2",
    "testbed",
    "reproduce",
];

/// Hands a measurement over to the program that has it.
fn measure(words: &[OsString]) -> Result<(), String> {
    let name = words.first().map(|name| name.to_string_lossy());
    match name {
        Some(name) if MEASUREMENTS.contains(&&*name) => {
            let cargo = ["run", "--quiet", "--package", "dupack-measure", "--"];
            succeed(command(&cargo).args(words))
        }
        name => Err(format!(
            "there is no chore `{}`: `cargo xtask --help` lists them, and `cargo measure --help` the measurements",
            name.unwrap_or_default()
        )),
    }
}

fn test(args: &TestArgs) -> Result<(), String> {
    // Asked first, so that nobody waits for the tests to learn that something must be installed.
    let gate = match args.without_valgrind {
        true => None,
        false => Some(instructions::available()?),
    };
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ])?;
    fuzz::check()?;
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"])?;
    cargo(&["test", "--workspace"])?;
    match gate {
        Some(Counting::Possible) => instructions::gate(),
        Some(Counting::Elsewhere) => {
            eprintln!("SKIPPED: instructions per packet, which are counted on x86-64 Linux only");
            Ok(())
        }
        None => {
            eprintln!("SKIPPED: instructions per packet, as asked");
            Ok(())
        }
    }
}

fn bench() -> Result<(), String> {
    let counting = instructions::available();
    cargo(&["bench", "--package", "dupack-lab", "--bench", "simulation"])?;
    match counting {
        Ok(Counting::Possible) => instructions::gate(),
        Ok(Counting::Elsewhere) => Ok(()),
        Err(message) => Err(message),
    }
}
