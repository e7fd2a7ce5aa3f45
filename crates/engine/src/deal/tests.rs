use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupack_algorithms::catalog::Catalog;

use super::*;
use crate::execution::Execution;
use crate::journal::Journal;
use crate::ledger::Execute;
use crate::parcel;
use crate::watch::Amount;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Interrupt;

/// Experiment whose precision requires several rounds, and whose harm requires its own runs.
const TEXT: &str = "stacks = [\"sack/reno\", \"le/reno\"]\nseeds = 3\nprecision = \"3%\"\nseeds_max = 8\n\
                    duration = \"5s\"\n[path]\nrate = \"2Mbit/s\"\nloss = \"2%\"\n";

fn plan() -> Arc<Plan> {
    let source = Source::new("test.toml", TEXT);
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    Arc::new(plan.measuring_harm(&catalog))
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dupack-deal-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

/// Performs `order` like a worker. Returns the parcel.
fn parcel(plan: &Plan, order: &Order) -> Vec<u8> {
    let order = parcel::read_order(plan, &order.to_bytes()).unwrap();
    parcel::write(
        plan,
        order.number,
        &parcel::fulfil(plan, &order, &Interrupt::new()),
    )
}

/// Returns the limits of a batch.
const fn size(packets: u64, runs_max: usize) -> BatchSize {
    BatchSize {
        packets,
        runs_max,
        parts: 1,
    }
}

#[derive(Default)]
struct Told {
    done: AtomicUsize,
    all: AtomicUsize,
}

impl Watch for Told {
    fn begins(&self, total: Amount, done: Amount) {
        self.all.fetch_add(total.runs, Ordering::Relaxed);
        self.done.fetch_add(done.runs, Ordering::Relaxed);
    }

    fn run_done(&self, _: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Creates a deal that stores runs according to `keeping` and reports to `watch`.
fn deal(plan: &Arc<Plan>, keeping: Keeping, watch: &dyn Watch) -> Deal<Arc<Plan>> {
    let conduct = Conduct {
        execution: Execution { jobs: Some(1) },
        watch,
        interrupt: &Interrupt::new(),
    };
    Deal::new(Arc::clone(plan), keeping, &conduct)
}

/// Performs all runs. Up to `at_a_time` orders are outstanding, and the last one is performed first.
fn finish(mut deal: Deal<Arc<Plan>>, at_a_time: usize, told: &Told) -> Results {
    let plan = plan();
    let mut out = Vec::new();
    loop {
        while out.len() < at_a_time {
            let Some((order, _)) = deal.order(size(5_000, 3), told) else {
                break;
            };
            assert!((1..=3).contains(&order.tasks.len()));
            out.push(order);
        }
        let Some(order) = out.pop() else {
            break;
        };
        let runs = Entered::Runs(order.tasks.len());
        let parcel = parcel(&plan, &order);
        assert_eq!(deal.enter(&parcel, told), Ok(runs));
        assert_eq!(deal.enter(&parcel, told), Ok(Entered::Before));
    }
    assert_eq!(deal.due_packets(), 0);
    deal.results()
}

#[track_caller]
fn assert_same(theirs: &Results, ours: &Results) {
    assert_eq!(theirs.runs, ours.runs);
    assert_eq!(
        (theirs.planned, &theirs.warnings),
        (ours.planned, &ours.warnings)
    );
}

#[test]
fn results_do_not_depend_on_workers_or_order() {
    let plan = plan();
    let ours = plan.execute(Execution::default(), &(), &Interrupt::new());
    for at_a_time in [1, 4] {
        let told = Told::default();
        let theirs = finish(deal(&plan, Keeping::nowhere(), &told), at_a_time, &told);
        assert_same(&theirs, &ours);
        let (done, all) = (told.done.into_inner(), told.all.into_inner());
        assert!(
            all > plan.work(),
            "the precision did not require more seeds"
        );
        assert_eq!(done, all);
    }
}

#[test]
fn orders_that_do_not_return_are_dealt_again() {
    let plan = plan();
    let mut deal = deal(&plan, Keeping::nowhere(), &());
    let told = Told::default();
    let (lost, _) = deal.order(size(u64::MAX, 2), &told).unwrap();
    let (half, cost) = deal.order(size(u64::MAX, 4), &told).unwrap();
    let before = deal.due_packets();
    deal.give_up(lost.number);
    deal.give_up(lost.number);
    // The worker was interrupted after the first run of its order.
    let first = Order {
        tasks: half.tasks[..1].to_vec(),
        ..half
    };
    assert_eq!(
        deal.enter(&parcel(&plan, &first), &told),
        Ok(Entered::Runs(1))
    );
    assert!(deal.due_packets() > before && deal.due_packets() < before + 3 * cost);
    // The parcel of the lost order arrives after its runs became due again.
    assert_eq!(
        deal.enter(&parcel(&plan, &lost), &told),
        Ok(Entered::Before)
    );
    let theirs = finish(deal, 2, &told);
    let ours = plan.execute(Execution::default(), &(), &Interrupt::new());
    assert_same(&theirs, &ours);
}

#[test]
fn a_batch_respects_its_limits_unless_it_is_a_single_run() {
    let plan = plan();
    let mut deal = deal(&plan, Keeping::nowhere(), &());
    let (one, cost) = deal.order(size(1, 9), &()).unwrap();
    assert_eq!(one.tasks.len(), 1);
    let all = deal.due_packets();
    // In this experiment, all runs have about the same number of packets.
    assert_eq!(all, cost * (plan.work() - 1) as u64);
    let (three, _) = deal.order(size(3 * cost + 1, 9), &()).unwrap();
    assert_eq!(three.tasks.len(), 3);
    let left = plan.work() - 4;
    let quarter = BatchSize {
        parts: 4,
        ..size(u64::MAX, usize::MAX)
    };
    let (part, _) = deal.order(quarter, &()).unwrap();
    assert_eq!(part.tasks.len(), left / 4);
    let (two, _) = deal.order(size(u64::MAX, 2), &()).unwrap();
    assert_eq!(two.tasks.len(), 2);
    let numbers = [one, three, part, two].map(|order| order.number);
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[test]
fn runs_that_were_given_up_are_missing_and_not_due_again() {
    let source = Source::new(
        "test.toml",
        TEXT.replace("precision", "# precision")
            .replace("seeds_max = 8\n", ""),
    );
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin());
    let plan = Arc::new(plan.unwrap());
    let mut deal = deal(&plan, Keeping::nowhere(), &());
    let (order, _) = deal.order(size(u64::MAX, usize::MAX), &()).unwrap();
    let mut done = parcel::fulfil(&plan, &order, &Interrupt::new());
    let (task, _) = done.runs.remove(2);
    done.given_up.push(task);
    let parcel = parcel::write(&plan, order.number, &done);
    assert_eq!(
        deal.enter(&parcel, &()),
        Ok(Entered::Runs(order.tasks.len()))
    );
    assert!(deal.order(size(u64::MAX, usize::MAX), &()).is_none());
    let results = deal.results();
    assert_eq!((results.runs.len(), results.missing()), (5, 1));
}

#[test]
fn runs_that_were_not_ordered_are_refused_and_the_order_stays_out() {
    let plan = plan();
    let mut deal = deal(&plan, Keeping::nowhere(), &());
    let (one, _) = deal.order(size(1, 9), &()).unwrap();
    let (other, _) = deal.order(size(1, 9), &()).unwrap();
    assert_eq!((one.tasks.len(), other.tasks.len()), (1, 1));
    let swapped = Order {
        number: one.number,
        ..other
    };
    let refused = deal.enter(&parcel(&plan, &swapped), &());
    assert_eq!(refused, Err(ParcelError::Experiment));
    assert_eq!(deal.enter(&parcel(&plan, &one), &()), Ok(Entered::Runs(1)));
    let twice = Order {
        number: swapped.number + 1,
        tasks: [swapped.tasks.clone(), swapped.tasks].concat(),
    };
    assert_eq!(
        deal.enter(&parcel(&plan, &twice), &()),
        Err(ParcelError::Experiment)
    );
}

#[test]
fn kept_runs_are_not_dealt_again() {
    let path = folder("kept");
    let plan = plan();
    let journal = || Keeping::within(Arc::new(Journal::open(&path).unwrap()));
    let mut first = deal(&plan, journal(), &());
    for _ in 0..3 {
        let (order, _) = first.order(size(u64::MAX, 2), &()).unwrap();
        first.enter(&parcel(&plan, &order), &()).unwrap();
    }
    // This order is outstanding when the process ends.
    first.order(size(u64::MAX, 2), &()).unwrap();
    assert!(first.results().missing() > 0);

    let told = Told::default();
    let mut deal = deal(&plan, journal(), &told);
    let (order, _) = deal.order(size(u64::MAX, usize::MAX), &told).unwrap();
    assert_eq!(told.done.load(Ordering::Relaxed), 6);
    assert_eq!(order.tasks.len(), plan.work() - 6);
    deal.give_up(order.number);
    let theirs = finish(deal, 3, &told);
    let ours = plan.execute(Execution::default(), &(), &Interrupt::new());
    assert_same(&theirs, &ours);
    fs::remove_dir_all(&path).unwrap();
}
