//! Speed of the radio channel: processor time per frame exchange and per simulated second.
//!
//! `cargo run --release -p dupack-net --example radio_speed [rounds]`

#[path = "../tests/it/common/mod.rs"]
mod common;

use common::transfer;
use dupack_net::flow::{Application, Path, UdpFlowConfig};
use dupack_net::network::Network;
use dupack_net::observer::Unobserved;
use dupack_net::shapes::{RadioCell, RadioChain};
use dupack_net::simulation::Simulation;
use dupack_net::topology::{Topology, TopologyError};
use dupack_net::udp::{UdpConfig, UdpPattern};
use dupack_net::units::BitRate;
use dupack_net::wireless::RadioConfig;
use dupack_tcp::time::{Duration, Instant};

/// Duration of a run in the papers on TCP over 802.11 chains.
const SIMULATED_SECS: u64 = 200;

fn main() -> Result<(), TopologyError> {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok());
    for _ in 0..rounds.unwrap_or(3) {
        time("TCP over 1 hop", tcp_over(1)?);
        time("TCP over 5 hops", tcp_over(5)?);
        time("UDP in a cell of 20", cell(20)?);
    }
    Ok(())
}

// This example measures wall-clock time.
#[allow(clippy::disallowed_methods)]
fn time(name: &str, mut run: Simulation) {
    let started = std::time::Instant::now();
    run.run_until(
        Instant::ZERO + Duration::from_secs(SIMULATED_SECS),
        &mut Unobserved,
    );
    let spent = started.elapsed();
    let stations = run.report().stations;
    let exchanges: u64 = stations.iter().map(|s| s.counters.data_frames).sum();
    println!(
        "{name}: {exchanges} exchanges in {:.3} s, {:.0} ns each, {:.0} µs per simulated second",
        spent.as_secs_f64(),
        spent.as_nanos() as f64 / exchanges as f64,
        spent.as_secs_f64() * 1e6 / SIMULATED_SECS as f64
    );
}

fn tcp_over(hops: u32) -> Result<Simulation, TopologyError> {
    let mut map = Topology::new();
    let shape = RadioChain {
        hops,
        spacing_m: 200.0,
        radio: RadioConfig::DSSS_11_MBPS,
    };
    let nodes = shape.build(&mut map).nodes;
    let mut network = Network::new(map);
    let (from, to) = (nodes[0], nodes[hops as usize]);
    network.tcp(transfer(from, to, 8, Application::Greedy))?;
    Simulation::new(network, 1)
}

fn cell(stations: u32) -> Result<Simulation, TopologyError> {
    let mut map = Topology::new();
    let shape = RadioCell {
        stations,
        radius_m: 50.0,
        radio: RadioConfig::DSSS_11_MBPS,
    };
    let built = shape.build(&mut map);
    let mut network = Network::new(map);
    for from in built.stations {
        let path = Path::Shortest {
            from,
            to: built.access_point,
        };
        let rate = BitRate::from_mbps(1);
        let source = UdpConfig::new(UdpPattern::Constant { rate }, 1028);
        network.udp(UdpFlowConfig::new(path, source))?;
    }
    Simulation::new(network, 1)
}
