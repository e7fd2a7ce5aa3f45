//! Tests that every run is in exactly one shard, that the split is reproducible, and that shards are balanced.

use dupack_algorithms::catalog::Catalog;

use super::*;

fn source(head: &str, tail: &str) -> Source {
    let text = format!(
        "stacks = [\"sack/reno\", \"rack/cubic\", \"le/westwood\"]\nduration = \"5s\"\n{head}[path]\n\
         rate = \"2Mbit/s\"\ndelay = \"10ms\"\n{tail}"
    );
    Source::new("test.toml", text)
}

fn plan(head: &str, tail: &str) -> (Plan, Source) {
    let source = source(head, tail);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin());
    (plan.unwrap(), source)
}

/// Returns a plan with points of very different lengths, and with harm runs.
fn uneven() -> (Plan, Source) {
    let tail = "[sweep]\n\"path.rate\" = [\"1Mbit/s\", \"3Mbit/s\", \"10Mbit/s\", \"33Mbit/s\"]\n";
    let (plan, source) = plan("seeds = 7\n", tail);
    (plan.measuring_harm(&Catalog::builtin()), source)
}

fn costs(split: &Split<'_>) -> Vec<u64> {
    let mut sums = vec![0; split.of() as usize];
    for (place, cost) in split.places.iter().zip(&split.costs) {
        sums[*place] += cost;
    }
    sums
}

#[test]
fn every_run_is_in_one_shard_including_harm_runs() {
    let (plan, source) = uneven();
    assert!(plan.harm_jobs(0, 1).count() > 0);
    for of in [1, 2, 3, 7, 64, 1000] {
        let split = Split::of_plan(&plan, of, &source).unwrap();
        let mut dealt: Vec<Task> = Vec::new();
        for shard in Shard::all(of) {
            let share = split.share(shard);
            assert_eq!(share.runs(), share.tasks.len());
            assert_eq!(share.runs(), split.sizes()[shard.index() as usize - 1]);
            dealt.extend(share.tasks);
        }
        assert_eq!(dealt.len(), plan.work(), "{of}");
        assert!(split.tasks.iter().all(|task| dealt.contains(task)), "{of}");
        let parts: f64 = split.parts().iter().sum();
        assert!((parts - 1.0).abs() < 1e-9, "{of}: {parts}");
    }
}

#[test]
fn the_same_plan_is_always_split_in_the_same_way() {
    let (one, source) = uneven();
    let (other, _) = uneven();
    let split = |plan: &Plan| {
        let split = Split::of_plan(plan, 5, &source).unwrap();
        (split.places.clone(), split.fingerprint())
    };
    assert_eq!(split(&one), split(&other));
    // The title does not affect the fingerprint of the runs; another number of seeds does.
    let (titled, _) = plan("title = \"x\"\nseeds = 7\n", "");
    let (bare, _) = plan("seeds = 7\n", "");
    let (more, _) = plan("seeds = 8\n", "");
    let print = |plan: &Plan| Split::of_plan(plan, 5, &source).unwrap().fingerprint();
    assert_eq!(print(&titled), print(&bare));
    assert_ne!(print(&more), print(&bare));
    assert_ne!(
        print(&bare.clone().measuring_harm(&Catalog::builtin())),
        print(&bare)
    );
}

/// Graham's bound is 4/3 − 1/(3m) times the optimum for m shards. The optimum is at least the mean cost per shard, and
/// at least the longest run.
#[test]
fn shards_are_balanced() {
    let (plan, source) = uneven();
    for of in [2, 3, 5, 8, 13, 40] {
        let split = Split::of_plan(&plan, of, &source).unwrap();
        let costs = costs(&split);
        let all: u64 = costs.iter().sum();
        let tasks = split.tasks.iter();
        let longest = tasks
            .map(|task| plan.likely_packets(task.job, task.purpose))
            .max();
        let best = (all as f64 / f64::from(of)).max(longest.unwrap() as f64);
        let bound = (4.0 / 3.0 - 1.0 / (3.0 * f64::from(of))) * best;
        let most = *costs.iter().max().unwrap();
        assert!(most as f64 <= bound * 1.02, "{of}: {costs:?}");
    }
}

/// Runs that differ only in their seed are distributed evenly, so errors of the estimates do not matter.
#[test]
fn runs_of_a_kind_are_distributed_evenly() {
    let tail = "[sweep]\n\"path.buffer\" = [\"10pkt\", \"20pkt\", \"40pkt\", \"80pkt\"]\n";
    let (plan, source) = plan("seeds = 7\n", tail);
    let plan = plan.measuring_harm(&Catalog::builtin());
    for of in [2, 3, 4, 5, 6, 8, 12] {
        let split = Split::of_plan(&plan, of, &source).unwrap();
        let mut counts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (task, place) in split.tasks.iter().zip(&split.places) {
            let job = task.job;
            let kind = (task.purpose == Purpose::Harm, job.stack, job.point);
            let counts = counts.entry(format!("{kind:?}"));
            counts.or_insert_with(|| vec![0; of as usize])[*place] += 1;
        }
        assert_eq!(counts.len(), 24);
        for (kind, counts) in counts {
            let (least, most) = (counts.iter().min(), counts.iter().max());
            let apart = most.unwrap() - least.unwrap();
            assert!(apart <= 1, "{of}, {kind}: {counts:?}");
        }
    }
}

#[test]
fn compared_runs_stay_together_if_that_is_free() {
    let together = |split: &Split<'_>| {
        let mut places: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        for (task, place) in split.tasks.iter().zip(&split.places) {
            let job = task.job;
            places
                .entry((job.seed, job.point))
                .or_default()
                .push(*place);
        }
        let is_one = |places: &&Vec<usize>| places.iter().all(|place| *place == places[0]);
        places.values().filter(is_one).count()
    };
    let (plan, source) = plan("seeds = 6\n", "");
    // There are six seeds with three runs each.
    for (of, whole) in [(1, 6), (2, 6), (3, 6), (6, 6), (9, 0), (18, 0)] {
        let split = Split::of_plan(&plan, of, &source).unwrap();
        assert_eq!(together(&split), whole, "{of}");
    }
    // With four shards, the longest shard has five runs. If the runs of each seed stayed together, it would have two
    // complete seeds, which are six runs.
    let split = Split::of_plan(&plan, 4, &source).unwrap();
    let costs = costs(&split);
    assert_eq!(
        costs.iter().max(),
        Some(&(5 * plan.likely_packets(plan.jobs()[0], Purpose::Comparison)))
    );
    assert!(together(&split) < 6);
}

#[test]
fn more_shards_than_runs_leave_some_empty() {
    let (plan, source) = plan("seeds = 1\n", "");
    let split = Split::of_plan(&plan, 5, &source).unwrap();
    let runs = Shard::all(5).map(|shard| split.share(shard).runs());
    assert_eq!(runs.collect::<Vec<_>>(), [1, 1, 1, 0, 0]);
    let split = Split::of_plan(&plan, 0, &source).unwrap();
    assert_eq!(
        (split.of(), split.share(Shard::new(1, 1).unwrap()).runs()),
        (1, 3)
    );
}

#[test]
fn costs_of_any_size_are_split() {
    let item = |seed| Item {
        place: (seed, 0),
        kind: Kind(0),
        kind_of_place: Kind(0),
        cost: u64::MAX,
    };
    let huge: Vec<Item> = (0..4).map(item).collect();
    assert_eq!(places(&huge, 2).len(), 4);
    assert!(places(&[], 3).is_empty());
    let deal = |costs: [(u64, u64); 4]| deal(&costs.map(|(cost, kind)| (cost, Kind(kind))), 2);
    assert_eq!(deal([(1, 0), (5, 0), (3, 0), (3, 0)]), [0, 0, 1, 1]);
    // Each shard gets one run of each kind. In listed order, each shard would get both runs of one kind.
    assert_eq!(deal([(1, 1), (1, 2), (1, 1), (1, 2)]), [0, 0, 1, 1]);
}

#[test]
fn a_precision_cannot_be_split() {
    let (plan, source) = plan("seeds = 3\nprecision = \"2%\"\n", "");
    let error = Split::of_plan(&plan, 2, &source).unwrap_err();
    let ExperimentError::Invalid(complaint) = error else {
        panic!("{error}");
    };
    let at = complaint.at.unwrap();
    assert!(source.text[at.offset()..].starts_with("precision"));
    assert!(complaint.help.unwrap().contains("seeds = 30"));
}
