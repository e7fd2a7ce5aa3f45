//! Comparison of the radio channel with ns-3.37: the throughput of chains and cells under ns-3's rules is compared with
//! the runs recorded in `validation/peers/ns3/results.csv`.

use std::collections::BTreeMap;
use std::path::Path as File;

use crate::common::transfer;
use dupack_net::flow::{Application, Path, UdpFlowConfig};
use dupack_net::ids::NodeId;
use dupack_net::network::Network;
use dupack_net::observer::Unobserved;
use dupack_net::shapes::{RadioCell, RadioChain};
use dupack_net::simulation::Simulation;
use dupack_net::topology::Topology;
use dupack_net::udp::{UdpConfig, UdpPattern};
use dupack_net::units::BitRate;
use dupack_net::wireless::RadioConfig;
use dupack_tcp::time::{Duration, Instant};

/// Returns the payload bits per second of every scenario, averaged over ns-3's seeds.
fn recorded() -> BTreeMap<String, f64> {
    let root = File::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/peers/ns3/results.csv");
    let text = std::fs::read_to_string(root).expect("the recorded runs");
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let scenario = fields.next().expect("a scenario");
        let goodput: f64 = fields
            .nth(1)
            .and_then(|f| f.parse().ok())
            .expect("a number");
        let sum = sums.entry(scenario.to_owned()).or_default();
        *sum = (sum.0 + goodput, sum.1 + 1.0);
    }
    let means = sums.into_iter();
    means
        .map(|(scenario, (sum, runs))| (scenario, sum / runs))
        .collect()
}

/// Payload of a datagram in bytes. The constant after it is the size with UDP and IP headers.
const PAYLOAD: f64 = 1000.0;
const PACKET_BYTES: u32 = 1028;
const SEEDS: u64 = 5;
/// Maximum relative difference from ns-3's mean.
const TOLERANCE: f64 = 0.03;

/// Returns a flow that saturates its sender.
fn udp(from: NodeId, to: NodeId, rate_bps: u64) -> UdpFlowConfig {
    let rate = BitRate::new(rate_bps).expect("a rate above zero");
    let source = UdpConfig::new(UdpPattern::Constant { rate }, PACKET_BYTES);
    UdpFlowConfig::new(Path::Shortest { from, to }, source)
}

fn chain(radio: &RadioConfig, hops: u32) -> (Network, NodeId, NodeId) {
    let mut map = Topology::new();
    let shape = RadioChain {
        hops,
        spacing_m: 200.0,
        radio: radio.clone(),
    };
    let nodes = shape.build(&mut map).nodes;
    (Network::new(map), nodes[0], nodes[hops as usize])
}

fn udp_chain(radio: &RadioConfig, hops: u32) -> Network {
    let (mut network, from, to) = chain(radio, hops);
    network.udp(udp(from, to, 8_000_000)).expect("a chain");
    network
}

/// Returns a chain with a TCP flow. The window is so small that nothing is lost, so congestion control has no effect.
fn tcp_chain(radio: &RadioConfig, hops: u32) -> Network {
    let (mut network, from, to) = chain(radio, hops);
    let flow = transfer(from, to, 4, Application::Greedy);
    network.tcp(flow).expect("a chain");
    network
}

fn cell(radio: &RadioConfig, stations: u32) -> Network {
    let mut map = Topology::new();
    let shape = RadioCell {
        stations,
        radius_m: 50.0,
        radio: radio.clone(),
    };
    let built = shape.build(&mut map);
    let mut network = Network::new(map);
    for from in built.stations {
        let flow = udp(
            from,
            built.access_point,
            8_000_000_u64.min(16_000_000 / u64::from(stations)),
        );
        network.udp(flow).expect("a cell");
    }
    network
}

/// Returns the payload bits per second over 30 s after 10 s of warm-up, averaged over seeds.
fn goodput_bps(network: &dyn Fn() -> Network) -> f64 {
    let after = |secs| Instant::ZERO + Duration::from_secs(secs);
    let of = |seed| {
        let mut run = Simulation::new(network(), seed).expect("a valid network");
        run.run_until(after(10), &mut Unobserved);
        run.begin_measurement();
        run.run_until(after(40), &mut Unobserved);
        let report = run.report();
        let tcp: f64 = report.tcp.iter().map(|flow| flow.goodput_bps).sum();
        let udp: f64 = report.udp.iter().map(|flow| flow.throughput_bps).sum();
        tcp + udp * PAYLOAD / f64::from(PACKET_BYTES)
    };
    (1..=SEEDS).map(of).sum::<f64>() / SEEDS as f64
}

#[test]
fn throughput_agrees_with_ns3() {
    let radio = RadioConfig::DSSS_11_MBPS_AS_NS3;
    let recorded = recorded();
    let mut compared = 0;
    let mut compare = |scenario: String, network: &dyn Fn() -> Network| {
        let Some(theirs) = recorded.get(&scenario) else {
            return;
        };
        let ours = goodput_bps(network);
        let ratio = ours / theirs;
        println!(
            "{scenario:10} {:6.3} ns-3 {:6.3} Mbit/s, ratio {ratio:.4}",
            ours / 1e6,
            theirs / 1e6
        );
        assert!((ratio - 1.0).abs() < TOLERANCE, "{scenario}: {ratio}");
        compared += 1;
    };
    for hops in 1..=5 {
        compare(format!("udp-{hops}"), &|| udp_chain(&radio, hops));
        compare(format!("tcp-{hops}-w4"), &|| tcp_chain(&radio, hops));
    }
    for stations in [1, 2, 5, 10, 20] {
        compare(format!("cell-{stations}"), &|| cell(&radio, stations));
    }
    assert!(compared >= 5, "{compared} scenarios");
}
