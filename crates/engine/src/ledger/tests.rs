use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupack_algorithms::catalog::Catalog;

use dupack_lab::results::Measure;

use super::*;
use dupack_lab::experiment::load::Source;

const TEXT: &str = "stacks = [\"sack/reno\", \"le/reno\"]\nseeds = 3\nprecision = \"3%\"\nseeds_max = 8\n\
                    duration = \"5s\"\n[path]\nrate = \"2Mbit/s\"\nloss = \"2%\"\n";

/// Returns a plan with two stacks on a short path, with `head` before and `tail` after these settings.
fn plan_of(head: &str, tail: &str) -> Plan {
    let text = format!(
        "{head}stacks = [\"sack/reno\", \"rack/cubic\"]\nduration = \"5s\"\n[path]\nrate = \"2Mbit/s\"\n\
         delay = \"10ms\"\n{tail}"
    );
    let source = Source::new("test.toml", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

fn plan() -> Plan {
    let source = Source::new("test.toml", TEXT);
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    plan.measuring_harm(&catalog)
}

#[test]
fn results_do_not_depend_on_the_execution() {
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
        for task in due {
            let made = PlanRuns(&plan).perform(task, &interrupt).unwrap();
            ledger.enter(task, made);
        }
    }
    assert!(batches > 1, "the precision did not require more seeds");
    let theirs = ledger.results();
    let ours = plan.execute(Execution::default(), &(), &interrupt);
    assert_eq!(theirs.runs, ours.runs);
    assert_eq!(
        (theirs.planned, theirs.warnings),
        (ours.planned, ours.warnings)
    );
}

#[test]
fn a_precision_takes_as_many_seeds_as_necessary() {
    let head = "seeds = 3\nprecision = \"4%\"\nseeds_max = 60\n";
    let tail = "[sweep]\n\"path.loss\" = [\"0%\", \"3%\"]\n";
    let plan = plan_of(head, tail);
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let half = |point, stack| {
        let summary = results.summary(point, stack, Measure::Goodput).unwrap();
        summary.half_width_95.unwrap() / summary.mean
    };
    // Without losses, every seed gives the same run.
    assert!(results.is_without_chance(0, 0) && results.is_without_chance(0, 1));
    let seeds = [0, 1].map(|point| results.seeds_at(point).len());
    assert_eq!(seeds[0], 3);
    assert!((4..60).contains(&seeds[1]), "{seeds:?}");
    assert!(half(1, 0) <= 0.04 && half(1, 1) <= 0.04);
    assert_eq!(results.planned, 2 * (seeds[0] + seeds[1]));
    assert_eq!(results.missing(), 0);
    assert!(results.warnings.is_empty(), "{:?}", results.warnings);
    // The seeds are numbered from 1, and their runs are the same as without a precision.
    assert!(results.seeds_at(1).into_iter().eq(1..=seeds[1] as u64));
    let alone = plan.jobs()[0];
    let alone = plan.run(alone, &Interrupt::new()).unwrap();
    assert!(results.runs.contains(&alone));
}

#[test]
fn a_missed_precision_is_reported() {
    let plan = plan_of(
        "seeds = 2\nprecision = \"0.01%\"\nseeds_max = 5\n",
        "loss = \"3%\"\n",
    );
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    assert_eq!(results.seeds_at(0).len(), 5);
    let said = &results.warnings[0];
    assert!(said.contains("5 seeds") && said.contains("0.01%"), "{said}");
}

#[test]
fn every_run_is_reported_to_the_watch() {
    struct Count(AtomicUsize);
    impl Watch for Count {
        fn run_done(&self, _: u64) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let plan = plan_of("seeds = 2\n", "buffer = \"20pkt\"\n").measuring_harm(&Catalog::builtin());
    let count = Count(AtomicUsize::new(0));
    let results = plan.execute(Execution::default(), &count, &Interrupt::new());
    // Two stacks with two seeds give four runs. Each of them has a harm run.
    assert_eq!((plan.work(), count.0.into_inner()), (8, 8));
    assert_eq!((results.runs.len(), results.missing()), (4, 0));
}
