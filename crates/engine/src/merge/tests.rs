//! Tests that merged shards equal a single execution.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use dupack_algorithms::catalog::Catalog;

use super::*;
use crate::journal::Journal;
use crate::journal::NAME;
use crate::journal::checked;
use crate::ledger::Execute;
use crate::set::Conduct;
use dupack_lab::experiment::load::Source;

const TEXT: &str = "stacks = [\"sack/reno\", \"le/westwood\"]\nseeds = 3\nduration = \"2s\"\n[path]\n\
    rate = \"5Mbit/s\"\ndelay = \"10ms\"\n[sweep]\n\"path.loss\" = [\"1%\", \"3%\"]\n";

fn plan() -> (Plan, Source) {
    let source = Source::new("test.toml", TEXT);
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    (plan.measuring_harm(&catalog), source)
}

/// Performs all shards one after the other. Returns their names and folders.
fn done(split: &Split<'_>, name: &str) -> Vec<(String, PathBuf)> {
    let base = std::env::temp_dir().join(format!("dupack-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&base);
    let all = Shard::all(split.of()).map(|shard| {
        let folder = base.join(shard.index().to_string());
        let journal = Arc::new(Journal::open(&folder).unwrap());
        let share = split.share(shard);
        let conduct = Conduct {
            execution: Execution::default(),
            watch: &(),
            interrupt: &Interrupt::new(),
        };
        let done = share.execute(journal, &conduct);
        assert_eq!(done.unwrap(), share.runs());
        assert_eq!(share.missing(&Stored::read(&folder).unwrap()), 0);
        (format!("s{}", shard.index()), folder)
    });
    all.collect()
}

fn stored(folders: &[(String, PathBuf)]) -> Vec<(String, Stored)> {
    let read = |(name, folder): &(String, PathBuf)| (name.clone(), Stored::read(folder).unwrap());
    folders.iter().map(read).collect()
}

/// Changes the goodput of the last run in the journal of `folder`.
fn edit(folder: &std::path::Path) {
    let file = folder.join(NAME);
    let text = fs::read_to_string(&file).unwrap();
    let (before, after) = text.rsplit_once("\"goodput_mbit_s\":").unwrap();
    let text = format!("{before}\"goodput_mbit_s\":1{after}");
    fs::write(&file, checked::forged(&text)).unwrap();
}

#[test]
fn merged_results_equal_one_execution_in_any_order_of_the_journals() {
    let (plan, source) = plan();
    let whole = plan.execute(Execution::default(), &(), &Interrupt::new());
    let split = Split::of_plan(&plan, 3, &source).unwrap();
    let mut folders = done(&split, "merge-whole");
    folders.reverse();
    folders.push(folders[0].clone());
    let stored = stored(&folders);
    let merge = split.merge(&stored).unwrap();
    assert!(merge.missing().is_empty());
    merge
        .check(Execution::default(), &Interrupt::new())
        .unwrap();
    let results = merge.results().unwrap();
    assert_eq!(results.runs, whole.runs);
    assert!(results.has(Measure::HarmGoodput));
    assert_eq!((results.planned, results.missing()), (whole.planned, 0));
}

#[test]
fn missing_runs_are_named_and_there_are_no_results() {
    let (plan, source) = plan();
    let split = Split::of_plan(&plan, 3, &source).unwrap();
    let folders = done(&split, "merge-missing");
    let stored = stored(&folders[..2]);
    let merge = split.merge(&stored).unwrap();
    let missing = merge.missing();
    let third = Shard::new(3, 3).unwrap();
    assert_eq!(missing.keys().collect::<Vec<_>>(), [&third]);
    let words = &missing[&third];
    assert_eq!(words.len(), split.share(third).runs());
    assert!(
        words
            .iter()
            .any(|w| w.contains("%, rack/cubic beside ") && w.contains(", seed ")),
        "{words:?}"
    );
    assert!(merge.results().is_none());
}

#[test]
fn different_results_of_a_run_are_reported_with_their_journals() {
    let (plan, source) = plan();
    let split = Split::of_plan(&plan, 2, &source).unwrap();
    let mut folders = done(&split, "merge-clash");
    let copy = folders[1].1.with_file_name("copy");
    fs::create_dir_all(&copy).unwrap();
    fs::copy(folders[1].1.join(NAME), copy.join(NAME)).unwrap();
    folders.push(("copy".to_owned(), copy.clone()));
    assert!(split.merge(&stored(&folders)).is_ok());
    edit(&copy);
    let error = split.merge(&stored(&folders)).unwrap_err();
    assert_eq!((&*error.first, &*error.second), ("s2", "in copy"));
    assert_eq!(error.measure, "goodput_mbit_s");
    assert!(
        error.run.contains("path.loss ") || error.run.contains("loss "),
        "{error}"
    );
    assert!(error.run.contains("seed "), "{error}");
    assert!(
        error.other.starts_with('1') && error.one != error.other,
        "{error}"
    );
}

#[test]
fn a_journal_that_cannot_be_reproduced_is_reported() {
    let (plan, source) = plan();
    // Every shard has one run, so each run is the shortest of its shard.
    let split = Split::of_plan(&plan, plan.work() as u32, &source).unwrap();
    let folders = done(&split, "merge-again");
    let first = stored(&folders);
    let held = split.merge(&first).unwrap();
    let samples = held.samples();
    // The limit is a fiftieth of the total cost, which is less than the cost of one run, so only the minimum of one
    // sample is repeated.
    assert_eq!(samples.len(), 1);
    let name = samples[0].0;
    edit(&folders[name].1);
    let edited = stored(&folders);
    let merge = split.merge(&edited).unwrap();
    let error = merge
        .check(Execution::default(), &Interrupt::new())
        .unwrap_err();
    assert_eq!(error.first, folders[name].0);
    assert!(error.to_string().contains("when repeated here"), "{error}");
    // An interrupted check is inconclusive.
    let interrupt = Interrupt::new();
    interrupt.ask();
    merge.check(Execution::default(), &interrupt).unwrap();
}
