//! How fast the simulator is: simulated work per wall-clock second, in one thread.
//!
//! `cargo xtask bench`, or `cargo bench -p dupack-lab`. Compare before and after in one sitting, as
//! a ratio. What other simulators take for the same work is in `docs/performance.md`.

use std::path::PathBuf;

use divan::Bencher;
use divan::counter::ItemsCount;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Plan, Scenario};
use dupack_net::observer::Unobserved;
use dupack_tcp::time::{Duration, Instant};

fn main() {
    divan::main();
}

/// draft-nishida-newreno-modification's path: 10 Mbit/s, 2 ms, 1 % loss, delayed ACK,
/// 1,000,000 packets of 1000 bytes. The same in ns-2: `time ns peers/ns2/run.tcl -recovery newreno
/// -delay 0.002 -loss 0.01 -buffer 50 -delack 0.2 -packets 1000000`.
#[divan::bench(sample_count = 10, sample_size = 1, args = [
    "newreno/reno", "sack(pipe=rfc6675)/reno", "fack/reno", "momentary/reno", "le/reno", "rack/reno", "rack/cubic", "le/westwood",
])]
fn million_packets(bencher: Bencher<'_, '_>, stack: &str) {
    measure(
        bencher,
        &format!(
            r#"
            stacks = ["{stack}"]
            dialect = "ns2"
            duration = "100000s"
            [path]
            rate = "10Mbit/s"
            delay = "2ms"
            buffer = "50pkt"
            loss = "1%"
            loss_placement = "before"
            [receiver]
            delayed_ack = "200ms"
            [sender]
            segment = "1000B"
            [[flows]]
            bytes = "1GB"
            "#
        ),
    );
}

/// So many SACK flows with 1 Mbit/s for each, 40 ms of round trip and access links of 5 ms, for 20 s.
#[divan::bench(sample_count = 5, sample_size = 1, args = [10, 100, 1000])]
fn many_flows(bencher: Bencher<'_, '_>, flows: u32) {
    let buffer = flows * 4;
    measure(
        bencher,
        &format!(
            r#"
            stacks = ["sack/reno"]
            duration = "20s"
            [path]
            rate = "{flows}Mbit/s"
            delay = "10ms"
            buffer = "{buffer}pkt"
            [access]
            rate = "1Gbit/s"
            delay = "5ms"
            [[flows]]
            count = {flows}
            start_spread = "1s"
            "#
        ),
    );
}

/// One flow with a window of eight segments over so many hops of 802.11b, for 200 s.
#[divan::bench(sample_count = 10, sample_size = 1, args = [1, 5])]
fn radio_chain(bencher: Bencher<'_, '_>, hops: u32) {
    measure(
        bencher,
        &format!(
            r#"
            stacks = ["newreno/reno"]
            dialect = "ns2"
            duration = "200s"
            [radio]
            hops = {hops}
            [sender]
            segment = "1000B"
            max_window = "8pkt"
            "#
        ),
    );
}

/// Builds and runs the experiment, and shows data packets delivered per second.
fn measure(bencher: Bencher<'_, '_>, text: &str) {
    let scenario = scenario(text);
    let packets = run(&scenario);
    bencher
        .counter(ItemsCount::new(packets))
        .bench(|| run(&scenario));
}

/// The one run of an experiment, read and checked.
fn scenario(text: &str) -> Scenario {
    let source = Source {
        name: "benchmark".to_owned(),
        text: text.to_owned(),
        folder: PathBuf::new(),
    };
    let experiment = source.parse().expect("the benchmark's experiment is valid");
    let plan = Plan::new(experiment, &source).expect("the benchmark's experiment is possible");
    plan.scenario(plan.jobs()[0]).clone()
}

/// Runs to the end; the data packets delivered in order.
fn run(scenario: &Scenario) -> u64 {
    let mut simulation = scenario.build(1).expect("it was built before").simulation;
    let end = Instant::ZERO + Duration::from_nanos(scenario.experiment.duration.as_nanos());
    while simulation.now() < end && !simulation.all_finished() {
        let next = end.min(simulation.now() + Duration::from_secs(10));
        simulation.run_until(next, &mut Unobserved);
    }
    let flows = simulation.report().tcp;
    let packets = flows.iter().filter_map(|report| {
        let smss = simulation.tcp(report.flow)?.sender().config().smss;
        Some(report.totals.delivered_bytes / u64::from(smss))
    });
    packets.sum()
}
