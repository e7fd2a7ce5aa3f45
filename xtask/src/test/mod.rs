//! `cargo xtask test`: the tests, in three tiers.
//!
//! 1. `cargo xtask test`: what every change must pass, within a budget of processor time (docs/testing.md).
//! 2. `--all`: before a release. The same tests with larger volumes, those marked `#[ignore]`, notebooks, README's long
//!    commands as they stand there, packages, minutes of each fuzzer.
//! 3. `--only CRATE…`: while working. The tests of a crate that do not use the wall clock, and its lint.
//!
//! What a machine lacks is left out, and said at the end; `--require-all` fails instead, before anything is built.

mod beside;
mod only;
mod programs;
pub mod steps;

use clap::Args;
use dupack_build::{cargo, target};

use crate::{fuzz, instructions, needs, python, readme};
use beside::Beside;
use programs::{Outcome, Program};
use steps::Steps;

pub use beside::{BesideArgs, work as beside};

#[derive(Args)]
pub struct TestArgs {
    /// Before a release: every test with its largest volume, all features, packages, notebooks, README's long commands,
    /// and ten minutes of each fuzzer. Takes hours
    #[arg(long, conflicts_with = "only")]
    all: bool,
    /// While working: the tests of these crates that do not use the wall clock, and their lint. `net` is `dupack-net`
    #[arg(long, value_name = "CRATE", num_args = 1.., conflicts_with_all = ["record", "require_all"])]
    only: Vec<String>,
    /// Fail if a program or a target that some test needs is not installed, instead of leaving the test out
    #[arg(long)]
    require_all: bool,
    /// Write the table of steps into docs/testing.md; it takes a build from nothing
    #[arg(long, conflicts_with = "all")]
    record: bool,
}

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// What every change must pass.
    Change,
    /// Everything, as before a release.
    Release,
}

/// Tells tests how much to try: `tools/volume` and `python/tests/conftest.py` read it.
pub const VOLUME: &str = "DUPACK_TEST_VOLUME";
/// Its value before a release.
pub const RELEASE: &str = "release";

/// What a line begins with by which a test says that it was skipped.
const MARK: &str = "***";

/// The tests of all crates, and the library that is the compiled half of the Python package: in one call, so that both have
/// the features that all crates with their tests have together. Without the examples: no test runs them, and that they
/// compile is clippy's to say.
const TESTS: [&str; 4] = ["build", "--workspace", "--lib", "--tests"];

/// # Errors
/// If anything that was run failed, or all was required and something is missing.
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
            "`--record` takes a build from nothing: remove {} first (`cargo clean`)",
            target().display()
        ));
    }
    let missing = needs::missing();
    // Said first as well, so that nobody waits for the tests to learn what must be installed.
    let mut left_out: Vec<String> = missing.iter().map(|need| need.told()).collect();
    left_out.extend(python::missing());
    if args.require_all && !left_out.is_empty() {
        return Err(format!("not all is here:\n{}", left_out.join("\n")));
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

/// So many programs that use the wall clock run at a time. Each holds under a load of four.
const CLOCK_AT_ONCE: usize = 2;

fn all_steps(tier: Tier, steps: &mut Steps) -> Result<Outcome, String> {
    steps.take("format", || cargo(&["fmt", "--all", "--check"]))?;
    let with_python = python::missing().is_none();
    let programs = steps.take("build the tests", || programs::build(&TESTS))?;
    let (clock, others): (Vec<&Program>, Vec<&Program>) =
        programs.iter().partition(|program| program.uses_the_clock);
    let beside = Beside::start(tier)?;
    // Whether or not one of them fails, the others are done: whoever mends it wants to know all.
    let tested = steps.take("tests", || programs::run(&others, 1, tier));
    let followed = steps.take("README", || readme::check(tier));
    let python = steps.take("Python package", || match with_python {
        true => python::test(tier),
        false => Ok(()),
    });
    // It counts the same beside others.
    let counted = steps.take("instructions", instructions::gate_where_possible);
    let ended = steps.take("waiting for the steps beside the tests", || beside.end());
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

/// Whether nothing of ours has been built before: then processor time can be held against the budget.
fn is_from_nothing() -> bool {
    let built = target().join("debug/deps");
    let entries = std::fs::read_dir(built).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    !names.any(|name| name.starts_with("libdupack_tcp"))
}

/// How far processor time may exceed the budget: two processors that share a core, or a busy host, make the same work cost
/// as much more.
const NOISE: f64 = 1.2;

/// Holds the processor time of all steps against the budget, in proportion on a machine that is slower than that for which
/// the budget is.
fn within_budget(steps: &Steps, record: bool) -> Result<(), String> {
    let slowness = instructions::slowness()?;
    let (budget, took) = (steps::budget_s()?, steps.processor_s());
    let here = budget * slowness.factor();
    let sentence = format!(
        "{}; the run took {took:.0} s of processor time, and the budget allows {here:.0} s on such a machine.",
        slowness.told()
    );
    eprintln!("{sentence}");
    if record {
        steps.record(&sentence)?;
    }
    match took <= here * NOISE {
        true => Ok(()),
        false => Err(format!(
            "{sentence} What costs it is in the table above: make it cheaper, move it to `--all`, or raise the budget in \
             {} with a line that says why.",
            steps::PAGE
        )),
    }
}

/// The text of a line that says what was skipped.
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
