//! The `dupack` command: a table of contents of what it can do.

#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

/// Says a line on standard error, as [`output::say`] does.
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
    /// Put the shards of an experiment together, as if one machine had done all of its runs
    Merge(merge::MergeArgs),
    /// Follow one flow packet by packet: time–sequence figure, pcapng, CSV
    Trace(Box<trace::TraceArgs>),
    /// Read a capture: what limited its transfers, why segments were sent again, which sender it was
    Diagnose(Box<diagnose::DiagnoseArgs>),
    /// Rerun a paper's experiments and judge its claims
    Papers(papers::PapersArgs),
    /// Judge a stack by RFC 9743's criteria: a report card
    Evaluate(evaluate::EvaluateArgs),
    /// Send standard input to a TCP server, and print what comes back
    #[cfg(target_os = "linux")]
    Send(send::SendArgs),
    /// Accept a TCP connection, and print what comes
    #[cfg(target_os = "linux")]
    Receive(receive::ReceiveArgs),
    /// Compare senders on real packets, over an emulated path to this machine's kernel
    #[cfg(target_os = "linux")]
    Testbed(Box<testbed::TestbedArgs>),
    /// Run any program behind an emulated path, unchanged
    #[cfg(target_os = "linux")]
    Shell(Box<shell::ShellArgs>),
    /// Play packetdrill scripts against the endpoint, in simulated time
    Script(script::ScriptArgs),
    /// List the algorithms that stacks are made of
    Stacks(stacks::StacksArgs),
    /// Print the JSON Schema of experiment files, or of diagnoses
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

/// Says what is wrong with the arguments, or the help that was asked for, and ends. The exit codes of
/// `dupack shell` are its command's, but for one.
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

/// The exit code of a shell that failed itself, as env(1) and docker have it.
const SHELL_FAILED: i32 = 125;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// Lines that are broken by hand fit a terminal of the usual width: a narrower one breaks them
    /// again, in the middle of what was one line.
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
