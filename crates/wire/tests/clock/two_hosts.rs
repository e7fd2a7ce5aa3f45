//! Tests of two hosts in one process over a pair of devices in memory. The tests need no privileges and no namespaces,
//! and have no effect outside this process.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use dupack_algorithms::catalog::{self, Catalog, Dialect, StackSpec};
use dupack_net::link::LinkConfig;
use dupack_net::units::{BitRate, Probability};
use dupack_packet::{CaptureTime, CaptureWriter, Parsed, Snap, Verify, parse};
use dupack_tcp::connection::Flags;
use dupack_tcp::time::Duration;
use dupack_wire::Secret;
use dupack_wire::clock::WallClock;
use dupack_wire::device::{
    Device, Fate, Filter, Granted, PairConfig, PairEnd, Sighting, Way, pair,
};
use dupack_wire::host::{
    Application, ConnectionReport, Destinations, Digest, Host, HostConfig, HostCounters, Offer,
    Once, Pattern, Supply,
};
use dupack_wire::path::{PathConfig, RunningPath};
use pcap_file::pcapng::{Block, PcapNgReader};

const BYTES: u64 = 1_000_000;
const PORT: u16 = 5001;

/// Result of one end.
struct End {
    outcome: ConnectionReport,
    digest: Digest,
    host: HostCounters,
}

/// Application that sends a pattern and accepts all data.
struct Talker {
    pattern: Pattern,
    left: u64,
    digest: Digest,
    report: Sender<(ConnectionReport, Digest)>,
}

impl Application for Talker {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        if self.left == 0 {
            return Supply::End;
        }
        let count = room.len().min(usize::try_from(self.left).expect("it fits"));
        self.pattern.fill(&mut room[..count]);
        self.left -= count as u64;
        Supply::Bytes(count)
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        self.digest.add(bytes);
        bytes.len()
    }

    fn closed(&mut self, outcome: &ConnectionReport) {
        // The send fails if the test has already ended.
        let _ = self.report.send((*outcome, self.digest.clone()));
    }
}

fn talker(seed: u64) -> (Talker, Receiver<(ConnectionReport, Digest)>) {
    let (report, reports) = channel();
    let talker = Talker {
        pattern: Pattern::new(seed),
        left: BYTES,
        digest: Digest::default(),
        report,
    };
    (talker, reports)
}

fn offer() -> Offer {
    let stack = StackSpec::parse("rack/cubic", &Catalog::builtin()).expect("a stack");
    catalog::offer(&stack, Dialect::Linux).into()
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn config(own: &str) -> HostConfig {
    let mut config = HostConfig::new(vec![address(own)]);
    // The time is longer than the other end's timer. If the last ACK is lost, the other end retransmits its FIN and
    // must get an answer. Otherwise, it would retransmit for minutes until it gives up.
    config.linger = Duration::from_secs(1);
    config
}

fn host<D: Device>(config: HostConfig, device: D) -> Host<D> {
    Host::new(config, device, Secret::new(&[7; 16])).expect("a host")
}

/// Connects `client` to `server` at the address `peer`. Both send and accept [`BYTES`] bytes.
fn talk<A: Device, B: Device>(client: Host<A>, peer: IpAddr, server: Host<B>) -> [End; 2] {
    let (mut client, mut server) = (client, server);
    let ((asking, asked), (answering, answered)) = (talker(1), talker(2));
    server.listen(PORT, Box::new(Once::new(offer, answering)));
    let opened = client.connect(SocketAddr::new(peer, PORT), offer().used_by(asking));
    opened.expect("a connection");
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            server.run().expect("its device is there");
            server.counters()
        });
        client.run().expect("its device is there");
        let counters = [client.counters(), running.join().expect("no panic")];
        let mut ends = [asked, answered].into_iter().zip(counters);
        [(); 2].map(|()| {
            let (reports, host) = ends.next().expect("two ends");
            let (outcome, digest) = reports.try_recv().expect("it is over");
            End {
                outcome,
                digest,
                host,
            }
        })
    })
}

/// Asserts that every byte has arrived in both directions and that both ends have closed.
fn assert_complete(ends: &[End; 2]) {
    for (end, theirs) in ends.iter().zip([2, 1]) {
        let End {
            outcome, digest, ..
        } = end;
        assert!(outcome.is_complete(), "{outcome:?}");
        assert_eq!((outcome.sent_bytes, outcome.received_bytes), (BYTES, BYTES));
        assert_eq!(digest.value(), Digest::of_pattern(theirs, BYTES));
    }
}

fn ends(offload: Granted) -> (PairEnd, PairEnd) {
    let mut config = PairConfig::new();
    config.offload = offload;
    pair(config).expect("a pair")
}

#[test]
fn they_shake_hands_talk_both_ways_and_close() {
    for (one, other) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
        for offload in [Granted::Plain, Granted::Offload] {
            let (a, b) = ends(offload);
            let both = talk(host(config(one), a), address(other), host(config(other), b));
            assert_complete(&both);
            for end in &both {
                assert_eq!((end.host.ignored, end.host.sent.refused), (0, 0));
                let sent = end.host.sent;
                match offload {
                    Granted::Plain => assert_eq!(sent.packets, sent.segments),
                    Granted::Offload => assert!(sent.packets < sent.segments, "{sent:?}"),
                }
            }
        }
    }
}

fn read<'a>(sighting: &Sighting<'a>) -> Parsed<'a> {
    assert!(
        sighting.tail.is_empty(),
        "without offload it is in one piece"
    );
    parse(sighting.head, Verify::Checksums).expect("a segment")
}

/// Drops the first SYN written and every `nth` data packet in each direction. Each direction has its own count, so the
/// losses do not depend on the scheduling of the ends.
fn lossy<D: Device>(device: D, nth: u32) -> impl Device {
    let (mut syns, mut data_out, mut data_in) = (0, 0, 0);
    Filter::new(device, move |sighting| {
        let segment = read(sighting).segment;
        let out = sighting.way == Way::Out;
        let lost = match segment.len {
            0 => {
                out && segment.is(Flags::SYN) && {
                    syns += 1;
                    syns == 1
                }
            }
            _ => {
                let data = if out { &mut data_out } else { &mut data_in };
                *data += 1;
                *data % nth == 0
            }
        };
        if lost { Fate::Lost } else { Fate::Passes }
    })
}

/// Writes every packet to a capture, which is sent to `file` when the device is dropped.
fn recording<D: Device>(device: D, file: Sender<Vec<u8>>) -> impl Device {
    struct Recorder {
        capture: Option<CaptureWriter<Vec<u8>>>,
        file: Sender<Vec<u8>>,
    }
    impl Drop for Recorder {
        fn drop(&mut self) {
            let whole = self.capture.take().map(CaptureWriter::finish);
            let whole = whole.expect("it was not finished").expect("memory");
            let _ = self.file.send(whole);
        }
    }
    let capture = CaptureWriter::new(Vec::new(), Snap::Full).expect("memory");
    let mut recorder = Recorder {
        capture: Some(capture),
        file,
    };
    let clock = WallClock::start();
    Filter::new(device, move |sighting| {
        let at = CaptureTime::from_simulation(clock.now());
        let capture = recorder.capture.as_mut().expect("it is not finished");
        let comment = format!("{:?}", sighting.way);
        let written = capture.write(at, sighting.head, Some(&comment));
        written.expect("memory");
        Fate::Passes
    })
}

#[test]
fn lost_packets_are_retransmitted() {
    let (a, b) = ends(Granted::Plain);
    // The recorder sees outgoing packets before the lossy device drops them.
    let (file, files) = channel();
    let client = host(config("10.0.0.1"), recording(lossy(a, 50), file));
    let both = talk(client, address("10.0.0.2"), host(config("10.0.0.2"), b));
    assert_complete(&both);
    for end in &both {
        let sender = end.outcome.sender.expect("it has sent");
        // A segment has at most 1448 bytes, so at least 690 are sent in each direction, and every fiftieth is lost.
        assert!(sender.retransmissions >= 10, "{sender:?}");
    }
    let file = files.try_recv().expect("a capture");
    let mut reader = PcapNgReader::new(file.as_slice()).expect("a capture");
    let (mut syns, mut fins, mut bytes) = (0, 0, 0);
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a block") else {
            continue;
        };
        let segment = parse(&packet.data, Verify::Checksums)
            .expect("a segment")
            .segment;
        syns += u32::from(segment.is(Flags::SYN));
        fins += u32::from(segment.is(Flags::FIN));
        bytes += u64::from(segment.len);
    }
    // The capture has the first SYN, its retransmission, and the SYN-ACK.
    assert!(syns >= 3);
    assert!(fins >= 2);
    assert!(bytes > 2 * BYTES, "{bytes}");
}

#[test]
fn foreign_addresses_are_answered_if_the_policy_allows() {
    let foreign = address("203.0.113.9");
    let (a, b) = ends(Granted::Plain);
    let mut open = config("10.0.0.2");
    open.destinations = Destinations::AnyUnicast;
    let both = talk(host(config("10.0.0.1"), a), foreign, host(open, b));
    assert_complete(&both);

    // By default, packets to foreign addresses are ignored.
    let (a, b) = ends(Granted::Plain);
    let (asking, asked) = talker(1);
    let (mut client, mut server) = (host(config("10.0.0.1"), a), host(config("10.0.0.2"), b));
    let mut opening = offer().used_by(asking);
    opening.config.syn_timeout = Duration::from_millis(50);
    opening.config.open_timeout = Duration::from_millis(200);
    let opened = client.connect(SocketAddr::new(foreign, PORT), opening);
    opened.expect("a connection");
    server.listen(PORT, Box::new(Once::new(offer, talker(2).0)));
    let stop = server.waker();
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            server.run().expect("its device is there");
            server.counters()
        });
        client.run().expect("its device is there");
        stop.stop();
        let seen = running.join().expect("no panic");
        assert!(seen.ignored >= 2, "{seen:?}");
        assert_eq!((seen.received, seen.sent.packets), (0, 0));
    });
    let (outcome, _) = asked.try_recv().expect("it is over");
    assert!(!outcome.is_complete(), "{outcome:?}");
}

#[test]
fn boxed_devices_may_differ_in_kind() {
    let (a, b) = ends(Granted::Plain);
    let boxes: [Box<dyn Device>; 2] = [Box::new(lossy(a, 100)), Box::new(b)];
    let [a, b] = boxes;
    let (one, other) = ("10.0.0.1", "10.0.0.2");
    assert_complete(&talk(
        host(config(one), a),
        address(other),
        host(config(other), b),
    ));
}

#[test]
fn a_path_of_link_models_connects_two_pairs() {
    let (a, near) = ends(Granted::Plain);
    let (far, b) = ends(Granted::Plain);
    let link = LinkConfig::rate(BitRate::from_mbps(100), Duration::from_millis(5))
        .with_bernoulli(Probability::clamped(0.01));
    let path = PathConfig::new(link.clone(), link, 3);
    let path = RunningPath::start(&path, near, far).expect("a thread");
    let (one, other) = ("10.0.0.1", "10.0.0.2");
    let both = talk(host(config(one), a), address(other), host(config(other), b));
    assert_complete(&both);
    let report = path.stop().expect("its devices are there");
    for lane in [&report.forward, &report.backward] {
        assert!(lane.delivered > BYTES / 1460, "{}", lane.delivered);
        assert!(lane.link.drops.total() > 0);
        assert_eq!((lane.refused, lane.malformed), (0, 0));
    }
}

#[test]
fn data_is_counted_by_port_until_the_count_ends() {
    for counts in [true, false] {
        let (a, near) = ends(Granted::Plain);
        let (far, b) = ends(Granted::Plain);
        let link = LinkConfig::rate(BitRate::from_mbps(100), Duration::from_millis(1));
        let mut path = PathConfig::new(link.clone(), link, 3);
        path.by_port = true;
        let path = RunningPath::start(&path, near, far).expect("a thread");
        if !counts {
            path.end_count_by_port();
        }
        let (one, other) = ("10.0.0.1", "10.0.0.2");
        let both = talk(host(config(one), a), address(other), host(config(other), b));
        assert_complete(&both);
        let report = path.stop().expect("its devices are there");
        let offered = report.forward.by_port.get(&PORT).map(|flow| flow.offered);
        let sent = both[0].outcome.sender.expect("it has sent").segments_sent;
        assert_eq!(offered, counts.then_some(sent));
        assert!(report.forward.delivered > BYTES / 1460);
    }
}
