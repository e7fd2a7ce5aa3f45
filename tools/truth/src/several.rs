//! Several transfers in one capture, which share known bottlenecks.
//!
//! Every transfer has its own links to and from the bottleneck, so that round-trip times may differ. All transfers are
//! captured at the same end: at the host that sends all of them, or at the host that receives all of them.

use std::collections::HashMap;
use std::net::SocketAddr;

use dupack_algorithms::catalog::{Catalog, Context, Dialect, StackSpec};
use dupack_lab::experiment::endpoint::{ReceiverOptions, SenderOptions};
use dupack_lab::run::Endpoints;
use dupack_net::flow::{Application, Path, TcpFlowConfig, Write, scripted};
use dupack_net::ids::{LinkId, NodeId};
use dupack_net::link::{LinkConfig, QueueLimit};
use dupack_net::network::Network;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::Body;
use dupack_net::simulation::Simulation;
use dupack_net::topology::Topology;
use dupack_net::units::BitRate;
use dupack_packet::{CaptureTime, CaptureWriter, Snap};
use dupack_tcp::time::{Duration, Instant};

pub use crate::limits::tape::End;

use crate::limits::dress::{LEAD, Wardrobe};

/// Rate of the access links in bit/s.
const ACCESS: u64 = 1_000_000_000;

/// A shared link with a queue.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    pub bit_per_s: u64,
    pub room_packets: u64,
}

/// A transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Index of the bottleneck of the transfer.
    pub over: usize,
    pub stack: &'static str,
    /// One-way delay without queues.
    pub delay: Duration,
    pub start: Duration,
    pub application: Application,
    pub writes: Vec<Write>,
    /// `true` if the capture contains the transfer.
    pub captured: bool,
}

impl Transfer {
    /// Returns a transfer with the stack rack/cubic that starts at once and always has more data.
    #[must_use]
    pub fn new(over: usize, delay_ms: u64) -> Self {
        Self {
            over,
            stack: "rack/cubic",
            delay: Duration::from_millis(delay_ms),
            start: Duration::ZERO,
            application: Application::Greedy,
            writes: Vec::new(),
            captured: true,
        }
    }

    #[must_use]
    pub fn starting(mut self, millis: u64) -> Self {
        self.start = Duration::from_millis(millis);
        self
    }

    #[must_use]
    pub fn of(mut self, stack: &'static str) -> Self {
        self.stack = stack;
        self
    }

    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.application = Application::Finite(bytes);
        self
    }

    #[must_use]
    pub fn writing(mut self, writes: Vec<Write>) -> Self {
        self.application = scripted(&writes);
        self.writes = writes;
        self
    }

    /// Hides the transfer from the capture.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.captured = false;
        self
    }
}

/// Returns the address and port of an end of a transfer. The ends at which the transfers are captured share one
/// address.
fn address(at: End, sender: bool, number: usize) -> SocketAddr {
    let common = sender == (at == End::Sender);
    let host = if common { 1 } else { number as u8 + 10 };
    let port = if sender { 50_000 + number as u16 } else { 443 };
    let net = if sender { [10, 0, 0] } else { [10, 0, 1] };
    ([net[0], net[1], net[2], host], port).into()
}

/// Runs these transfers over these bottlenecks for the duration `long`, and returns the capture at the end `at`.
#[must_use]
pub fn capture(
    bottlenecks: &[Bottleneck],
    transfers: &[Transfer],
    (at, long): (End, Duration),
    seed: u64,
) -> Vec<u8> {
    let catalog = Catalog::builtin();
    let mut map = Topology::new();
    let links: Vec<_> = bottlenecks
        .iter()
        .map(|one| bottleneck(&mut map, one))
        .collect();
    let mut configs = Vec::new();
    let mut camera = Camera::new(at);
    for (number, transfer) in transfers.iter().enumerate() {
        let spec = StackSpec::parse(transfer.stack, &catalog).expect("a stack");
        let options = SenderOptions {
            timestamps: Some(true),
            ..SenderOptions::default()
        };
        let ends = Endpoints::new(Dialect::Linux, &spec, &options, &ReceiverOptions::default());
        let context = Context::new(ends.sender.smss).seeded(seed + number as u64);
        let stack = spec.build(Dialect::Linux, &context);
        let path = way(&mut map, &links[transfer.over], transfer.delay);
        let mut config = TcpFlowConfig::new(path, ends.sender, stack, ends.receiver);
        config.headers = ends.headers;
        config.start = Instant::ZERO + transfer.start;
        config.application = transfer.application;
        config.writes.clone_from(&transfer.writes);
        let between = [true, false].map(|sender| address(at, sender, number));
        let wardrobe = Wardrobe::new(ends.sender, ends.receiver).between(between);
        camera.add(wardrobe, transfer);
        configs.push(config);
    }
    let mut network = Network::new(map);
    for config in configs {
        network.tcp(config).expect("the ends are joined");
    }
    let mut simulation = Simulation::new(network, seed).expect("possible links");
    simulation.run_until(Instant::ZERO + long, &mut camera);
    camera.finish()
}

type Joined = (NodeId, NodeId, LinkId, LinkId);

fn bottleneck(map: &mut Topology, one: &Bottleneck) -> Joined {
    let rate = BitRate::new(one.bit_per_s).expect("a rate");
    let link = LinkConfig::rate(rate, Duration::from_millis(1));
    let there = link
        .clone()
        .with_queue(QueueLimit::Packets(one.room_packets));
    let back = link.with_queue(QueueLimit::Unlimited);
    let (left, right) = (map.node("left"), map.node("right"));
    let (there, back) = map.duplex(left, right, there, back);
    (left, right, there, back)
}

/// Adds a sender on one side of a bottleneck and a receiver on the other side, and returns the path between them.
fn way(map: &mut Topology, (left, right, over, back): &Joined, delay: Duration) -> Path {
    let rate = BitRate::new(ACCESS).expect("a rate");
    let half = LinkConfig::rate(rate, delay / 2);
    let (sender, receiver) = (map.node("sender"), map.node("receiver"));
    let (up, down) = map.duplex(sender, *left, half.clone(), half.clone());
    let (out, home) = map.duplex(*right, receiver, half.clone(), half);
    Path::Explicit {
        there: map.explicit_route(&[up, *over, out]).expect("a way"),
        back: map.explicit_route(&[home, *back, down]).expect("a way"),
    }
}

/// Observer that takes the capture.
struct Camera {
    at: End,
    flows: Vec<Taken>,
    packets: Vec<(Instant, Vec<u8>)>,
    /// ACKs in transit, with departure time and packet.
    acks: HashMap<(usize, u64), (Instant, Vec<u8>)>,
    /// Data packets in transit.
    under_way: HashMap<(usize, u64, u64), Vec<u8>>,
}

struct Taken {
    wardrobe: Wardrobe,
    start: Instant,
    delay: Duration,
    captured: bool,
}

impl Camera {
    fn new(at: End) -> Self {
        Self {
            at,
            flows: Vec::new(),
            packets: Vec::new(),
            acks: HashMap::new(),
            under_way: HashMap::new(),
        }
    }

    /// Adds a flow and captures its handshake.
    fn add(&mut self, mut wardrobe: Wardrobe, transfer: &Transfer) {
        let start = Instant::ZERO + LEAD + transfer.start;
        let delay = transfer.delay;
        let times = match self.at {
            End::Sender => [start - delay * 2, start, start],
            End::Receiver => [start - delay, start - delay, start + delay],
        };
        if transfer.captured {
            let handshake = wardrobe.handshake();
            self.packets.extend(times.into_iter().zip(handshake));
        }
        self.flows.push(Taken {
            wardrobe,
            start,
            delay,
            captured: transfer.captured,
        });
    }

    fn finish(mut self) -> Vec<u8> {
        self.packets.sort_by_key(|(at, _)| *at);
        let mut writer = CaptureWriter::new(Vec::new(), Snap::Headers).expect("memory");
        for (at, packet) in &self.packets {
            let at = CaptureTime::from_simulation(*at);
            writer.write(at, packet, None).expect("memory");
        }
        writer.finish().expect("memory")
    }
}

impl Observer for Camera {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        let place = event.packet.flow.0 as usize;
        let (at, number) = (event.at, event.packet.number);
        let seen = at + LEAD;
        let Some(flow) = self.flows.get_mut(place).filter(|flow| flow.captured) else {
            return;
        };
        debug_assert!(seen + flow.delay >= flow.start, "nothing is sent before");
        match (&event.packet.body, event.what) {
            (Body::Data(data), Happening::Sent) if data.copy.is_senders() => {
                let packet = flow.wardrobe.data(&data.segment, false);
                match self.at {
                    End::Sender => self.packets.push((seen, packet)),
                    End::Receiver => {
                        let key = (place, data.order, data.offset);
                        self.under_way.insert(key, packet);
                    }
                }
            }
            (Body::Data(data), Happening::Delivered) => {
                let key = (place, data.order, data.offset);
                let packet = self.under_way.remove(&key);
                self.packets.extend(packet.map(|packet| (seen, packet)));
            }
            (Body::Ack(ack), Happening::Sent) => {
                let packet = flow.wardrobe.ack(at, ack);
                if self.at == End::Receiver {
                    self.packets.push((seen, packet.clone()));
                }
                self.acks.insert((place, number), (at, packet));
            }
            (Body::Ack(_), Happening::Delivered) => {
                if let Some((left, packet)) = self.acks.remove(&(place, number)) {
                    flow.wardrobe.heard(left);
                    if self.at == End::Sender {
                        self.packets.push((seen, packet));
                    }
                }
            }
            _ => {}
        }
    }
}
