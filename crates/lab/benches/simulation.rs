//! How fast the simulator is: simulated work per wall-clock second, in one thread.
//!
//! `cargo bench -p dupack-lab`. The budget is 100 ns per delivered data packet on a one-hop
//! path: the first benchmark delivers a million packets and is to take at most 0.25 s.

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

/// Runs to the end and returns the segments sent.
fn run(scenario: &Scenario, seconds: u64) -> u64 {
    let mut simulation = scenario.build(1).expect("it was built before").simulation;
    let end = Instant::ZERO + Duration::from_secs(seconds);
    while simulation.now() < end && !simulation.all_finished() {
        let next = end.min(simulation.now() + Duration::from_secs(10));
        simulation.run_until(next, &mut Unobserved);
    }
    let report = simulation.report();
    report.tcp.iter().map(|f| f.sender.segments_sent).sum()
}

fn nishida(stack: &str) -> Scenario {
    scenario(&format!(
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
    ))
}

/// draft-nishida-newreno-modification's path: 10 Mbit/s, 2 ms, 1 % loss, delayed ACK,
/// 1,000,000 packets of 1000 bytes. The same in ns-2: `time ns peers/ns2/run.tcl -recovery newreno
/// -delay 0.002 -loss 0.01 -buffer 50 -delack 0.2 -packets 1000000`.
#[divan::bench(sample_count = 10, sample_size = 1, args = [
    "newreno/reno", "sack(pipe=rfc6675)/reno", "fack/reno", "momentary/reno", "le/reno", "rack/reno", "rack/cubic", "le/westwood",
])]
fn million_packets(bencher: Bencher<'_, '_>, stack: &str) {
    let scenario = nishida(stack);
    bencher
        .counter(ItemsCount::new(1_000_000_u64))
        .bench(|| run(&scenario, 100_000));
}

/// 100 SACK flows over 100 Mbit/s and 40 ms for 20 s, access links of 5 ms.
#[divan::bench(sample_count = 5, sample_size = 1, args = [100, 1000])]
fn many_flows(bencher: Bencher<'_, '_>, flows: u32) {
    let scenario = scenario(&format!(
        r#"
        stacks = ["sack/reno"]
        duration = "20s"
        [path]
        rate = "{flows}Mbit/s"
        delay = "10ms"
        buffer = "{}pkt"
        [access]
        rate = "1Gbit/s"
        delay = "5ms"
        [[flows]]
        count = {flows}
        start_spread = "1s"
        "#,
        flows * 4
    ));
    bencher.bench(|| run(&scenario, 20));
}
