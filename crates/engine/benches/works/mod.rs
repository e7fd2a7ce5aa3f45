//! Tasks of [`work`](../work.rs) and of the benchmarks: experiments and their execution.

use dupack_algorithms::catalog::Catalog;
use std::error::Error;

use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Plan, Scenario};
use dupack_net::observer::Unobserved;
use dupack_net::simulation::Simulation;
use dupack_tcp::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Returns an experiment with the path of draft-nishida-newreno-modification.
pub fn one(stack: &str) -> String {
    format!(
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
    )
}

/// Returns an experiment of 20 s with `flows` flows, 1 Mbit/s for each flow, a round-trip time of 40 ms, and access
/// links of 5 ms.
pub fn many(flows: u32) -> String {
    format!(
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
    )
}

/// Returns an experiment with one flow over `hops` 802.11b hops. The maximum window is eight segments.
pub fn chain(hops: u32, seconds: u32) -> String {
    format!(
        r#"
        stacks = ["newreno/reno"]
        dialect = "ns2"
        duration = "{seconds}s"
        [radio]
        hops = {hops}
        [sender]
        segment = "1000B"
        max_window = "8pkt"
        "#
    )
}

/// Parses and validates an experiment.
pub fn plan(text: &str) -> Result<Plan> {
    let source = Source::new("work", text);
    Ok(Plan::new(source.parse()?, &source, &Catalog::builtin())?)
}

/// Runs the scenario to its end with seed 1. Returns the number of data packets delivered in order.
pub fn run(scenario: &Scenario) -> Result<u64> {
    let mut simulation = scenario.build(1)?.simulation;
    let end = Instant::ZERO + Duration::from_nanos(scenario.experiment.duration.as_nanos());
    while simulation.now() < end && !simulation.all_finished() {
        let next = end.min(simulation.now() + Duration::from_secs(10));
        simulation.run_until(next, &mut Unobserved);
    }
    Ok(delivered(&simulation))
}

fn delivered(simulation: &Simulation) -> u64 {
    let packets = simulation.tcp_flows().map(|flow| {
        let smss = flow.sender().config().smss;
        flow.totals().delivered_bytes / u64::from(smss)
    });
    packets.sum()
}
