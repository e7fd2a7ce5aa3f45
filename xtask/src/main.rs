//! The project's chores. `cargo xtask test` is the one that everybody runs.

mod elsewhere;
mod fuzz;
mod instructions;
mod interop;
mod mutants;
mod needs;
mod packages;
mod profile;
mod python;
mod readme;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dupack_build::cargo;

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
    /// Run what every change must pass: format, lint, documentation, tests, README's commands, and the gate on
    /// instructions per packet. What the machine lacks for it is left out, and said at the end.
    Test(test::TestArgs),
    /// The part of `test` that runs beside the tests.
    #[command(hide = true)]
    Beside(test::BesideArgs),
    /// The benchmarks, and instructions per packet: for watching our own speed.
    Bench,
    /// Count instructions per packet and compare them with xtask/instructions.toml (needs valgrind).
    Count(instructions::CountArgs),
    /// Build the endpoint for a machine without an operating system, and run experiments in WebAssembly (`test` builds
    /// the first, `test --all` does both).
    Elsewhere,
    /// Pack each crate, and check the packages with nothing of the workspace around them (a part of `test --all`).
    Package,
    /// The long form of a test: 100 MB both ways at once through 5 % loss both ways, between every recovery and this
    /// machine's kernel, every byte checked (needs Linux and the right to make network namespaces; takes minutes).
    Interop(interop::InteropArgs),
    /// Let the fuzzers of packets, connections and captures work for a while (needs a nightly compiler and cargo-fuzz).
    Fuzz(fuzz::FuzzArgs),
    /// Change the endpoint and the plug-ins in small ways, and see whether tests notice; writes docs/mutants.md (needs
    /// cargo-mutants; takes hours, and may be stopped and called again).
    Mutants(mutants::MutantsArgs),
}

fn main() -> ExitCode {
    let result = match Args::parse().chore {
        Chore::Test(args) => test::run(&args),
        Chore::Beside(args) => test::beside(&args),
        Chore::Bench => bench(),
        Chore::Elsewhere => elsewhere::check(test::Tier::Release),
        Chore::Package => packages::check(),
        Chore::Count(args) => instructions::run(&args),
        Chore::Interop(args) => interop::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Mutants(args) => mutants::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> Result<(), String> {
    cargo(&["bench", "--package", "dupack-lab", "--bench", "simulation"])?;
    if let Some(left_out) = instructions::gate_where_possible()? {
        eprintln!("left out: {left_out}");
    }
    Ok(())
}
