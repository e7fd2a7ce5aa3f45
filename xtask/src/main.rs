//! The project's development tasks. The most important one is `cargo xtask test`.

mod elsewhere;
mod english;
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
    after_help = "Measurements beside other programs: cargo measure --help."
)]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run all checks that every change must pass: format, lint, documentation, tests, README's commands, and the limit
    /// of instructions per packet. Checks whose programs are not installed are skipped and listed at the end.
    Test(test::TestArgs),
    /// Run the part of `test` that runs at the same time as the tests.
    #[command(hide = true)]
    Beside(test::BesideArgs),
    /// Run the simulator's benchmarks, and count instructions per packet.
    Bench,
    /// Count instructions per packet and compare them with xtask/instructions.toml (needs valgrind).
    Count(instructions::CountArgs),
    /// Build the endpoint for a machine without an operating system, and run experiments in WebAssembly (`test` only
    /// builds the endpoint, `test --all` does both).
    Elsewhere,
    /// Pack each crate, and check the packages outside the workspace (a part of `test --all`).
    Package,
    /// Run the long version of a test: transfers of 100 MB in both directions at once through 5 % loss in both
    /// directions, between every recovery and this machine's kernel, with every byte checked (needs Linux and the right
    /// to create network namespaces; takes minutes).
    Interop(interop::InteropArgs),
    /// Run the fuzzers of packets, connections and captures (needs a nightly compiler and cargo-fuzz).
    Fuzz(fuzz::FuzzArgs),
    /// Check that every survivor of `cargo mutants` has a reason in xtask/mutants.toml.
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
    cargo(&[
        "bench",
        "--package",
        "dupack-engine",
        "--bench",
        "simulation",
    ])?;
    if let Some(left_out) = instructions::gate_where_possible()? {
        eprintln!("skipped: {left_out}");
    }
    Ok(())
}
