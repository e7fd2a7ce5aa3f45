//! Integration tests of this crate in one test program.

mod clusters;
mod command;
mod deploy;
mod diagnose;
mod evaluate;
mod killed;
mod limits;
mod path;
mod resume;
mod script;
mod shard;
mod stream;
mod trace;

use dupack_testing::analysers;

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

    /// Returns the lines of a journal with correct checksums, regardless of their contents.
    pub fn forged(journal: &str) -> String {
        let line = |line: &str| {
            let text = &line[..line.rfind(",\"sum\":").unwrap()];
            let sum = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
            format!("{text},\"sum\":\"{sum:016x}\"}}\n")
        };
        journal.lines().map(line).collect()
    }
}
