//! A host that runs on a thread, and a peer that writes and reads individual packets.

use std::net::SocketAddr;
use std::thread;

use dupack_algorithms::catalog::{self, Catalog, Dialect, StackSpec};
use dupack_packet::icmp::packet_too_big;
use dupack_packet::{Checksum, Envelope, Verify, emit, parse};
use dupack_tcp::connection::{Config, Flags, Segment, Timestamps};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Duration;
use dupack_wire::Secret;
use dupack_wire::clock::WallClock;
use dupack_wire::device::{
    BUFFER_BYTES, Device, PairConfig, PairEnd, Pending, Reading, Writing, pair,
};
use dupack_wire::host::{Application, Host, HostConfig, HostCounters, Listener, Offer};

const HOST: &str = "10.0.0.1:80";

/// Listener that accepts every connection, each with its own application.
pub struct Everybody {
    pub application: fn() -> Box<dyn Application>,
    pub change: fn(&mut Config),
}

impl Listener for Everybody {
    fn offer(&mut self, _: SocketAddr) -> Option<Offer> {
        let stack = StackSpec::parse("sack/reno", &Catalog::builtin()).expect("a stack");
        let mut offer: Offer = catalog::offer(&stack, Dialect::Linux).into();
        (self.change)(&mut offer.config);
        Some(offer)
    }

    fn accept(&mut self, _: SocketAddr) -> Option<Box<dyn Application>> {
        Some((self.application)())
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// The peer of the host.
pub struct Peer {
    device: PairEnd,
    clock: WallClock,
}

impl Peer {
    pub fn send(&mut self, port: u16, segment: &Segment) {
        self.send_as("10.0.0.2", port, segment);
    }

    /// Sends a segment with the source address `source`.
    pub fn send_as(&mut self, source: &str, port: u16, segment: &Segment) {
        let envelope = Envelope {
            source: SocketAddr::new(source.parse().expect("an address"), port),
            destination: HOST.parse().expect("an address"),
            identification: 0,
            checksum: Checksum::Full,
        };
        let mut packet = [0; 200];
        let length = emit(&mut packet, &envelope, segment, |_| ()).expect("it fits");
        let written = self.device.write(&Pending::NOTHING, &packet[..length], &[]);
        assert_eq!(written.expect("the pair is there"), Writing::Done);
    }

    /// Sends a router's message that a segment from the host to `port` exceeds the MTU `mtu`.
    pub fn say_too_big(&mut self, port: u16, quoted: &Segment, mtu: u16) {
        let envelope = Envelope {
            source: HOST.parse().expect("an address"),
            destination: SocketAddr::new("10.0.0.2".parse().expect("an address"), port),
            identification: 0,
            checksum: Checksum::Full,
        };
        let bare = Segment { len: 0, ..*quoted };
        let mut packet = [0; 200];
        let length = emit(&mut packet, &envelope, &bare, |_| ()).expect("it fits");
        let message = packet_too_big(&packet[..length], mtu).expect("an IP packet");
        let written = self.device.write(&Pending::NOTHING, &message, &[]);
        assert_eq!(written.expect("the pair is there"), Writing::Done);
    }

    /// Returns the host's next segment to `port`, or `None` if there is none within five seconds.
    pub fn hear(&mut self, port: u16) -> Option<Segment> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let end = self.clock.now() + Duration::from_secs(5);
        while self.clock.now() < end {
            let reading = self.device.read(&self.clock, &mut buffer);
            let Reading::Packet(packet) = reading.expect("the pair is there") else {
                thread::sleep(std::time::Duration::from_micros(200));
                continue;
            };
            let packet = parse(packet.bytes, Verify::Checksums).expect("a segment");
            if packet.destination.port() == port {
                return Some(packet.segment);
            }
        }
        None
    }

    /// Requests a connection and returns the host's answer.
    pub fn ask(&mut self, port: u16, isn: u32, time: Option<u32>) -> Option<Segment> {
        let mut syn = Segment::new(SeqNumber(isn));
        syn.flags = Flags::SYN;
        syn.window = 8000;
        syn.options.timestamps = time.map(|value| Timestamps { value, echo: 0 });
        self.send(port, &syn);
        self.hear(port)
    }
}

/// Runs `test` against a host with this listener.
pub fn against_host(
    listener: Everybody,
    change: impl FnOnce(&mut HostConfig),
    test: impl FnOnce(&mut Peer),
) -> HostCounters {
    let (device, theirs) = pair(PairConfig::new()).expect("a pair");
    let address: SocketAddr = HOST.parse().expect("an address");
    let mut config = HostConfig::new(vec![address.ip()]);
    config.send_buffer = 1 << 12;
    change(&mut config);
    let mut host = Host::new(config, theirs, Secret::new(&[7; 16])).expect("a host");
    host.listen(address.port(), Box::new(listener));
    let mut peer = Peer {
        device,
        clock: WallClock::start(),
    };
    let stop = host.waker();
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            host.run().expect("its device is there");
            host.counters()
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&mut peer)));
        stop.stop();
        let counters = running.join().expect("no panic");
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        counters
    })
}
