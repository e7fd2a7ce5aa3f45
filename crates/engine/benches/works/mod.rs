//! The work of [`work`](../work.rs) and of the benchmarks: experiments and their execution.

use dupack_algorithms::catalog::Catalog;
use std::error::Error;

use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Plan, Scenario};
use dupack_net::observer::Unobserved;
use dupack_net::simulation::Simulation;
use dupack_tcp::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// draft-nishida-newreno-modification's path.
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

/// A number of flows with 1 Mbit/s for each, 40 ms of round trip and access links of 5 ms, for 20 s.
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

/// One flow with a window of eight segments over a number of 802.11b hops.
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

/// Reads and checks an experiment.
pub fn plan(text: &str) -> Result<Plan> {
    let source = Source::new("work", text);
    Ok(Plan::new(source.parse()?, &source, &Catalog::builtin())?)
}

/// Runs the scenario to its end with seed 1, and returns the number of data packets delivered in order.
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
