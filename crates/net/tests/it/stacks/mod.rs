//! Invariants on any network, for every stack in the catalog.
//!
//! A case consists of a dialect, a stack, and a seed that determines everything else: the network, the receiver, the
//! options of the connection, and the application. The network loses, delays, reorders and duplicates packets in both
//! directions, the window closes, and the receiver discards data that it has sacked. The case passes if [`monitor`]
//! reports no violation and the transfer ends.
//!
//! A failing case prints the command that repeats it with a log of its last events:
//!
//! ```text
//! DUPACK_HOSTILE_CASE='rfc:newreno/reno#17' cargo test -p dupack-net --test it stacks::replay -- --nocapture
//! ```
//!
//! The cases are the same in every run. `DUPACK_HOSTILE_SEED` (another base seed) and `DUPACK_HOSTILE_CASES` (the
//! number of cases) select other cases.

mod case;
mod log;
mod monitor;
mod parameters;
mod ranges;
mod run;
mod scene;

use std::env;

use rayon::prelude::*;

use case::Case;
use run::{Failure, run};

const CASES: u64 = 20_000;
const SEED: u64 = 1;
/// Maximum number of failures that are printed. Only one failure of each kind is printed.
const FAILURES_TOLD: usize = 12;

#[test]
fn every_stack_survives_hostile_networks() {
    let count = number("DUPACK_HOSTILE_CASES").unwrap_or(CASES);
    let seed = number("DUPACK_HOSTILE_SEED").unwrap_or(SEED);
    let cases = case::draw(seed, count);
    let mut failures: Vec<Failure> = cases
        .par_iter()
        .filter_map(|case| run(case, log::Logging::Off).err())
        .collect();
    if failures.is_empty() {
        return;
    }
    let failed = failures.len();
    failures.sort_by_key(Failure::kind);
    failures.dedup_by_key(|failure| failure.kind());
    for failure in failures.iter().take(FAILURES_TOLD) {
        eprintln!("{failure}\n");
    }
    panic!("{failed} of {count} cases failed; one of each kind is printed above");
}

/// Repeats the case in `DUPACK_HOSTILE_CASE`, with its log.
#[test]
fn replay() {
    let Ok(text) = env::var("DUPACK_HOSTILE_CASE") else {
        return;
    };
    let case: Case = text.parse().unwrap_or_else(|error| panic!("{error}"));
    match run(&case, log::Logging::On) {
        Ok(summary) => println!("{case} passes: {summary:?}"),
        Err(failure) => panic!("{failure}"),
    }
}

/// Checks that the cases are hostile: together, they include all intended events.
#[test]
fn the_cases_include_all_intended_events() {
    let cases = case::draw(SEED, 1_000);
    let all: Vec<run::Summary> = cases
        .par_iter()
        .filter_map(|case| run(case, log::Logging::Off).ok())
        .collect();
    assert_eq!(all.len(), cases.len());
    let total = |count: fn(&run::Summary) -> u64| all.iter().map(count).sum::<u64>();
    assert!(total(|s| s.timeouts) > 1_000);
    assert!(total(|s| s.loss_events) > 1_000);
    assert!(total(|s| s.window_probes) > 100);
    assert!(total(|s| s.renegings) > 5);
    assert!(total(|s| s.ack_drops) > 1_000);
    assert!(total(|s| s.spurious_retransmissions) > 1_000);
    assert!(total(|s| s.marks) > 500);
    assert!(total(|s| s.marks_answered) > 100);
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable}={text} is not a whole number")))
}
