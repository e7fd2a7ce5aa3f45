//! Checks that run at the same time as the tests, with a lower priority. They need only processor time.
//!
//! This program starts itself as a second process, so that all checks have a common priority. Tests that use the wall
//! clock begin when this process has ended.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use clap::Args;
use dupack_build::{cargo, target};

use super::steps::{Step, Steps};
use super::{MARK, Tier, VALIDATION as MANIFEST, skip_in};
use crate::{elsewhere, fuzz, needs, packages};

#[derive(Args)]
pub struct BesideArgs {
    /// Run the checks for a release
    #[arg(long)]
    all: bool,
    /// File for the times of the steps.
    #[arg(long)]
    steps: PathBuf,
}

/// Arguments of the lint for a change. All features, examples, benchmarks and the compiled half of the Python package
/// are checked only before a release: The output of PNG and PDF alone needs as many crates as everything else; Arrow,
/// Parquet and PyO3 need a fifth of that number. The tests compile the Python part, too.
const CLIPPY: [&str; 7] = [
    "clippy",
    "--workspace",
    "--exclude",
    "dupack-python",
    "--lib",
    "--bins",
    "--tests",
];
const DENY: [&str; 3] = ["--", "--deny", "warnings"];
const CLIPPY_ALL: [&str; 4] = ["clippy", "--workspace", "--all-targets", "--all-features"];
const DOCTESTS: [&str; 4] = ["test", "--workspace", "--doc", "--quiet"];
/// Arguments of the lint for the workspace of instruments.
const VALIDATION: [&str; 5] = [
    "clippy",
    "--locked",
    "--manifest-path",
    MANIFEST,
    "--all-targets",
];
/// Arguments for the documentation. The features are those of [`CLIPPY`], so that no crate is checked twice. The
/// compiled half of the Python package has no pages.
const DOC: [&str; 6] = [
    "doc",
    "--workspace",
    "--exclude",
    "dupack-python",
    "--no-deps",
    "--quiet",
];

/// Runs lint, documentation and the checks for other machines. Before a release, also checks fuzzers and packages.
///
/// # Errors
/// If any check fails.
pub fn work(args: &BesideArgs) -> Result<(), String> {
    let mut steps = Steps::default();
    let done = steps_of(args.all, &mut steps);
    let text = serde_json::to_string(&steps.done).map_err(|e| e.to_string())?;
    fs::write(&args.steps, text)
        .map_err(|e| format!("cannot write {}: {e}", args.steps.display()))?;
    if let Some(told) = done? {
        eprintln!("{MARK} {told}");
    }
    Ok(())
}

fn steps_of(all: bool, steps: &mut Steps) -> Result<Option<String>, String> {
    let lint = match all {
        true => [&CLIPPY_ALL[..], &DENY].concat(),
        false => [&CLIPPY[..], &DENY].concat(),
    };
    steps.take("lint", || cargo(&lint))?;
    steps.take("documentation", || cargo(&DOC))?;
    steps.take("examples in the documentation", || cargo(&DOCTESTS))?;
    let tier = if all { Tier::Release } else { Tier::Change };
    steps.take("other platforms", || elsewhere::check(tier))?;
    if !all {
        return Ok(None);
    }
    steps.take("validation", || cargo(&[&VALIDATION[..], &DENY].concat()))?;
    steps.take("packages", packages::check)?;
    steps.take("fuzzers compile", fuzz::check)
}

/// A process of this program that runs [`work`].
pub struct Beside {
    program: Child,
    said: JoinHandle<Vec<u8>>,
    steps: PathBuf,
}

impl Beside {
    /// Starts the process.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn start(tier: Tier) -> Result<Self, String> {
        let failed = |e| format!("cannot run the checks beside the tests: {e}");
        let itself = std::env::current_exe().map_err(failed)?;
        let polite = cfg!(unix) && needs::Thing::Program("nice").is_here();
        let mut command = if polite {
            let mut nice = Command::new("nice");
            nice.arg(itself);
            nice
        } else {
            Command::new(itself)
        };
        let steps = target().join("steps-beside.json");
        let _ = fs::remove_file(&steps);
        command.arg("beside").arg("--steps").arg(&steps);
        if tier == Tier::Release {
            command.arg("--all");
        }
        command.stdin(Stdio::null());
        // Standard output and standard error share one pipe, so that their order is kept.
        let (mut reader, writer) = std::io::pipe().map_err(failed)?;
        let also = writer.try_clone().map_err(failed)?;
        let program = command.stdout(writer).stderr(also).spawn();
        // Dropping the command closes the writing end of the pipe in this process.
        drop(command);
        let program = program.map_err(failed)?;
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = reader.read_to_end(&mut said);
            said
        });
        Ok(Self {
            program,
            said,
            steps,
        })
    }

    /// Waits for the process, shows its output, and returns its steps and the skipped checks.
    ///
    /// # Errors
    /// If any check failed.
    pub fn end(mut self) -> Result<(Vec<Step>, Vec<String>), String> {
        let failed = |e| format!("lost the checks beside the tests: {e}");
        let status = self.program.wait().map_err(failed)?;
        let said = self.said.join().unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        eprintln!("{said}");
        if !status.success() {
            return Err("a check beside the tests failed; its output is above".to_owned());
        }
        let text = fs::read_to_string(&self.steps).map_err(failed)?;
        let steps = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        Ok((steps, said.lines().filter_map(skip_in).collect()))
    }
}
