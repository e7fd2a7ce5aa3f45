//! The `dupack` command: a table of contents of what it can do.

mod args;
mod compare;
#[cfg(target_os = "linux")]
mod endpoint;
mod output;
mod papers;
mod progress;
mod run;
mod stacks;
#[cfg(target_os = "linux")]
mod testbed;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Compare(args) => compare::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Trace(args) => trace::run(&args),
        #[cfg(target_os = "linux")]
        Command::Send(args) => endpoint::send(&args),
        #[cfg(target_os = "linux")]
        Command::Receive(args) => endpoint::receive(&args),
        #[cfg(target_os = "linux")]
        Command::Testbed(args) => testbed::run(&args),
        Command::Papers(args) => papers::run(&args),
        Command::Stacks(args) => stacks::run(&args),
        Command::Schema => stacks::schema(),
    };
    match result {
        Ok(code) => code,
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::from(2)
        }
    }
}
