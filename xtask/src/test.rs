//! `cargo xtask test`: everything that a change must pass.
//!
//! What a machine lacks is left out, and said at the end; `--require-all` fails instead, before
//! anything is built.
//!
//! Many tests wait: for packets on the wire, for timers. What needs a processor and no attention runs
//! beside them, with a lower priority, and what it said is shown when it is done.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::Args;
use dupack_build::{cargo, command};

use crate::{elsewhere, fuzz, instructions, needs, packages, python};

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
    let no_python = python::missing();
    left_out.extend(no_python.clone());
    if args.require_all && !left_out.is_empty() {
        return Err(format!("not all is here:\n{}", left_out.join("\n")));
    }
    announce(&left_out);
    let mut steps = Steps::default();
    steps.take("format", || cargo(&["fmt", "--all", "--check"]))?;
    steps.take("lint", || cargo(&CLIPPY))?;
    steps.take("tests: build", || {
        cargo(&[&TESTS[..], &["--no-run"]].concat())
    })?;
    let beside = Beside::start()?;
    let tested = steps.take("tests", || tests(&TESTS));
    let beside = steps.take("what ran beside them", || beside.end());
    left_out.extend(tested?);
    left_out.extend(beside?);
    left_out.extend(steps.take("examples in the documentation", || tests(&DOCTESTS))?);
    if no_python.is_none() {
        steps.take("Python package", python::test)?;
    }
    left_out.extend(steps.take("instructions", instructions::gate_where_possible)?);
    eprint!("\n{}", steps.table());
    left_out.sort();
    left_out.dedup();
    announce(&left_out);
    Ok(())
}

/// What `test` runs beside the tests: the fuzzers compile, other machines, the documentation, packages.
///
/// # Errors
/// If any of it failed.
pub fn beside() -> Result<(), String> {
    let mut steps = Steps::default();
    let left_out = steps.take("fuzzers", fuzz::check)?;
    steps.take("other machines", elsewhere::check)?;
    steps.take("documentation", || cargo(&DOC))?;
    steps.take("packages", packages::check)?;
    eprint!("\n{}", steps.table());
    if let Some(told) = left_out {
        eprintln!("{MARK} {told}");
    }
    Ok(())
}

/// This program again, as [`beside`].
struct Beside {
    program: Child,
    said: JoinHandle<Vec<u8>>,
}

impl Beside {
    fn start() -> Result<Self, String> {
        let failed = |e| format!("cannot run what runs beside the tests: {e}");
        let itself = std::env::current_exe().map_err(failed)?;
        let polite = cfg!(unix) && needs::Thing::Program("nice").is_here();
        let mut command = if polite {
            let mut nice = Command::new("nice");
            nice.arg(itself);
            nice
        } else {
            Command::new(itself)
        };
        command.arg("beside").stdin(Stdio::null());
        // One pipe for both, in the order in which it was said.
        let (mut reader, writer) = std::io::pipe().map_err(failed)?;
        let also = writer.try_clone().map_err(failed)?;
        let program = command.stdout(writer).stderr(also).spawn();
        // With the command goes this end of the pipe.
        drop(command);
        let program = program.map_err(failed)?;
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = reader.read_to_end(&mut said);
            said
        });
        Ok(Self { program, said })
    }

    /// Waits for it, shows what it said, and answers with what it left out.
    fn end(mut self) -> Result<Vec<String>, String> {
        let failed = |e| format!("what ran beside the tests is lost: {e}");
        let status = self.program.wait().map_err(failed)?;
        let said = self.said.join().unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        eprintln!("\nBeside the tests:\n{said}");
        if status.success() {
            Ok(said.lines().filter_map(skip_in).collect())
        } else {
            Err("what ran beside the tests failed; it is above".to_owned())
        }
    }
}

const CLIPPY: [&str; 7] = [
    "clippy",
    "--workspace",
    "--all-targets",
    "--all-features",
    "--",
    "--deny",
    "warnings",
];
const DOC: [&str; 4] = ["doc", "--workspace", "--no-deps", "--quiet"];

/// Without the examples: no test runs them, and that they compile is clippy's to say.
const TESTS: [&str; 5] = ["test", "--workspace", "--lib", "--bins", "--tests"];
const DOCTESTS: [&str; 3] = ["test", "--workspace", "--doc"];

/// What has been done, and how long it took.
#[derive(Debug, Default)]
struct Steps {
    done: Vec<(&'static str, Duration)>,
}

impl Steps {
    fn take<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        #[expect(clippy::disallowed_methods, reason = "chores take real time")]
        let begin = Instant::now();
        let result = step();
        self.done.push((name, begin.elapsed()));
        result
    }

    /// A line for each, and their sum.
    fn table(&self) -> String {
        let all = ("all", self.done.iter().map(|(_, time)| *time).sum());
        let lines = self.done.iter().chain([&all]);
        let lines = lines.map(|(name, time)| format!("{name:30}{:>7.1} s\n", time.as_secs_f64()));
        lines.collect()
    }
}

/// Runs tests; which of them were skipped, as they say it themselves.
fn tests(words: &[&str]) -> Result<Vec<String>, String> {
    let mut command = command(words);
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
    fn the_table_of_steps_ends_with_their_sum() {
        let steps = Steps {
            done: vec![
                ("one", Duration::from_millis(1300)),
                ("two", Duration::from_secs(100)),
            ],
        };
        let expected = "\
one                               1.3 s
two                             100.0 s
all                             101.3 s
";
        assert_eq!(steps.table(), expected);
    }

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
