//! Tests of the examples of changing paths, short flows, real-time media and misbehaving receivers: each example runs
//! and shows its effect.

use std::path::Path;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::Seeds;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Measure, Results};
use dupack_lab::run::{Interrupt, Plan};

/// Runs the example called `name` after applying `change` to it.
fn run(name: &str, change: impl FnOnce(&mut Experiment)) -> Results {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let source = Source::read(&folder.join(name)).unwrap();
    let mut experiment = source.parse().unwrap();
    change(&mut experiment);
    let source = Source::of_flags(&experiment);
    let plan = Plan::new(experiment, &source, &Catalog::builtin()).unwrap_or_else(|error| {
        let report = miette::Report::new(error);
        panic!("{name}: {report:?}")
    });
    plan.execute(Execution::default(), &(), &Interrupt::new())
}

/// Reduces the experiment to one stack and two seeds.
fn short(experiment: &mut Experiment) {
    experiment.stacks.truncate(1);
    experiment.seeds = Seeds::Count(2);
}

/// Returns the mean of `measure` for `stack` at `point`.
fn mean(results: &Results, point: usize, stack: usize, measure: Measure) -> f64 {
    let runs = results.runs.iter();
    let of = runs.filter(|run| run.point == point && run.stack == stack);
    let values: Vec<f64> = of.filter_map(|run| run.values.get(measure)).collect();
    assert!(!values.is_empty(), "no {measure:?} at point {point}");
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn every_example_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut planned = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let source = Source::read(&path).unwrap();
            let experiment = source.parse().unwrap();
            if let Err(error) = Plan::new(experiment, &source, &Catalog::builtin()) {
                let report = miette::Report::new(error);
                panic!("{}: {report:?}", path.display());
            }
            planned += 1;
        }
    }
    assert!(planned > 20, "{planned}");
}

#[test]
fn the_same_seed_gives_the_same_packets_on_every_new_path() {
    for name in [
        "sudden-changes.toml",
        "handovers.toml",
        "asymmetric-uplink.toml",
        "web-flows.toml",
        "pauses.toml",
        "misbehaving-receivers.toml",
        "real-time-congested-feedback.toml",
    ] {
        let hashes = || {
            let results = run(name, |e| {
                short(e);
                e.duration = "20s".parse().unwrap();
                e.warm_up = "0s".parse().unwrap();
                if let Some(path) = &mut e.path {
                    path.changes.retain(|change| change.at < e.duration);
                    if let Some(back) = &mut path.reverse
                        && let Some(changes) = &mut back.changes
                    {
                        changes.retain(|change| change.at < e.duration);
                    }
                }
                for media in &mut e.media {
                    media.stop = None;
                }
                if name.starts_with("sudden") {
                    e.sweep.clear();
                }
            });
            let runs = results.runs.iter();
            runs.map(|run| run.trace_hash).collect::<Vec<_>>()
        };
        let first = hashes();
        assert_eq!(first, hashes(), "{name}");
        assert_ne!(first[0], first[1], "{name}: the seeds differ");
    }
}

#[test]
fn a_flow_over_three_bottlenecks_shares_each_of_them() {
    let results = run("parking-lot.toml", short);
    for run in &results.runs {
        let [through, others @ ..] = &run.flow_goodputs[..] else {
            panic!("there are four flows");
        };
        assert_eq!(others.len(), 3);
        for other in others {
            // The link has 10 Mbit/s, and 1448 of 1500 bytes per packet are payload.
            let both = through + other;
            assert!((9.0..9.7).contains(&both), "{run:?}");
            assert!(*through > 0.05 && *other > 0.05, "{run:?}");
        }
    }
}

#[test]
fn a_duty_cycle_carries_its_share() {
    let results = run("duty-cycle.toml", short);
    for point in 0..3 {
        // The mean rate is 10 Mbit/s; headers and idle time at the start reduce the goodput.
        let goodput = mean(&results, point, 0, Measure::Goodput);
        assert!((7.0..9.7).contains(&goodput), "{point}: {goodput}");
        let used = mean(&results, point, 0, Measure::Utilisation);
        assert!((75.0..=100.0).contains(&used), "{point}: {used}");
    }
}

#[test]
fn a_handover_that_drops_its_queue_causes_losses() {
    let results = run("handovers.toml", |e| {
        short(e);
        e.duration = "60s".parse().unwrap();
    });
    let lost = [0, 1].map(|point| mean(&results, point, 0, Measure::LinkLosses));
    assert_eq!(lost[0], 0.0);
    assert!(lost[1] > 50.0, "{lost:?}");
}

#[test]
fn thinned_acks_have_a_shorter_queue() {
    let results = run("asymmetric-uplink.toml", short);
    let done = |point| mean(&results, point, 0, Measure::Completion);
    // A queue of 30 ACKs adds 125 ms to the round-trip time of 30 ms.
    let [all, eighth, last] = [0, 1, 2].map(done);
    assert!(eighth < 0.9 * all, "{all} {eighth}");
    assert!(last < 0.9 * all, "{all} {last}");
}

#[test]
fn short_flows_wait_in_the_queue_of_a_long_flow() {
    let results = run("web-flows.toml", |e| {
        short(e);
        e.stacks = vec!["rack/cubic".to_owned(), "rack/bbr".to_owned()];
        e.duration = "30s".parse().unwrap();
    });
    // The round-trip time is 40 ms, and there is no handshake, so short flows take one to three round trips without a
    // queue.
    for (point, stack) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let mean_ms = mean(&results, point, stack, Measure::CompletionShort);
        let p99 = mean(&results, point, stack, Measure::CompletionShortP99);
        assert!((20.0..1000.0).contains(&mean_ms), "{mean_ms}");
        assert!(p99 > mean_ms, "{mean_ms} {p99}");
        let undone = mean(&results, point, stack, Measure::Unfinished);
        assert!((0.0..5.0).contains(&undone), "{undone}");
    }
    let wait = |stack| mean(&results, 0, stack, Measure::CompletionShort);
    assert!(wait(0) > wait(1), "CUBIC fills the queue, BBR does not");
}

#[test]
fn adaptive_media_suffers_less_than_media_at_a_fixed_rate() {
    let late = |rates: &[&str]| {
        let results = run("real-time-beside-long-flow.toml", |e| {
            short(e);
            e.sweep.clear();
            e.media.truncate(1);
            e.media[0].rates = rates.iter().map(|rate| rate.parse().unwrap()).collect();
        });
        [
            Measure::MediaRate,
            Measure::MediaDelayP95,
            Measure::MediaLate,
        ]
        .map(|measure| mean(&results, 0, 0, measure))
    };
    // Without adaptation, the media needs 1.8 of the 2 Mbit/s. The losses that CUBIC causes also affect the media.
    let [rate, way, lost] = late(&["1.8Mbit/s"]);
    assert!(rate > 1.3 && way > 50.0, "{rate} {way}");
    // With adaptation, the media reduces its rate, and a larger fraction of it arrives in time.
    let [stepping, _, stepping_lost] = late(&["150kbit/s", "500kbit/s", "1Mbit/s", "1.8Mbit/s"]);
    assert!(stepping < rate, "{stepping} {rate}");
    assert!(stepping_lost < lost, "{stepping_lost} {lost}");
}

#[test]
fn media_alone_follows_a_changing_path() {
    // The competing flow is so small that the media uses the path almost alone.
    let results = run("real-time-variable-capacity.toml", |e| {
        short(e);
        e.flows[0].sender.max_window = Some("1pkt".parse().unwrap());
        e.flows[0].sender.segment = Some("10B".parse().unwrap());
    });
    // The path has 1 Mbit/s for 40 s, then 2.5, 0.6 and 1 Mbit/s for 20 s each. The media uses at most 1.5 Mbit/s.
    let rate = mean(&results, 0, 0, Measure::MediaRate);
    assert!((0.5..1.05).contains(&rate), "{rate}");
    let late = mean(&results, 0, 0, Measure::MediaLate);
    assert!((0.0..5.0).contains(&late), "{late}");
}

#[test]
fn completion_time_includes_pauses() {
    let results = run("pauses.toml", short);
    let took = |point| mean(&results, point, 0, Measure::Completion);
    // There are 20 responses, each 200 ms after the acknowledgment of the previous one, so the transfer takes longer on
    // a longer path.
    assert!((4.0..8.0).contains(&took(0)), "{}", took(0));
    assert!(took(1) > took(0) + 1.0, "{} {}", took(0), took(1));
}
