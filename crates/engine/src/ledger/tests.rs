use std::sync::Arc;

use dupack_algorithms::catalog::Catalog;

use super::*;
use crate::experiment::load::Source;
use crate::run::{Execution, Interrupt};

const TEXT: &str = "stacks = [\"sack/reno\", \"le/reno\"]\nseeds = 3\nprecision = \"3%\"\nseeds_max = 8\n\
                    duration = \"5s\"\n[path]\nrate = \"2Mbit/s\"\nloss = \"2%\"\n";

fn plan() -> Plan {
    let source = Source::new("test.toml", TEXT);
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    plan.measuring_harm(&catalog)
}

#[test]
fn whoever_does_the_runs_the_results_are_the_same() {
    let plan = plan();
    let interrupt = Interrupt::new();
    let mut ledger = Ledger::new(Arc::new(plan.clone()));
    let mut batches = 0;
    loop {
        let mut due = ledger.due();
        if due.is_empty() {
            break;
        }
        batches += 1;
        due.reverse();
        let done = due.into_iter().map(|task| {
            let run = plan.perform(task, &interrupt).unwrap();
            (task, run)
        });
        let done: Vec<_> = done.collect();
        ledger.enter(done);
    }
    assert!(batches > 1, "the precision took no more seeds");
    let theirs = ledger.results();
    let ours = plan.execute(Execution::default(), &(), &interrupt);
    assert_eq!(theirs.runs, ours.runs);
    assert_eq!(
        (theirs.planned, theirs.warnings),
        (ours.planned, ours.warnings)
    );
}
