//! Makes a large capture of packet headers, as input for measuring how fast captures are read.
//!
//! ```sh
//! cargo run --release -p dupack-wire --example make_capture -- big.pcap 1000 10000000
//! cargo run --release -p dupack-wire --example read_capture -- big.pcap
//! ```
//!
//! The arguments are the number of connections and the approximate number of packets; the values shown are the
//! defaults. Both ends of each connection are ours and run `rack/cubic` in the dialect of Linux. Each connection has
//! its own path with a rate, a queue that overflows, a delay, and random losses. All connections are open at the same
//! time and are captured at the end that sends the data. The file is a pcap file with times in nanoseconds, Ethernet
//! headers, and the first 96 bytes of each frame. The same arguments give the same file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use dupack_algorithms::catalog::{Catalog, Dialect, StackSpec, offer};
use dupack_net::random::Stream;
use dupack_packet::{CaptureTime, Checksum, Envelope, emit};
use dupack_tcp::connection::{Connection, Event, Segment};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const USAGE: &str = "usage: make_capture FILE [CONNECTIONS [PACKETS]]";

/// Maximum number of bytes kept of each frame.
const SNAP_BYTES: u32 = 96;

/// Payload of a full segment with timestamps on Ethernet, in bytes.
const SEGMENT_BYTES: u64 = 1448;

/// Length of a frame's header in bytes.
const ETHERNET_BYTES: usize = 14;

/// Time within which all connections are opened.
const OPENING: Duration = Duration::from_millis(2000);

/// Approximate duration of each connection in seconds. The rate is chosen accordingly.
const LASTING_SECS: u64 = 60;

/// Indices of the ends of a connection.
const CLIENT: usize = 0;
const SERVER: usize = 1;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or(USAGE)?;
    let mut number = |default: u64| words.next().map_or(Ok(default), |word| word.parse());
    let (connections, packets) = (number(1000)?, number(10_000_000)?);
    let writer = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let mut world = World::new(connections, packets, Pcap::new(writer)?)?;
    world.run()?;
    println!("{} packets, {} lost", world.pcap.count, world.lost);
    Ok(world.pcap.writer.flush()?)
}

/// Writer of the capture.
struct Pcap<W> {
    writer: W,
    count: u64,
    frame: Vec<u8>,
}

impl<W: Write> Pcap<W> {
    fn new(mut writer: W) -> io::Result<Self> {
        // The words are the magic number for nanoseconds, version, time zone, accuracy, snapshot length, and link type.
        for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, SNAP_BYTES, 1_u32] {
            writer.write_all(&word.to_le_bytes())?;
        }
        Ok(Self {
            writer,
            count: 0,
            frame: vec![0; 1 << 16],
        })
    }

    fn write(&mut self, at: Instant, envelope: &Envelope, segment: &Segment) -> Result<()> {
        let (ethernet, packet) = self.frame.split_at_mut(ETHERNET_BYTES);
        let kind = if envelope.source.is_ipv4() {
            [8, 0]
        } else {
            [0x86, 0xdd]
        };
        ethernet[12..].copy_from_slice(&kind);
        // The payload is not kept, so its contents and the checksum are arbitrary.
        let len = ETHERNET_BYTES + emit(packet, envelope, segment, |_| {})?;
        let kept = len.min(SNAP_BYTES as usize);
        let nanos = CaptureTime::from_simulation(at).as_unix_nanos();
        let (secs, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        for word in [secs as u32, nanos as u32, kept as u32, len as u32] {
            self.writer.write_all(&word.to_le_bytes())?;
        }
        self.writer.write_all(&self.frame[..kept])?;
        self.count += 1;
        Ok(())
    }
}

/// An event of a connection.
enum What {
    /// A segment arrives at an end.
    Arrival(usize, Segment),
    /// A timer of an end may have expired.
    Timer(usize),
}

struct World<W> {
    flows: Vec<Flow>,
    /// Events by time, then by order of insertion, with the index of the flow.
    agenda: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    happenings: Vec<Option<What>>,
    free: Vec<usize>,
    order: u64,
    stream: Stream,
    lost: u64,
    pcap: Pcap<W>,
}

struct Flow {
    ends: [Connection; 2],
    addresses: [SocketAddr; 2],
    identifications: [u16; 2],
    timers: [Option<Instant>; 2],
    /// Nanoseconds per byte from server to client.
    pace: u64,
    free_at: Instant,
    /// Maximum queueing delay. Packets that would wait longer are lost.
    queue: Duration,
    delay: Duration,
    /// Number of randomly lost packets per ten thousand.
    loss: u64,
}

impl Flow {
    fn draw(number: u64, packets: u64, stack: &StackSpec, stream: &mut Stream) -> Self {
        // Two segments and their ACK make three packets.
        let segments = packets * 2 / 3;
        let bytes = segments * SEGMENT_BYTES;
        let end = |stream: &mut Stream| {
            let (mut config, build) = offer(stack, Dialect::Linux);
            config.mss = 1460;
            config.receive_buffer = 1 << 20;
            config.iss = SeqNumber(stream.bits() as u32);
            config.timestamp_offset = stream.bits() as u32;
            config.challenge_secret = stream.bits();
            (config, build)
        };
        let ((config, build), (serving, build_serving)) = (end(stream), end(stream));
        let client = Connection::connect(config, build);
        let mut server = Connection::listen(serving, build_serving);
        // The write cannot fail, because the connection has not been closed.
        let _ = server.write(bytes);
        server.close();
        let pace = (LASTING_SECS * 1_000_000_000 / bytes.max(1)).max(1);
        Self {
            ends: [client, server],
            addresses: addresses(number),
            identifications: [stream.bits() as u16, stream.bits() as u16],
            timers: [None; 2],
            // The rate is one to two times the required rate.
            pace: pace / 2 + stream.below(pace / 2 + 1),
            free_at: Instant::ZERO,
            queue: Duration::from_millis(100 + stream.below(400)),
            delay: Duration::from_micros(2000 + stream.below(60_000)),
            loss: stream.below(60),
        }
    }

    /// Returns the time at which a packet arrives at the other end, or `None` if it is lost. Only the server's packets
    /// can be lost.
    fn pass(
        &mut self,
        now: Instant,
        bytes: u64,
        from: usize,
        stream: &mut Stream,
    ) -> Option<Instant> {
        if from == CLIENT {
            return Some(now + self.delay);
        }
        let start = now.max(self.free_at);
        if start.since(now) > self.queue || stream.below(10_000) < self.loss {
            return None;
        }
        self.free_at = start + Duration::from_nanos(self.pace * bytes);
        Some(self.free_at + self.delay)
    }
}

/// Returns the addresses of a connection. Every fourth connection uses IPv6.
fn addresses(number: u64) -> [SocketAddr; 2] {
    let (high, low) = ((number / 200) as u8, (number % 200) as u8 + 1);
    let port = 20_000 + (number % 40_000) as u16;
    if number % 4 == 3 {
        let host = |net: u16| Ipv6Addr::new(0x2001, 0xdb8, net, 0, 0, 0, high.into(), low.into());
        return [(host(1), port).into(), (host(2), 443).into()];
    }
    let client = Ipv4Addr::new(10, 1, high, low);
    [
        (client, port).into(),
        (Ipv4Addr::new(192, 0, 2, 1), 443).into(),
    ]
}

impl<W: Write> World<W> {
    fn new(connections: u64, packets: u64, pcap: Pcap<W>) -> Result<Self> {
        let stack = StackSpec::parse("rack/cubic", &Catalog::builtin())?;
        let mut stream = Stream::derive(1, "flows");
        let each = packets / connections.max(1);
        let flows = (0..connections).map(|number| Flow::draw(number, each, &stack, &mut stream));
        let mut world = Self {
            flows: flows.collect(),
            agenda: BinaryHeap::new(),
            happenings: Vec::new(),
            free: Vec::new(),
            order: 0,
            stream: Stream::derive(1, "losses"),
            lost: 0,
            pcap,
        };
        for flow in 0..world.flows.len() {
            let at = world.stream.between(Duration::ZERO, OPENING);
            world.plan(Instant::ZERO + at, flow, What::Timer(CLIENT));
        }
        Ok(world)
    }

    fn plan(&mut self, at: Instant, flow: usize, what: What) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.happenings.push(None);
            self.happenings.len() - 1
        });
        self.happenings[slot] = Some(what);
        // Events with the same time keep the order of insertion.
        self.order += 1;
        self.agenda
            .push(Reverse((at, self.order << 32 | slot as u64, flow)));
    }

    fn run(&mut self) -> Result<()> {
        while let Some(Reverse((now, order, number))) = self.agenda.pop() {
            let slot = (order & 0xffff_ffff) as usize;
            let what = self.happenings[slot].take();
            self.free.push(slot);
            match what {
                Some(What::Arrival(end, segment)) => self.arrive(now, number, end, &segment)?,
                Some(What::Timer(end)) => self.expire(now, number, end)?,
                None => {}
            }
        }
        Ok(())
    }

    fn arrive(&mut self, now: Instant, number: usize, end: usize, segment: &Segment) -> Result<()> {
        if end == SERVER {
            self.capture(now, number, CLIENT, segment)?;
        }
        let connection = &mut self.flows[number].ends[end];
        // The result is ignored, because there is no payload to store.
        let _ = connection.handle_segment(now, segment);
        connection.read(u64::MAX);
        self.work(now, number, end)
    }

    fn expire(&mut self, now: Instant, number: usize, end: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        flow.timers[end] = None;
        if flow.ends[end].next_timeout().is_some_and(|due| due <= now) {
            flow.ends[end].handle_timeout(now);
        }
        self.work(now, number, end)
    }

    /// Sends all segments that are due at an end.
    fn work(&mut self, now: Instant, number: usize, end: usize) -> Result<()> {
        while let Some(event) = self.flows[number].ends[end].poll_event() {
            if let Event::PeerFinished { .. } = event {
                self.flows[number].ends[end].close();
            }
        }
        while let Some(outgoing) = self.flows[number].ends[end].poll_transmit(now) {
            let segment = outgoing.segment;
            if end == SERVER {
                self.capture(now, number, SERVER, &segment)?;
            }
            let bytes = u64::from(segment.len) + 66;
            let flow = &mut self.flows[number];
            match flow.pass(now, bytes, end, &mut self.stream) {
                Some(at) => self.plan(at, number, What::Arrival(1 - end, segment)),
                None => self.lost += 1,
            }
        }
        let flow = &mut self.flows[number];
        let due = flow.ends[end].next_timeout().map(|due| due.max(now));
        // No event is needed if the timer is already set to an earlier time, because it then checks again.
        if let Some(due) = due.filter(|due| flow.timers[end].is_none_or(|planned| *due < planned)) {
            flow.timers[end] = Some(due);
            self.plan(due, number, What::Timer(end));
        }
        Ok(())
    }

    fn capture(
        &mut self,
        now: Instant,
        number: usize,
        from: usize,
        segment: &Segment,
    ) -> Result<()> {
        let flow = &mut self.flows[number];
        flow.identifications[from] = flow.identifications[from].wrapping_add(1);
        let envelope = Envelope {
            source: flow.addresses[from],
            destination: flow.addresses[1 - from],
            identification: flow.identifications[from],
            checksum: Checksum::Offloaded,
        };
        self.pcap.write(now, &envelope, segment)
    }
}
