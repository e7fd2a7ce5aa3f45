//! `cargo xtask test`: the tests, in three tiers.
//!
//! 1. `cargo xtask test`: the checks that every change must pass, within a budget of processor time (docs/testing.md).
//! 2. `--all`: before a release. The same tests with larger volumes, the tests marked `#[ignore]`, notebooks, README's
//!    long commands as they are written, packages, and ten minutes of each fuzzer.
//! 3. `--only CRATE…`: during development. The lint of a crate, and its tests that do not use the wall clock.
//!
//! Checks whose requirements are missing are skipped and listed at the end; with `--require-all` they fail before
//! anything is built.

mod beside;
mod only;
mod programs;
pub mod steps;

use clap::Args;
use dupack_build::{cargo, target};

use crate::{english, fuzz, instructions, needs, python, readme};
use beside::Beside;
use programs::{Program, TestCounts};
use steps::Steps;

pub use beside::{BesideArgs, work as beside};

#[derive(Args)]
pub struct TestArgs {
    /// Run everything, as before a release: every test with its largest volume, all features, packages, notebooks,
    /// README's long commands, and ten minutes of each fuzzer. Takes hours
    #[arg(long, conflicts_with = "only")]
    all: bool,
    /// Run only the tests of these crates that do not use the wall clock, and their lint. `net` is `dupack-net`
    #[arg(long, value_name = "CRATE", num_args = 1.., conflicts_with_all = ["record", "require_all"])]
    only: Vec<String>,
    /// Fail if a program or a target that some test needs is not installed, instead of skipping the test
    #[arg(long)]
    require_all: bool,
    /// Write the table of steps into docs/testing.md; needs an empty target folder
    #[arg(long, conflicts_with = "all")]
    record: bool,
}

/// Extent of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Checks that every change must pass.
    Change,
    /// Everything, before a release.
    Release,
}

/// Environment variable for the volume of the tests. `tools/testing` and `python/tests/conftest.py` read the variable.
pub const VOLUME: &str = "DUPACK_TEST_VOLUME";
/// Value of the variable before a release.
pub const RELEASE: &str = "release";

/// Prefix of the line by which a test reports that it was skipped.
const MARK: &str = "***";

/// Arguments that build the tests of all crates and the library that is the compiled half of the Python package. One
/// call builds both, so that cargo unifies the features of all crates and their tests for both. Examples are left out:
/// no test runs them, and clippy compiles them.
const TESTS: [&str; 4] = ["build", "--workspace", "--lib", "--tests"];

/// The manifest of the workspace of instruments.
const VALIDATION: &str = "validation/Cargo.toml";

/// Arguments that format the workspace of instruments. `cargo fmt` accepts a virtual workspace only if its members are
/// named, or with `--all`, which would include the crates of the product.
const INSTRUMENTS_FORMAT: [&str; 10] = [
    "fmt",
    "--check",
    "--manifest-path",
    VALIDATION,
    "--package",
    "dupack-measure",
    "--package",
    "dupack-validation-diagnosis",
    "--package",
    "dupack-validation-testbed",
];

/// Arguments for the unit tests of `cargo measure`. These tests need few other crates. The lint of the whole workspace
/// of instruments runs only before a release.
const MEASURE_TESTS: [&str; 6] = [
    "build",
    "--manifest-path",
    VALIDATION,
    "--package",
    "dupack-measure",
    "--tests",
];

/// Runs the tests of a tier.
///
/// # Errors
/// If any check fails, or if a requirement is missing with `--require-all`.
pub fn run(args: &TestArgs) -> Result<(), String> {
    if !args.only.is_empty() {
        return only::run(&args.only);
    }
    let tier = match args.all {
        true => Tier::Release,
        false => Tier::Change,
    };
    let from_nothing = is_from_nothing();
    if args.record && !from_nothing {
        return Err(format!(
            "`--record` needs an empty target folder: remove {} (`cargo clean`)",
            target().display()
        ));
    }
    let missing = needs::missing();
    // The list is also shown at the beginning, so that a user need not wait for the end of the tests to see the missing
    // requirements.
    let mut left_out: Vec<String> = missing.iter().map(|need| need.message()).collect();
    left_out.extend(python::missing());
    if args.require_all && !left_out.is_empty() {
        return Err(format!("missing requirements:\n{}", left_out.join("\n")));
    }
    announce(&left_out);
    let mut steps = Steps::default();
    let outcome = all_steps(tier, &mut steps)?;
    eprint!("\n{}", steps.table());
    left_out.extend(outcome.skipped);
    left_out.sort();
    left_out.dedup();
    announce(&left_out);
    let (passed, failed, ignored) = (outcome.passed, outcome.failed, outcome.ignored);
    println!("{passed} passed, {failed} failed, {ignored} skipped");
    if tier == Tier::Change && from_nothing {
        within_budget(&steps, args.record)?;
    }
    Ok(())
}

/// Number of programs that use the wall clock and run at the same time. Each of these programs tolerates a load of
/// four.
const CLOCK_AT_ONCE: usize = 2;

fn all_steps(tier: Tier, steps: &mut Steps) -> Result<TestCounts, String> {
    steps.take("format", || {
        cargo(&["fmt", "--all", "--check"])?;
        cargo(&INSTRUMENTS_FORMAT)
    })?;
    steps.take("English", english::check)?;
    let with_python = python::missing().is_none();
    let programs = steps.take("build the tests", || {
        let mut programs = programs::build(&TESTS)?;
        programs.extend(programs::build(&MEASURE_TESTS)?);
        Ok(programs)
    })?;
    let (clock, others): (Vec<&Program>, Vec<&Program>) =
        programs.iter().partition(|program| program.uses_the_clock);
    let beside = Beside::start(tier)?;
    // The next steps run even if a test fails, so that all failures are known at once.
    let tested = steps.take("tests", || programs::run(&others, 1, tier));
    let followed = steps.take("README", || readme::check(tier));
    let python = steps.take("Python package", || match with_python {
        true => python::test(tier),
        false => Ok(()),
    });
    // Other load does not change the counts.
    let counted = steps.take("instructions", instructions::gate_where_possible);
    let ended = steps.take("wait for what runs beside", || beside.end());
    let failed: Vec<&String> = [
        tested.as_ref().err(),
        followed.as_ref().err(),
        python.as_ref().err(),
        counted.as_ref().err(),
        ended.as_ref().err(),
    ]
    .into_iter()
    .flatten()
    .collect();
    if failed.len() > 1 {
        let failed: Vec<&str> = failed.into_iter().map(String::as_str).collect();
        return Err(failed.join("\nerror: "));
    }
    let mut outcome = tested?;
    outcome.skipped.extend(followed?);
    python?;
    outcome.skipped.extend(counted?);
    let (theirs, skipped) = ended?;
    steps.took_beside(theirs);
    outcome.skipped.extend(skipped);
    outcome.add(steps.take("tests that use the wall clock", || {
        programs::run(&clock, CLOCK_AT_ONCE, tier)
    })?);
    if tier == Tier::Release {
        outcome.skipped.extend(steps.take("fuzzers", fuzz::all)?);
    }
    Ok(outcome)
}

/// Returns `true` if none of our crates has been built yet. Only then is the processor time comparable with the budget.
fn is_from_nothing() -> bool {
    let built = target().join("debug/deps");
    let entries = std::fs::read_dir(built).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    !names.any(|name| name.starts_with("libdupack_tcp"))
}

/// Accepted ratio of processor time to budget. On processors that share a core, or on a busy host, the processor time
/// of the same work is larger by up to this factor.
const NOISE: f64 = 1.2;

/// Compares the processor time of all steps with the budget. On a slower machine, the budget is larger in proportion.
fn within_budget(steps: &Steps, record: bool) -> Result<(), String> {
    let slowness = instructions::slowness()?;
    let (budget, took) = (steps::budget_s()?, steps.processor_s());
    let here = budget * slowness.factor();
    let sentence = format!(
        "{}; {took:.0} s of processor time in all, of the {here:.0} s that the budget allows on such a machine.",
        slowness.message()
    );
    eprintln!("{sentence}");
    if record {
        steps.record(&sentence)?;
    }
    match took <= here * NOISE {
        true => Ok(()),
        false => Err(format!(
            "{sentence} The table above shows the cost of each step: make a step cheaper, move it to `--all`, or raise the budget in \
             {} with the reason.",
            steps::PAGE
        )),
    }
}

/// Returns the message of a line that reports a skipped test.
fn skip_in(line: &str) -> Option<String> {
    let told = line.strip_prefix(MARK)?.trim();
    Some(told.strip_prefix("SKIPPED: ").unwrap_or(told).to_owned())
}

/// Prints the skipped checks.
fn announce(left_out: &[String]) {
    if left_out.is_empty() {
        return;
    }
    eprintln!("\n{MARK} SKIPPED ON THIS MACHINE:");
    for told in left_out {
        eprintln!("{MARK}   {told}");
    }
    eprintln!("{MARK} `cargo xtask test --require-all` fails if a program or target is missing.\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_the_mark_reports_a_skipped_test() {
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
