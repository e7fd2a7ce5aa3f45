//! Tests that the path has the configured rate, delay and losses.

use std::io::{self, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use dupack_net::ids::FlowId;
use dupack_net::link::{
    DeliveryTrace, DropCause, LinkConfig, LossConfig, LossModel, LossPlacement, LossScript,
    PacketFilter, QueueLimit, Reordering, ScriptRule, ServiceConfig, Transmissions,
};
use dupack_net::units::{BitRate, Probability};
use dupack_tcp::time::Duration;
use dupack_wire::Family;
use dupack_wire::path::{Attachment, LaneReport, PathConfig, PathNetwork, PathReport, Side, Trust};
use dupack_wire::tun::Offload;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};

use crate::testbed::{self, PATIENCE, PORT, Receipt};

const SEED: u64 = 1;
/// Size of a socket buffer that holds all datagrams of a test, in bytes. Only root can set this size.
const ROOM_BYTES: usize = 64 << 20;
const MTU: f64 = 1500.0;
/// Lengths of IP and TCP headers with timestamps, in bytes.
const HEADERS_V4: f64 = 52.0;
const HEADERS_V6: f64 = 72.0;

const PLAIN: Attachment = Attachment {
    mtu: 1500,
    near: Offload::Off,
    far: Offload::Off,
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn config(forward: LinkConfig) -> PathConfig {
    let backward = LinkConfig::pure_delay(forward.delay);
    PathConfig::new(forward, backward, SEED)
}

fn network(forward: LinkConfig, attachment: Attachment) -> PathNetwork {
    PathNetwork::new(&config(forward), attachment).expect("a network")
}

/// Sends `bytes` bytes from near to far and verifies that they arrive unchanged.
fn transfer(network: &PathNetwork, family: Family, bytes: u64) -> Receipt {
    let far = Side::Far.address(family);
    let receiver = testbed::receive(network.host(Side::Far), far);
    let sender = testbed::send(network.host(Side::Near), far, bytes);
    let sent = sender.join().expect("no panic").expect("a sender");
    let receipt = receiver.join().expect("no panic").expect("a receiver");
    assert_eq!((receipt.bytes, receipt.hash), (bytes, sent));
    receipt
}

fn stop(network: PathNetwork) -> PathReport {
    let report = network.stop().expect("a report");
    eprintln!("{report}");
    report
}

// --- rate ---------------------------------------------------------------------------------

/// Repeats a measurement a few times until it succeeds: a busy machine may be late once, but is unlikely to be late
/// every time. A real error fails every time.
fn one_of_few(measure: impl Fn() -> Result<(), String>) {
    const ATTEMPTS: usize = 5;
    let attempts = (0..ATTEMPTS).map(|_| measure());
    let failed: Vec<String> = attempts.map_while(Result::err).collect();
    assert!(failed.len() < ATTEMPTS, "{failed:?}");
}

/// Checks that a stream uses the available rate. The rate is measured from 30 to 95 % of the stream's bytes, while the
/// queue is never empty.
fn fits(receipt: &Receipt, left_bps: f64) -> Result<(), String> {
    let measured = receipt.rate_bps(0.3, 0.95);
    let ratio = measured / left_bps;
    let text = format!("{measured:.0} bit/s, {ratio:.4} of the available rate");
    eprintln!("{text}");
    // The lower bound is looser, because a busy machine sends some data late and does not catch up.
    let fits = (0.95..=1.02).contains(&ratio);
    fits.then_some(()).ok_or(text)
}

/// Checks that the goodput on a link of 40 Mbit/s is the rate multiplied by the payload fraction of a packet.
fn rate(family: Family, headers: f64, attachment: Attachment) {
    let link = LinkConfig::rate(BitRate::from_mbps(40), ms(5)).with_queue(QueueLimit::Packets(400));
    one_of_few(|| {
        let network = network(link.clone(), attachment);
        let receipt = transfer(&network, family, 12_000_000);
        stop(network);
        fits(&receipt, 40e6 * (MTU - headers) / MTU)
    });
}

pub fn rate_v4_offload() {
    rate(Family::V4, HEADERS_V4, Attachment::default());
}

pub fn rate_v6_offload() {
    rate(Family::V6, HEADERS_V6, Attachment::default());
}

pub fn rate_v4_plain() {
    rate(Family::V4, HEADERS_V4, PLAIN);
}

pub fn rate_of_a_recorded_trace() {
    // The trace has five opportunities every 4 ms: 5 · 12 kbit / 4 ms = 15 Mbit/s.
    let trace = DeliveryTrace::new(vec![1, 1, 2, 4, 4]).expect("a trace");
    let link =
        LinkConfig::new(ServiceConfig::Trace(trace), ms(5)).with_queue(QueueLimit::Packets(200));
    one_of_few(|| {
        let network = network(link.clone(), Attachment::default());
        let receipt = transfer(&network, Family::V4, 5_000_000);
        stop(network);
        fits(&receipt, 15e6 * (MTU - HEADERS_V4) / MTU)
    });
}

// --- delay --------------------------------------------------------------------------------

pub fn delay_is_added_both_ways() {
    let mut paths = config(LinkConfig::pure_delay(ms(30)));
    paths.backward = LinkConfig::pure_delay(ms(12));
    for family in [Family::V4, Family::V6] {
        one_of_few(|| {
            let network = PathNetwork::new(&paths, Attachment::default()).expect("a network");
            let trips = round_trips(&network, family);
            stop(network);
            let trips = trips.map_err(|error| format!("no answer: {error}"))?;
            let (least, median) = (trips[0], trips[trips.len() / 2]);
            let text = format!("round trip: minimum {least:?}, median {median:?}");
            eprintln!("{text}");
            // No datagram is early. The median may be late by 2 ms, because a busy machine may delay two wake-ups.
            assert!(least >= StdDuration::from_millis(42), "{least:?}");
            let is_on_time = median <= StdDuration::from_millis(44);
            is_on_time.then_some(()).ok_or(text)
        });
    }
}

/// Returns the round-trip times of datagrams to the far host, in ascending order.
#[expect(clippy::disallowed_methods, reason = "real packets take real time")]
fn round_trips(network: &PathNetwork, family: Family) -> io::Result<Vec<StdDuration>> {
    let address = SocketAddr::new(Side::Far.address(family), PORT);
    echo(network, address, 50);
    let pinger = udp(network, Side::Near, family, 0);
    let trip = |n: u8| {
        let sent = StdInstant::now();
        pinger.send_to(&[n], address).expect("sent");
        let mut answer = [0; 2];
        assert_eq!(pinger.recv(&mut answer)?, 1);
        assert_eq!(answer[0], n);
        Ok(sent.elapsed())
    };
    let mut trips = (0..50)
        .map(trip)
        .collect::<io::Result<Vec<StdDuration>>>()?;
    trips.sort();
    Ok(trips)
}

fn udp(network: &PathNetwork, side: Side, family: Family, port: u16) -> UdpSocket {
    let address = SocketAddr::new(side.address(family), port);
    let socket = network
        .host(side)
        .run(move || UdpSocket::bind(address))
        .expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

/// Echoes `count` datagrams on the far host.
fn echo(network: &PathNetwork, address: SocketAddr, count: usize) {
    let family = match address {
        SocketAddr::V4(_) => Family::V4,
        SocketAddr::V6(_) => Family::V6,
    };
    let socket = udp(network, Side::Far, family, address.port());
    thread::spawn(move || {
        let mut buffer = [0; 64];
        for _ in 0..count {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                return;
            };
            if socket.send_to(&buffer[..length], from).is_err() {
                return;
            }
        }
    });
}

// --- loss ---------------------------------------------------------------------------------

fn loss(probability: f64) -> LossConfig {
    LossConfig {
        model: LossModel::Bernoulli(Probability::clamped(probability)),
        placement: LossPlacement::AfterTransmission,
        filter: PacketFilter::All,
    }
}

fn lossy(mut link: LinkConfig, probability: f64) -> LinkConfig {
    link.losses.push(loss(probability));
    link
}

/// Asserts that the fraction of losses is within four standard deviations of the probability. A binomial count is
/// outside this range for one in 16,000 seeds, and the seed is fixed.
fn assert_share(lane: &LaneReport, probability: f64) {
    let offered = lane.link.offered_packets as f64;
    let lost = lane.link.drops.of(DropCause::Random) as f64;
    let deviation = (probability * (1.0 - probability) / offered).sqrt();
    let share = lost / offered;
    eprintln!("lost {lost} of {offered}: {share:.4}, deviation {deviation:.4}");
    assert!((share - probability).abs() <= 4.0 * deviation, "{share}");
    assert_eq!(lane.malformed, 0);
    assert_eq!(lane.refused, 0);
    assert_eq!(lane.overflowed, Some(0));
}

/// Numbered datagrams that arrived at the receiver.
struct Arrived {
    /// Numbers of the datagrams, in order of arrival.
    numbers: Vec<u32>,
    room: Room,
}

/// Size of the receive buffer: all datagrams of a test fit, or only some of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    All,
    /// The buffer has the maximum size for an unprivileged user (`net.core.rmem_max`). If the reader does not run in
    /// time, it loses some datagrams.
    Some,
}

impl Arrived {
    /// Asserts that all datagrams that the link delivered arrived, or at least a tenth of them if the receive buffer is
    /// small.
    fn check(&self, lane: &LaneReport) {
        /// Divisor of the number of delivered datagrams, for the minimum that must arrive with a small buffer.
        const LEAST_PART: usize = 10;
        let (count, delivered) = (self.numbers.len(), lane.delivered as usize);
        let least = match self.room {
            Room::All => delivered,
            Room::Some => delivered / LEAST_PART,
        };
        let fits = (least..=delivered).contains(&count);
        assert!(fits, "{count} of {delivered}");
    }
}

/// Sends `count` numbered datagrams, with a pause of `gap` after every 20.
fn datagrams(network: &PathNetwork, count: u32, gap: StdDuration) -> Arrived {
    let sink = udp(network, Side::Far, Family::V4, PORT);
    setsockopt(&sink, sockopt::RcvBufForce, &ROOM_BYTES)
        .or_else(|_| setsockopt(&sink, sockopt::RcvBuf, &ROOM_BYTES))
        .expect("a size");
    let room = match getsockopt(&sink, sockopt::RcvBuf).expect("a size") {
        ROOM_BYTES.. => Room::All,
        _ => Room::Some,
    };
    let source = udp(network, Side::Near, Family::V4, 0);
    let to = sink.local_addr().expect("an address");
    let all_sent = Arc::new(AtomicBool::new(false));
    let is_last = Arc::clone(&all_sent);
    let reader = thread::spawn(move || {
        sink.set_read_timeout(Some(StdDuration::from_millis(500)))
            .expect("a timeout");
        let mut arrived = Vec::new();
        let mut buffer = [0; 64];
        loop {
            let may_end = is_last.load(Ordering::Acquire);
            match sink.recv(&mut buffer) {
                Ok(_) => arrived.push(u32::from_be_bytes([
                    buffer[0], buffer[1], buffer[2], buffer[3],
                ])),
                // A signal interrupted the call.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if may_end => break,
                Err(_) => {}
            }
        }
        arrived
    });
    for n in 0..count {
        source.send_to(&n.to_be_bytes(), to).expect("sent");
        if n % 20 == 19 {
            thread::sleep(gap);
        }
    }
    all_sent.store(true, Ordering::Release);
    let numbers = reader.join().expect("no panic");
    Arrived { numbers, room }
}

pub fn loss_is_drawn_per_datagram() {
    let network = network(
        lossy(LinkConfig::pure_delay(ms(1)), 0.1),
        Attachment::default(),
    );
    let arrived = datagrams(&network, 20_000, StdDuration::from_micros(500));
    let report = stop(network);
    assert_eq!(report.forward.link.offered_packets, 20_000);
    assert_share(&report.forward, 0.1);
    arrived.check(&report.forward);
    let is_in_order = arrived.numbers.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(is_in_order, "a plain link keeps the order");
}

pub fn loss_is_drawn_per_segment_under_offload() {
    let bytes = 10_000_000;
    let network = network(
        lossy(LinkConfig::pure_delay(ms(1)), 0.05),
        Attachment::default(),
    );
    transfer(&network, Family::V4, bytes);
    let report = stop(network);
    // More packets are offered than there are segments of 1448 bytes, so each segment of a super-packet is offered
    // separately.
    let segments = bytes / 1448;
    let offered = report.forward.link.offered_packets;
    assert!(offered > segments, "{offered} packets, {segments} segments");
    assert_share(&report.forward, 0.05);
}

pub fn segments_cut_apart_arrive_whole() {
    for family in [Family::V4, Family::V6] {
        // 2 % of the segments are lost at random. Super-packets have up to 44 segments, and the delay leaves time to
        // merge the segments again.
        let network = network(
            lossy(LinkConfig::pure_delay(ms(2)), 0.02),
            Attachment::default(),
        );
        transfer(&network, family, 20_000_000);
        let report = stop(network);
        assert_share(&report.forward, 0.02);
    }
}

pub fn plain_and_offload_may_be_mixed() {
    // We compute the checksum of packets that cross from a device with offload to one without, and the kernel verifies
    // it.
    let mixed = [
        (Offload::WherePossible, Offload::Off),
        (Offload::Off, Offload::WherePossible),
    ];
    for (near, far) in mixed {
        for family in [Family::V4, Family::V6] {
            let attachment = Attachment {
                near,
                far,
                ..Attachment::default()
            };
            let network = network(lossy(LinkConfig::pure_delay(ms(1)), 0.01), attachment);
            transfer(&network, family, 4_000_000);
            let report = stop(network);
            assert_eq!(report.forward.refused + report.backward.refused, 0);
        }
    }
}

pub fn reordering_overtakes() {
    let mut link = LinkConfig::pure_delay(ms(2));
    link.impairments.reordering = Some(Reordering {
        probability: Probability::clamped(0.1),
        delay_min: ms(3),
        delay_max: ms(6),
    });
    let network = network(link, Attachment::default());
    let arrived = datagrams(&network, 2_000, StdDuration::from_millis(2));
    let report = stop(network);
    assert_eq!(report.forward.delivered, 2_000);
    arrived.check(&report.forward);
    let mut numbers = arrived.numbers;
    let overtaken = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(overtaken > numbers.len() / 40, "{overtaken}");
    numbers.sort_unstable();
    let is_once = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(
        is_once && numbers.last() < Some(&2_000),
        "each arrives once"
    );
}

pub fn a_script_drops_what_it_names() {
    // The script drops the first transmission of segments 24 to 30 and the second transmission of segment 26.
    let rule = |packets, nth| ScriptRule::Data {
        flow: FlowId(0),
        packets,
        transmissions: Transmissions::Nth(nth),
    };
    let script = LossScript::new(vec![rule(24..=30, 1), rule(26..=26, 2)]).expect("a script");
    let link = LinkConfig::pure_delay(ms(5)).with_loss(LossModel::Script(script));
    let network = network(link, Attachment::default());
    transfer(&network, Family::V4, 500_000);
    let report = stop(network);
    assert_eq!(report.forward.link.drops.of(DropCause::Script), 8);
    assert_eq!(report.backward.link.drops.total(), 0);
}

// --- lateness -----------------------------------------------------------------------------

pub fn a_stopped_process_is_reported_as_late() {
    const COUNT: u32 = 100;
    const GAP: StdDuration = StdDuration::from_millis(10);
    /// Number of the datagram after which the process is stopped: by then, the path has received datagrams.
    const FIRST: u32 = 20;
    let tolerance = ms(20);
    let network = network(LinkConfig::pure_delay(ms(1000)), Attachment::default());
    let sink = udp(&network, Side::Far, Family::V4, PORT);
    let source = udp(&network, Side::Near, Family::V4, 0);
    let to = sink.local_addr().expect("an address");
    // A shell stops this process while datagrams are in flight, for longer than their delay. The exact time of the stop
    // does not matter.
    let script = format!(
        "read -r go; kill -STOP {0}; sleep 1.2; kill -CONT {0}",
        std::process::id()
    );
    let mut saboteur = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh");
    let mut go = saboteur.stdin.take().expect("a pipe");
    for n in 0..COUNT {
        source.send_to(&n.to_be_bytes(), to).expect("sent");
        if n == FIRST {
            go.write_all(b"go\n").expect("sh reads");
        }
        thread::sleep(GAP);
    }
    saboteur.wait().expect("sh ends");
    for n in 0..COUNT {
        let mut buffer = [0; 4];
        assert_eq!(sink.recv(&mut buffer).expect("a datagram"), 4);
        assert_eq!(u32::from_be_bytes(buffer), n);
    }
    let report = stop(network);
    let lateness = report.forward.lateness.max();
    assert!(lateness >= ms(100), "{lateness:?}");
    let Trust::Worthless { reasons } = report.trust(tolerance) else {
        panic!("the report missed that the path stood still");
    };
    eprintln!("{reasons:?}");
}
