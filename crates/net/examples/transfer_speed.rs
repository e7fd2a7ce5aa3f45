//! Speed of whole transfers: one flow with losses, and a thousand flows over a dumbbell, with the simplest stack.
//!
//! `cargo run --release -p dupack-net --example transfer_speed [rounds]`

#[path = "../tests/it/common/mod.rs"]
mod common;

use common::{MSS, single, transfer};
use dupack_net::flow::{Application, HeaderSizes, Path};
use dupack_net::ids::FlowId;
use dupack_net::link::{LinkConfig, QueueLimit, WaitRecording};
use dupack_net::network::Network;
use dupack_net::observer::Unobserved;
use dupack_net::shapes::{Chain, Dumbbell, PairAccess};
use dupack_net::simulation::Simulation;
use dupack_net::topology::{Topology, TopologyError};
use dupack_net::units::{BitRate, Probability};
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::time::{Duration, Instant};

fn main() -> Result<(), TopologyError> {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok());
    for _ in 0..rounds.unwrap_or(3) {
        time("1 flow", one_flow)?;
        time("1000 flows, dumbbell", thousand_flows)?;
        time("1000 flows, one hop", thousand_flows_one_hop)?;
    }
    Ok(())
}

// This example measures wall-clock time.
#[allow(clippy::disallowed_methods)]
fn time(name: &str, run: fn() -> Result<u64, TopologyError>) -> Result<(), TopologyError> {
    let started = std::time::Instant::now();
    let delivered = run()?;
    let spent = started.elapsed();
    println!(
        "{name}: {delivered} data packets in {:.3} s, {:.1} ns each",
        spent.as_secs_f64(),
        spent.as_nanos() as f64 / delivered as f64
    );
    Ok(())
}

/// Sends a million packets over 10 Mbit/s and 2 ms with 1 % loss; every second packet is acknowledged.
fn one_flow() -> Result<u64, TopologyError> {
    const PACKETS: u64 = 1_000_000;
    let link = LinkConfig::rate(BitRate::from_mbps(10), Duration::from_millis(2));
    let there = link
        .clone()
        .with_queue(QueueLimit::Packets(50))
        .with_bernoulli(Probability::clamped(0.01))
        .recording_waits(WaitRecording::Data);
    let change = |config: &mut dupack_net::flow::TcpFlowConfig| {
        config.headers = HeaderSizes::NS2;
        config.receiver.ack_policy = AckPolicy::Delayed(Duration::from_millis(100));
    };
    let bytes = PACKETS * u64::from(MSS);
    let mut run = single(there, link, change, 20, Application::Finite(bytes), 1);
    let mut until = Instant::ZERO;
    while !run.all_finished() {
        until += Duration::from_secs(10);
        run.run_until(until, &mut Unobserved);
    }
    Ok(run
        .tcp(FlowId(0))
        .map_or(0, |flow| flow.receiver().in_order_bytes() / u64::from(MSS)))
}

/// Runs a thousand transfers through 1 Gbit/s for 20 s.
fn thousand_flows() -> Result<u64, TopologyError> {
    const PAIRS: usize = 1000;
    let access = LinkConfig::rate(BitRate::from_mbps(100), Duration::from_millis(1));
    let pair = PairAccess {
        sender: access.clone(),
        receiver: access,
    };
    let trunk = LinkConfig::rate(BitRate::from_mbps(1000), Duration::from_millis(10));
    let dumbbell = Dumbbell {
        bottleneck: trunk
            .clone()
            .with_queue(QueueLimit::Packets(5000))
            .recording_waits(WaitRecording::Data),
        reverse: trunk,
        pairs: vec![pair; PAIRS],
    };
    let mut map = Topology::new();
    let nodes = dumbbell.build(&mut map)?;
    let mut network = Network::new(map);
    for n in 0..PAIRS {
        let mut config = transfer(nodes.senders[n], nodes.receivers[n], 8, Application::Greedy);
        config.path = Path::Explicit {
            there: nodes.there[n],
            back: nodes.back[n],
        };
        config.start = Instant::ZERO + Duration::from_micros(100 * n as u64);
        config.receiver.ack_policy = AckPolicy::Delayed(Duration::from_millis(100));
        network.tcp(config)?;
    }
    twenty_seconds(network)
}

/// Runs a thousand transfers between two nodes joined by 1 Gbit/s, for 20 s.
fn thousand_flows_one_hop() -> Result<u64, TopologyError> {
    let trunk = LinkConfig::rate(BitRate::from_mbps(1000), Duration::from_millis(10));
    let there = trunk
        .clone()
        .with_queue(QueueLimit::Packets(5000))
        .recording_waits(WaitRecording::Data);
    let mut map = Topology::new();
    let nodes = Chain::single(there, trunk).build(&mut map).nodes;
    let mut network = Network::new(map);
    for n in 0..1000 {
        let mut config = transfer(nodes[0], nodes[1], 8, Application::Greedy);
        config.start = Instant::ZERO + Duration::from_micros(100 * n);
        config.receiver.ack_policy = AckPolicy::Delayed(Duration::from_millis(100));
        network.tcp(config)?;
    }
    twenty_seconds(network)
}

fn twenty_seconds(network: Network) -> Result<u64, TopologyError> {
    let mut run = Simulation::new(network, 1)?;
    run.run_until(Instant::ZERO + Duration::from_secs(20), &mut Unobserved);
    let bytes: u64 = run
        .report()
        .tcp
        .iter()
        .map(|flow| flow.totals.delivered_bytes)
        .sum();
    Ok(bytes / u64::from(MSS))
}
