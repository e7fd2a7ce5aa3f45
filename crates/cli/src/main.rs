//! The `dupack` command and its subcommands.

#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

/// Prints a line to standard error, like [`output::say`].
macro_rules! say {
    ($($text:tt)*) => { $crate::output::say(&format!($($text)*)) };
}

mod compare;
mod deliver;
mod diagnose;
#[cfg(target_os = "linux")]
mod endpoint;
mod evaluate;
mod flags;
mod input;
mod merge;
mod output;
mod papers;
mod progress;
#[cfg(target_os = "linux")]
mod receive;
mod run;
mod schema;
mod script;
#[cfg(target_os = "linux")]
mod send;
mod shard;
#[cfg(target_os = "linux")]
mod shell;
mod stacks;
mod stream;
#[cfg(target_os = "linux")]
mod testbed;
mod told;
mod trace;
mod wire;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use dupack_algorithms::catalog::Catalog;

use flags::Given;

/// TCP loss recovery, from paper to packets: which sender should this path have, and what would
/// it gain?
#[derive(Debug, Parser)]
#[command(name = "dupack", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare stacks on a path: goodput, retransmissions, timeouts, queueing delay
    Compare(Box<compare::CompareArgs>),
    /// Run an experiment file
    Run(run::RunArgs),
    /// Merge the shards of an experiment into the results of all of its runs
    Merge(merge::MergeArgs),
    /// Trace flows packet by packet: time–sequence figure, pcapng, CSV
    Trace(Box<trace::TraceArgs>),
    /// Analyse a capture: limits of its transfers, causes of retransmissions, algorithm of the sender
    Diagnose(Box<diagnose::DiagnoseArgs>),
    /// Repeat the experiments of papers and judge their claims
    Papers(papers::PapersArgs),
    /// Judge a stack by the criteria of RFC 9743: a report card
    Evaluate(evaluate::EvaluateArgs),
    /// Send standard input to a TCP server, and print the response
    #[cfg(target_os = "linux")]
    Send(send::SendArgs),
    /// Accept a TCP connection, and print the received data
    #[cfg(target_os = "linux")]
    Receive(receive::ReceiveArgs),
    /// Compare senders on real packets, over an emulated path to this machine's kernel
    #[cfg(target_os = "linux")]
    Testbed(Box<testbed::TestbedArgs>),
    /// Run any program unchanged behind an emulated path
    #[cfg(target_os = "linux")]
    Shell(Box<shell::ShellArgs>),
    /// Run packetdrill scripts against the endpoint, in simulated time
    Script(script::ScriptArgs),
    /// List the algorithms of stacks, or show how to enable a stack in Linux
    Stacks(stacks::StacksArgs),
    /// Print the JSON Schema of experiment files or of diagnoses
    Schema(schema::SchemaArgs),
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = dupack_shell::stage(std::env::args_os()) {
        return ExitCode::from(code);
    }
    let catalog = Catalog::builtin();
    let matches = Cli::command().try_get_matches();
    let matches = matches.unwrap_or_else(|error| refuse(&error));
    let given = Given::of(&matches);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| refuse(&error));
    let result = match cli.command {
        Command::Compare(args) => compare::run(&args, &given, &catalog),
        Command::Run(args) => run::run(&args, &catalog),
        Command::Merge(args) => merge::run(&args, &catalog),
        Command::Trace(args) => trace::run(&args, &given, &catalog),
        Command::Diagnose(args) => diagnose::run(&args, &catalog),
        #[cfg(target_os = "linux")]
        Command::Send(args) => send::run(&args, &catalog),
        #[cfg(target_os = "linux")]
        Command::Receive(args) => receive::run(&args, &catalog),
        #[cfg(target_os = "linux")]
        Command::Testbed(args) => testbed::run(&args, &given, &catalog),
        #[cfg(target_os = "linux")]
        Command::Shell(args) => Ok(shell::run(&args, &catalog)),
        Command::Papers(args) => papers::run(&args),
        Command::Evaluate(args) => evaluate::run(&args, &catalog),
        Command::Script(args) => script::run(&args, &catalog),
        Command::Stacks(args) => stacks::run(&args, &catalog),
        Command::Schema(args) => schema::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(report) => {
            told::error(report.as_ref());
            ExitCode::from(2)
        }
    }
}

/// Prints the error in the arguments, or the requested help, and exits. The exit codes of `dupack shell` are those of
/// the command that it runs, except for `SHELL_FAILED`.
fn refuse(error: &clap::Error) -> ! {
    let is_shell = std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "shell");
    told::exit(
        error,
        if is_shell {
            SHELL_FAILED
        } else {
            error.exit_code()
        },
    )
}

/// Exit code of `dupack shell` for its own failures, as in env(1) and docker.
const SHELL_FAILED: i32 = 125;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_valid() {
        Cli::command().debug_assert();
    }

    /// The manual line breaks fit a terminal of 80 columns. A narrower terminal would break the lines again.
    #[test]
    fn help_is_at_most_80_columns_wide() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            for line in help.unwrap_or_default().lines() {
                let name = command.get_name();
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }
}
