//! `cargo measure conformance`: runs packetdrill scripts against our endpoint, and our own scripts also against the
//! kernel of this machine, and writes docs/conformance.md.
//!
//! The result of each script is stored in `validation/peers/packetdrill`, so that the page can be written without the
//! scripts of other projects, which are not in the repository.

mod conformance_page;
mod kernel;
mod reasons;
mod results;
mod suites;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use conformance_page::Page;
use kernel::Kernel;
use reasons::Reasons;
use results::{Results, ScriptOutcome};
use suites::{Scope, Suite, Suites};

#[derive(Args)]
pub struct ConformanceArgs {
    /// Folders with scripts of other projects: gtests/net/tcp of google/packetdrill,
    /// tools/testing/selftests/net/packetdrill of Linux, or gtests/net/tcp/accecn of minuscat/packetdrill_accecn.
    /// Suites without a folder here keep their stored results
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Also run our own scripts against the kernel of this machine, in a network namespace (requires root)
    #[arg(long)]
    kernel: bool,
    /// Path of the packetdrill program that `--kernel` runs
    #[arg(long, value_name = "PATH", default_value = "packetdrill")]
    packetdrill: PathBuf,
}

/// Folder of the stored results, `suites.toml` and `reasons.toml`.
const DATA: &str = "validation/peers/packetdrill";
const PAGE: &str = "docs/conformance.md";
/// Folder of our own scripts.
const OURS: &str = "crates/script/conformance";

/// Stacks whose results with our own scripts are listed: the recoveries with Reno, and CUBIC, Reno and Westwood with
/// RACK.
const STACKS: [&str; 11] = [
    "rack/cubic",
    "rack/reno",
    "rack/westwood",
    "sack/reno",
    "fack/reno",
    "momentary/reno",
    "le/reno",
    "le/westwood",
    "newreno/reno",
    "reno/reno",
    "tahoe/reno",
];

/// Runs the command.
///
/// # Errors
/// If a file cannot be read or written, a program cannot be run, or the results do not match `reasons.toml`.
pub fn run(args: &ConformanceArgs) -> Result<(), String> {
    let data = dupack_build::root().join(DATA);
    let suites = Suites::read(&data.join("suites.toml"))?;
    let reasons = Reasons::read(&data.join("reasons.toml"))?;
    for folder in &args.folders {
        let suite = suites.of(folder)?;
        let results = played(folder, suite)?;
        results.write(&data.join(format!("{}.csv", suite.key)))?;
        eprintln!("{}: {}", suite.name, results.in_short());
    }
    let ours = dupack_build::root().join(OURS);
    if args.kernel {
        let kernel = Kernel::new(&args.packetdrill)?;
        let results = kernel.play(&ours)?;
        results.write(&data.join("kernel.csv"))?;
        eprintln!("{}: {}", results.revision, results.in_short());
    }
    let mut stacks = Vec::new();
    for stack in STACKS {
        stacks.push((stack, dupack(&ours, &["--stack", stack])?));
    }
    let mut known = Vec::new();
    for suite in &suites.suites {
        if let Some(results) = Results::read(&data.join(format!("{}.csv", suite.key)))? {
            known.push((suite, results));
        }
    }
    let page = Page {
        suites: &known,
        ours: &dupack(&ours, &[])?,
        stacks: &stacks,
        kernel: Results::read(&data.join("kernel.csv"))?,
        reasons: &reasons,
    };
    let out = dupack_build::root().join(PAGE);
    fs::write(&out, page.text()).map_err(|e| format!("cannot write {PAGE}: {e}"))?;
    eprintln!("written to {PAGE}");
    complaints(&page)
}

/// Runs the scripts in a folder, and records their version.
fn played(folder: &Path, suite: &Suite) -> Result<Results, String> {
    let mtu = suite.mtu_ipv6.map(|mtu| mtu.to_string());
    let mut results = match &mtu {
        Some(mtu) => dupack(folder, &["--mtu-ipv6", mtu])?,
        None => dupack(folder, &[])?,
    };
    results.revision = revision(folder).unwrap_or_else(|| "of an unknown version".to_owned());
    Ok(results)
}

/// Runs the scripts in a folder with the example `play`, which does the same as `dupack script` and is faster to build.
fn dupack(folder: &Path, more: &[&str]) -> Result<Results, String> {
    let fixed = "run --quiet --package dupack-script --example play -- --json";
    let words: Vec<&str> = fixed.split(' ').chain(more.iter().copied()).collect();
    let (text, _) = dupack_build::output(dupack_build::command(&words).arg(folder))?;
    Results::of_json(&text, folder)
}

/// Returns the version of the repository that contains a folder, or the contents of a file named `revision` in the
/// folder.
fn revision(folder: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(folder.join("revision")) {
        return Some(text.trim().to_owned());
    }
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(folder);
    git.args(["describe", "--always", "--tags", "--dirty"]);
    let (text, _) = dupack_build::output(&mut git).ok()?;
    Some(text.trim().to_owned())
}

/// Returns an error that lists failing scripts without a reason in `reasons.toml`, and reasons whose script does not
/// fail.
fn complaints(page: &Page<'_>) -> Result<(), String> {
    let mut lines = Vec::new();
    let mut look = |key: &str, results: &Results, counts: &dyn Fn(&str) -> bool| {
        for result in results.failed().filter(|result| counts(&result.script)) {
            if page.reasons.find(key, &result.script).is_none() {
                lines.push(format!("{key}: {} fails: {}", result.script, result.reason));
            }
        }
        for script in page.reasons.scripts(key) {
            let fails =
                |r: &results::Played| r.script == script && r.outcome == ScriptOutcome::Failed;
            if !results.played.iter().any(fails) {
                lines.push(format!("{key}: {script} does not fail, but has a reason"));
            }
        }
    };
    for (suite, results) in page.suites {
        look(&suite.key, results, &|script| {
            suite.scope(script) != Scope::Out
        });
    }
    if let Some(kernel) = &page.kernel {
        look("kernel", kernel, &|_| true);
    }
    look("ours", page.ours, &|_| true);
    match lines.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{DATA}/reasons.toml does not match the results:\n{}",
            lines.join("\n")
        )),
    }
}

/// Suites with known results.
type Known<'s> = [(&'s Suite, Results)];
