//! The project's chores. `cargo xtask test` is the one that everybody runs.

mod build;
mod fuzz;
mod instructions;
mod interop;
mod ns2;
mod ns3;
mod optimise;
mod peers;
mod profile;
mod reproduce;
mod testbed;
mod wire_speed;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

use instructions::Counting;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's chores.")]
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
    /// Build dupack by a profile of its own work, which makes it faster: docs/performance.md says by how
    /// much (needs `rustup component add llvm-tools`, and some minutes).
    Optimise,
    /// The long form of a test: 100 MB both ways at once through 5 % loss both ways, between every recovery and this
    /// machine's kernel, every byte checked (needs Linux and the right to make network namespaces; takes minutes).
    Interop(interop::InteropArgs),
    /// Let the fuzzers of packets and connections work for a while (needs a nightly compiler and cargo-fuzz).
    Fuzz(fuzz::FuzzArgs),
    /// Run ns-2, ns-3 and htsim beside dupack on the same work, and write docs/performance.md.
    Peers(peers::PeersArgs),
    /// Measure what the endpoint moves over TUN, beside smoltcp and the kernel, and write
    /// docs/wire-speed.md.
    WireSpeed(wire_speed::WireSpeedArgs),
    /// Measure ns-2.35 anew on the scenarios in peers/ns2 (needs the Debian package `ns2`).
    PeersNs2(ns2::Ns2Args),
    /// Measure ns-3.37 anew on the scenarios in peers/ns3 (needs the Debian package `libns3-dev`).
    PeersNs3(ns3::Ns3Args),
    /// Compare the dialect `ns2` with what ns-2.35 did, and write docs/ns2-agreement.md.
    AgreeNs2(ns2::AgreeArgs),
    /// LE's testbed on real packets and today's kernel beside it, into docs/testbed.md; the machine
    /// must be quiet (the best part of an hour).
    Testbed(testbed::TestbedArgs),
    /// Rerun every paper at full scale, and write docs/reproduction.md with its figures.
    Reproduce(reproduce::ReproduceArgs),
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
        Chore::Optimise => optimise::run(),
        Chore::Interop(args) => interop::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Peers(args) => peers::run(&args),
        Chore::WireSpeed(args) => wire_speed::run(&args),
        Chore::PeersNs2(args) => ns2::run(&args),
        Chore::PeersNs3(args) => ns3::run(&args),
        Chore::AgreeNs2(args) => cargo(&args.command()),
        Chore::Testbed(args) => cargo(&args.command()),
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

/// Runs cargo with `args`, showing what is run.
fn cargo<S: AsRef<OsStr>>(args: &[S]) -> Result<(), String> {
    succeed(command(args).env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Cargo with `args`, in the workspace.
fn command<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(args);
    command
}

/// Runs a command, showing what is run.
fn succeed(command: &mut Command) -> Result<(), String> {
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
