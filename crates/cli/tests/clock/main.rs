//! Tests that depend on the wall clock. They run without other tests at the same time.
#![cfg(target_os = "linux")]

mod card;
mod endpoint;
mod shell;
mod shell_end;
mod testbed;

use dupack_testing::{analysers, leftovers};

/// Support for these tests.
mod common {
    use std::process::Command;

    pub use dupack_testing::command::*;

    /// Returns the command with these arguments.
    pub fn dupack(args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dupack"));
        command.args(args);
        command
    }
}
