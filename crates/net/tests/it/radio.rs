//! Tests of the radio channel with whole flows: saturation compared with Bianchi's model, chains, determinism.

use crate::common::transfer;
use dupack_net::flow::{Application, Path, UdpFlowConfig};
use dupack_net::ids::{MediumId, NodeId, StationId};
use dupack_net::link::{DropCause, QueueLimit};
use dupack_net::network::Flow;
use dupack_net::network::Network;
use dupack_net::observer::Unobserved;
use dupack_net::random::Stream;
use dupack_net::shapes::{RadioCell, RadioChain};
use dupack_net::simulation::Simulation;
use dupack_net::tcp_flow::Progress;
use dupack_net::topology::Topology;
use dupack_net::trace_hash::TraceHash;
use dupack_net::udp::{UdpConfig, UdpPattern};
use dupack_net::units::{BitRate, Probability};
use dupack_net::wireless::bianchi::{Attempts, saturation};
use dupack_net::wireless::{
    Answering, Interference, Position, RadioConfig, RtsThreshold, SensedFrames,
};
use dupack_tcp::time::{Duration, Instant};

const PACKET_BYTES: u32 = 1028;

/// Returns a flow with enough datagrams per second to keep its sender's queue full.
fn udp(from: NodeId, to: NodeId, rate_bps: u64) -> UdpFlowConfig {
    let rate = BitRate::new(rate_bps).expect("a rate above zero");
    let source = UdpConfig::new(UdpPattern::Constant { rate }, PACKET_BYTES);
    UdpFlowConfig::new(Path::Shortest { from, to }, source)
}

fn after(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

/// Runs a saturated cell of `stations` stations, and measures it for `secs` seconds.
fn cell(radio: &RadioConfig, stations: u32, secs: u64) -> Simulation {
    let mut map = Topology::new();
    let shape = RadioCell {
        stations,
        radius_m: 50.0,
        radio: radio.clone(),
    };
    let built = shape.build(&mut map);
    let mut network = Network::new(map);
    for &station in &built.stations {
        let rate = 9_000_000 / u64::from(stations);
        network
            .udp(udp(station, built.access_point, rate))
            .expect("a link");
    }
    let mut run = Simulation::new(network, 1).expect("a valid cell");
    run.run_until(after(1), &mut Unobserved);
    run.begin_measurement();
    run.run_until(after(1 + secs), &mut Unobserved);
    run
}

fn throughput_bps(run: &Simulation) -> f64 {
    run.report()
        .udp
        .iter()
        .map(|flow| flow.throughput_bps)
        .sum()
}

#[test]
fn a_saturated_cell_agrees_with_bianchis_model() {
    let mut basic = RadioConfig::DSSS_11_MBPS;
    basic.short_retry_limit = 1000;
    basic.long_retry_limit = 1000;
    let mut rts = basic.clone();
    rts.rts_threshold = RtsThreshold::Above(0);
    let cases = [
        ("basic", &basic, vec![1, 2, 3, 5, 10, 15, 20]),
        ("rts/cts", &rts, vec![1, 2, 5, 10, 20]),
    ];
    println!("access   n   simulated  model  Mbit/s   ratio   p simulated  p model");
    for (name, radio, sizes) in cases {
        for n in sizes {
            let run = cell(radio, n, 20);
            let model = saturation(radio, n, PACKET_BYTES, Attempts::Unlimited);
            let ratio = throughput_bps(&run) / model.throughput_bps;
            let (mut collisions, mut attempts) = (0, 0);
            for station in 1..=n {
                let counters = run.station_counters(MediumId(0), StationId(station));
                collisions += counters.collisions;
                attempts += counters.collisions + counters.acknowledged;
            }
            let p = collisions as f64 / attempts as f64;
            println!(
                "{name:8} {n:2} {:10.3} {:7.3} {ratio:14.4} {p:12.4} {:8.4}",
                throughput_bps(&run) / 1e6,
                model.throughput_bps / 1e6,
                model.collision_probability
            );
            assert!((ratio - 1.0).abs() < 0.05, "{name}, {n} stations: {ratio}");
        }
    }
}

#[test]
fn a_lone_station_has_the_throughput_of_the_closed_form() {
    let radio = RadioConfig::DSSS_11_MBPS;
    let run = cell(&radio, 1, 100);
    // DIFS 50 + 15.5 slots 310 + data 966 + SIFS 10 + ACK 304 = 1640 µs. Over 100 s there are 61000 backoffs with a
    // standard deviation of 9.2 slots each: 0.05 % of the sum.
    let expected = f64::from(PACKET_BYTES) * 8.0 / 1640e-6;
    let ratio = throughput_bps(&run) / expected;
    assert!((ratio - 1.0).abs() < 0.001, "{ratio}");
}

/// Returns a chain of `hops` hops of 200 m.
fn chain(radio: RadioConfig, hops: u32) -> (Network, Vec<NodeId>) {
    let mut map = Topology::new();
    let shape = RadioChain {
        hops,
        spacing_m: 200.0,
        radio,
    };
    let nodes = shape.build(&mut map).nodes;
    (Network::new(map), nodes)
}

fn tcp_over(radio: RadioConfig, hops: u32, window: u32, seed: u64) -> Simulation {
    let (mut network, nodes) = chain(radio, hops);
    let ends = (nodes[0], nodes[hops as usize]);
    let config = transfer(ends.0, ends.1, window, Application::Greedy);
    network.tcp(config).expect("a chain");
    Simulation::new(network, seed).expect("a valid chain")
}

#[test]
fn tcp_shares_the_channel_among_its_hops() {
    let mut goodputs = Vec::new();
    for hops in 1..=5 {
        let mut run = tcp_over(RadioConfig::DSSS_11_MBPS, hops, 4, 1);
        run.run_until(after(50), &mut Unobserved);
        goodputs.push(run.report().tcp[0].goodput_bps / 1e6);
    }
    println!("TCP, window 4, 1 to 5 hops of 200 m, Mbit/s: {goodputs:.3?}");
    // With up to three hops, all stations share the channel, so the throughput is 1, 1/2, 1/3.
    for (hops, share) in [(2, 1.0 / 2.0), (3, 1.0 / 3.0)] {
        let ratio = goodputs[hops - 1] / goodputs[0];
        assert!((ratio / share - 1.0).abs() < 0.15, "{hops} hops: {ratio}");
    }
    assert!(goodputs.windows(2).all(|pair| pair[1] < pair[0]));
    assert!(goodputs[4] > 0.1 * goodputs[0]);
}

/// Runs two stations out of each other's carrier sense range that saturate the station between them. Returns the
/// received Mbit/s and the fraction of data frames that were not acknowledged.
fn hidden(data_rate: BitRate, rts_threshold: RtsThreshold) -> (f64, f64) {
    let mut radio = RadioConfig::DSSS_11_MBPS;
    radio.data_rate = data_rate;
    radio.rts_threshold = rts_threshold;
    radio.carrier_sense_range_m = 250.0;
    let (mut network, nodes) = chain(radio, 2);
    for sender in [nodes[0], nodes[2]] {
        let flow = udp(sender, nodes[1], 8_000_000);
        network.udp(flow).expect("a chain");
    }
    let mut run = Simulation::new(network, 1).expect("a valid chain");
    run.run_until(after(20), &mut Unobserved);
    let (mut frames, mut acknowledged) = (0, 0);
    for station in [0, 2] {
        let counters = run.station_counters(MediumId(0), StationId(station));
        frames += counters.data_frames;
        acknowledged += counters.acknowledged;
    }
    let wasted = 1.0 - acknowledged as f64 / frames as f64;
    (throughput_bps(&run) / 1e6, wasted)
}

#[test]
fn rts_and_cts_protect_data_from_hidden_stations() {
    let of = |megabits| {
        let rate = BitRate::from_mbps(megabits);
        let pair = [RtsThreshold::Off, RtsThreshold::Above(0)].map(|rts| hidden(rate, rts));
        println!("hidden stations at {megabits} Mbit/s without and with RTS: {pair:.3?}");
        pair
    };
    let [(_, wasted), (_, wasted_with_rts)] = of(11);
    assert!(wasted > 0.3 && wasted_with_rts < 0.01);
    // At 2 Mbit/s, frames take longer, so RTS and CTS increase the throughput.
    let [(basic, _), (with_rts, _)] = of(2);
    assert!(with_rts > basic);
}

#[test]
fn packet_errors_have_the_configured_probability() {
    let mut radio = RadioConfig::DSSS_11_MBPS;
    radio.packet_error = Probability::clamped(0.03);
    let run = cell(&radio, 2, 100);
    let counters = run.link_counters(dupack_net::ids::LinkId(0));
    let share = counters.drops.of(DropCause::Random) as f64 / counters.carried_packets as f64;
    // With 33000 packets, the standard deviation is 0.001.
    assert!((share - 0.03).abs() < 0.003, "{share}");
}

fn digest(mut run: Simulation, step: Duration) -> u64 {
    let mut hash = TraceHash::default();
    let mut now = Instant::ZERO;
    while now < after(10) {
        now = (now + step).min(after(10));
        run.run_until(now, &mut hash);
    }
    assert!(hash.events() > 1000);
    hash.digest()
}

#[test]
fn a_radio_run_repeats_itself_in_any_pieces() {
    let mut radio = RadioConfig::DSSS_11_MBPS;
    radio.packet_error = Probability::clamped(0.01);
    radio.frame_error = Probability::clamped(0.1);
    let run = |seed| tcp_over(radio.clone(), 5, 20, seed);
    let whole = digest(run(1), Duration::from_secs(10));
    assert_eq!(whole, digest(run(1), Duration::from_secs(10)));
    assert_eq!(whole, digest(run(1), Duration::from_micros(777)));
    assert_ne!(whole, digest(run(2), Duration::from_secs(10)));
}

/// Tests stations at random positions, with sources that start and stop, and random settings. Every packet is delivered
/// once, dropped once, or still in transit, and the channel never becomes idle while packets wait.
#[test]
fn every_packet_is_accounted_for() {
    for seed in 0..60 {
        let mut random = Stream::derive(seed, "scene");
        let mut network = Network::new(scene(&mut random));
        let nodes = network.topology().node_count() as u64;
        for _ in 0..6 {
            let mut node = || NodeId(random.below(nodes) as u32);
            let (from, to) = (node(), node());
            let mut flow = udp(from, to, 400_000 + random.below(4_000_000));
            flow.source.stop = after(5);
            // Some pairs consist of the same node twice, or are out of range.
            let _ = network.udp(flow);
            if random.below(2) == 0 {
                let _ = network.tcp(transfer(from, to, 8, Application::Finite(200_000)));
            }
        }
        let Ok(mut run) = Simulation::new(network, seed) else {
            panic!("seed {seed}: invalid scene");
        };
        run.run_until(after(5), &mut Unobserved);
        run.run_until(after(120), &mut Unobserved);
        for flow in run.flows() {
            match flow {
                Flow::Udp(flow) => {
                    let done = flow.totals();
                    assert_eq!(
                        done.sent_packets,
                        done.received_packets + done.drops.total(),
                        "seed {seed}"
                    );
                }
                Flow::Media(_) => unreachable!("no media flows"),
                Flow::Tcp(flow) => {
                    assert!(
                        matches!(flow.progress(), Progress::Finished(_)),
                        "seed {seed}"
                    );
                }
            }
        }
        assert_eq!(run.fabric().packets().live(), 0, "seed {seed}");
    }
}

/// Returns up to 12 stations within a square of 800 m, with links between all stations that are in range.
fn scene(random: &mut Stream) -> Topology {
    let mut map = Topology::new();
    let mut radio = RadioConfig::DSSS_11_MBPS;
    radio.rts_threshold = match random.below(3) {
        0 => RtsThreshold::Off,
        1 => RtsThreshold::Above(500),
        _ => RtsThreshold::Above(0),
    };
    radio.sensed_frames = match random.below(2) {
        0 => SensedFrames::Eifs,
        _ => SensedFrames::Difs,
    };
    radio.answering = match random.below(2) {
        0 => Answering::Busy,
        _ => Answering::Idle,
    };
    radio.interference = match random.below(2) {
        0 => Interference::AnyOverlap,
        _ => RadioConfig::DSSS_11_MBPS.interference,
    };
    radio.carrier_sense_range_m = 250.0 + random.unit() * 500.0;
    radio.cw_min = random.below(64) as u32;
    radio.queue = QueueLimit::Packets(1 + random.below(50));
    radio.frame_error = Probability::clamped(random.unit() * 0.3);
    radio.packet_error = Probability::clamped(random.unit() * 0.05);
    let range = radio.reception_range_m;
    let medium = map.medium(radio);
    let mut places: Vec<Position> = Vec::new();
    for n in 0..2 + random.below(11) {
        let place = Position {
            x_m: random.unit() * 800.0,
            y_m: random.unit() * 800.0,
        };
        let node = map.node(format!("node {n}"));
        let station = map.station(medium, node, place);
        for (other, there) in (0..).zip(&places) {
            if place.distance_m(*there) <= range {
                map.radio_duplex(medium, StationId(other), station);
            }
        }
        places.push(place);
    }
    map
}
