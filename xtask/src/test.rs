//! `cargo xtask test`: everything that a change must pass.
//!
//! What a machine lacks is left out, and said at the end; `--require-all` fails instead, before
//! anything is built.

use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::Stdio;

use clap::Args;
use dupack_build::{cargo, command};

use crate::{elsewhere, fuzz, instructions, needs, packages};

#[derive(Args)]
pub struct TestArgs {
    /// Fail if a program or a target that some test needs is not installed, instead of leaving the
    /// test out
    #[arg(long)]
    require_all: bool,
}

/// What a line begins with by which a test says that it was skipped.
const MARK: &str = "***";

/// # Errors
/// If anything that was run failed, or all was required and something is missing.
pub fn run(args: &TestArgs) -> Result<(), String> {
    let missing = needs::missing();
    // Said first as well, so that nobody waits for the tests to learn what must be installed.
    let mut left_out: Vec<String> = missing.iter().map(|need| need.told()).collect();
    if args.require_all && !missing.is_empty() {
        return Err(format!("not all is here:\n{}", left_out.join("\n")));
    }
    announce(&left_out);
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "--deny",
        "warnings",
    ])?;
    left_out.extend(fuzz::check()?);
    elsewhere::check()?;
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"])?;
    left_out.extend(tests()?);
    packages::check()?;
    left_out.extend(instructions::gate_where_possible()?);
    left_out.sort();
    left_out.dedup();
    announce(&left_out);
    Ok(())
}

/// All tests of the workspace; which of them were skipped, as they say it themselves.
fn tests() -> Result<Vec<String>, String> {
    let words = ["test", "--workspace"];
    let mut command = command(&words);
    // Read here, it is no terminal any more.
    if std::io::stderr().is_terminal() && std::env::var_os("CARGO_TERM_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let words = words.join(" ");
    eprintln!("$ cargo {words}");
    let failed = |e| format!("cannot run `cargo {words}`: {e}");
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    let mut skipped = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let mut lines = BufReader::new(stderr);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            let _ = std::io::stderr().write_all(&line);
            skipped.extend(skip_in(&String::from_utf8_lossy(&line)));
            line.clear();
        }
    }
    if !child.wait().map_err(failed)?.success() {
        return Err(format!("`cargo {words}` failed"));
    }
    Ok(skipped)
}

/// What a line says was skipped.
fn skip_in(line: &str) -> Option<String> {
    let told = line.strip_prefix(MARK)?.trim();
    Some(told.strip_prefix("SKIPPED: ").unwrap_or(told).to_owned())
}

/// Says loudly what is left out.
fn announce(left_out: &[String]) {
    if left_out.is_empty() {
        return;
    }
    eprintln!("\n{MARK} LEFT OUT ON THIS MACHINE:");
    for told in left_out {
        eprintln!("{MARK}   {told}");
    }
    eprintln!(
        "{MARK} `cargo xtask test --require-all` fails where a program or target is missing.\n"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_the_mark_is_a_skip() {
        let skip = |line| skip_in(line);
        assert_eq!(
            skip("*** SKIPPED: tshark is not installed\n").as_deref(),
            Some("tshark is not installed")
        );
        assert_eq!(
            skip("*** curl_gets IS SKIPPED: curl is not installed").as_deref(),
            Some("curl_gets IS SKIPPED: curl is not installed")
        );
        assert_eq!(skip("test a_test ... ok"), None);
    }
}
