//! Tests of BBR in the complete system: performance of a single flow, under random loss, and with a second flow.
//!
//! The bottleneck has 10 Mbit/s, a round-trip time of 40 ms, and a buffer of 50 packets, which is 1.5 times the
//! bandwidth-delay product. Senders that fill the buffer serve as baselines.

use dupack_algorithms::catalog::Catalog;

use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Measure, Run};
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::trace::Trace;

/// Payload rate of the link: 1460 of 1500 bytes per packet are payload.
const PAYLOAD_MBIT_S: f64 = 10.0 * 1460.0 / 1500.0;

fn plan(stack: &str, seeds: u32, loss: &str, flows: u32) -> Plan {
    plan_spread(stack, seeds, loss, flows, "1s")
}

/// Returns a plan with `flows` flows that start within `spread`.
fn plan_spread(stack: &str, seeds: u32, loss: &str, flows: u32, spread: &str) -> Plan {
    let text = format!(
        r#"
        stacks = ["{stack}"]
        seeds = {seeds}
        duration = "60s"
        [path]
        rate = "10Mbit/s"
        delay = "20ms"
        buffer = "50pkt"
        loss = "{loss}"
        [sender]
        segment = "1460B"
        [[flows]]
        count = {flows}
        start_spread = "{spread}"
        "#
    );
    let source = Source::new("test", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

fn runs(plan: &Plan) -> Vec<Run> {
    let execution = Execution { jobs: Some(2) };
    plan.execute(execution, &(), &Interrupt::new()).runs
}

fn mean(runs: &[Run], measure: Measure) -> f64 {
    let values = runs.iter().filter_map(|run| run.values.get(measure));
    values.sum::<f64>() / runs.len() as f64
}

#[test]
fn alone_it_fills_the_link_and_not_the_buffer() {
    let bbr = runs(&plan("rack/bbr", 1, "0%", 1));
    let cubic = runs(&plan("rack/cubic", 1, "0%", 1));
    let goodput = mean(&bbr, Measure::Goodput);
    assert!(goodput >= 0.95 * PAYLOAD_MBIT_S, "{goodput}");
    // Most packets find an empty queue, because only bandwidth probes build a queue.
    let waits = |runs: &[Run]| {
        (
            mean(runs, Measure::DelayMedian),
            mean(runs, Measure::DelayP95),
        )
    };
    let (median, p95) = waits(&bbr);
    let (cubic_median, cubic_p95) = waits(&cubic);
    assert!(
        median < 1.3 && cubic_median > 20.0,
        "{median} ms, CUBIC {cubic_median} ms"
    );
    assert!(p95 < 0.7 * cubic_p95, "{p95} ms, CUBIC {cubic_p95} ms");
}

#[test]
fn the_seed_affects_the_waits_between_probes() {
    // In these runs, nothing else is random.
    let hashes = |stack| {
        let plan = plan_spread(stack, 4, "0%", 1, "0s");
        let results = plan.execute(Execution { jobs: Some(2) }, &(), &Interrupt::new());
        let hashes = results.runs.iter().map(|run| results.hash_of(run));
        let mut hashes: Vec<_> = hashes.map(|hash| hash.unwrap()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.len()
    };
    assert_eq!(hashes("rack/cubic"), 1);
    assert_eq!(hashes("rack/bbr"), 4);
}

#[test]
fn random_loss_below_the_threshold_costs_little() {
    // The goodput falls slightly: the bandwidth-delay product is 34 packets, so one loss per flight exceeds 2 %, and
    // between probes, each round trip with a loss reduces the pacing rate slightly.
    let goodput = |stack| mean(&runs(&plan(stack, 5, "1%", 1)), Measure::Goodput);
    let bbr = goodput("rack/bbr");
    assert!(bbr >= 0.8 * PAYLOAD_MBIT_S, "{bbr}");
    for stack in ["rack/cubic", "newreno/reno"] {
        let other = goodput(stack);
        assert!(other < 0.5 * bbr, "{stack}: {other}, BBR: {bbr}");
    }
}

#[test]
fn two_flows_share_the_link() {
    for run in runs(&plan("rack/bbr", 5, "0%", 2)) {
        let [one, other] = run.flow_goodputs[..] else {
            panic!("two flows: {:?}", run.flow_goodputs)
        };
        assert!(one.max(other) < 2.0 * one.min(other), "{one} and {other}");
        assert!(one + other > 0.9 * PAYLOAD_MBIT_S, "{one} and {other}");
    }
}

#[test]
fn the_window_drops_briefly_every_five_seconds() {
    let plan = plan("rack/bbr", 1, "0%", 1);
    let job = plan.jobs()[0];
    let trace = Trace::record(&plan.scenario(job), job.seed, &Interrupt::new()).unwrap();
    // The bandwidth-delay product is 34 packets. Only ProbeRTT reduces the window to half of this product.
    let low = 25.0 * 1460.0;
    let mut entries: Vec<f64> = Vec::new();
    let mut above = false;
    for change in trace.window_changes() {
        if above && change.after.cwnd < low {
            entries.push(change.at.as_secs_f64());
        }
        above = change.after.cwnd >= low;
    }
    assert!((9..=11).contains(&entries.len()), "{entries:?}");
    for pair in entries.windows(2) {
        let apart = pair[1] - pair[0];
        assert!((5.0..6.0).contains(&apart), "{entries:?}");
    }
}

#[test]
fn every_compatible_recovery_delivers_under_loss() {
    for recovery in ["reno", "newreno", "sack", "fack", "momentary", "le", "rack"] {
        let bbr = runs(&plan(&format!("{recovery}/bbr"), 2, "1%", 1));
        let reno = runs(&plan(&format!("{recovery}/reno"), 2, "1%", 1));
        let (bbr, reno) = (mean(&bbr, Measure::Goodput), mean(&reno, Measure::Goodput));
        assert!(bbr > reno, "{recovery}: {bbr}, with Reno: {reno}");
    }
}
