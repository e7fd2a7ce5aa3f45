//! Measures the speed of the network without TCP. A window of packets circulates over one link; every second packet is
//! acknowledged.
//!
//! `cargo run --release -p dupack-net --example event_loop`

use dupack_net::fabric::{Fabric, Step};
use dupack_net::ids::FlowId;
use dupack_net::link::{LinkConfig, QueueLimit};
use dupack_net::observer::{Observer, Unobserved};
use dupack_net::packet::{Body, Copy, Data, Packet, PacketKind};
use dupack_net::route::Hop;
use dupack_net::shapes::Chain;
use dupack_net::topology::{Topology, TopologyError};
use dupack_net::trace_hash::TraceHash;
use dupack_net::units::{BitRate, Probability};
use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::{Ack, Bit, Codepoint, DataSegment};
use dupack_tcp::time::{Duration, Instant};

const PACKETS: u64 = 1_000_000;
const WINDOW: u64 = 50;

fn main() -> Result<(), TopologyError> {
    measure("not observed", &mut Unobserved)?;
    let mut hash = TraceHash::default();
    measure("hashed", &mut hash)?;
    println!("{hash:?}");
    Ok(())
}

// This example measures wall-clock time.
#[allow(clippy::disallowed_methods)]
fn measure<O: Observer>(name: &str, observer: &mut O) -> Result<(), TopologyError> {
    for _ in 0..3 {
        let started = std::time::Instant::now();
        let mut circle = Circle::new()?;
        circle.run(observer);
        let spent = started.elapsed();
        println!(
            "{name}: {:.1} ns per delivered data packet",
            spent.as_nanos() as f64 / circle.delivered as f64
        );
    }
    Ok(())
}

struct Circle {
    fabric: Fabric,
    there: Hop,
    back: Hop,
    sent: u64,
    delivered: u64,
}

impl Circle {
    fn new() -> Result<Self, TopologyError> {
        let rate = BitRate::from_mbps(10);
        let link = LinkConfig::rate(rate, Duration::from_millis(1));
        let there = link
            .clone()
            .with_queue(QueueLimit::Packets(100))
            .with_bernoulli(Probability::clamped(0.01));
        let mut map = Topology::new();
        let chain = Chain::single(there, link).build(&mut map);
        let there = map.route(chain.nodes[0], chain.nodes[1])?;
        let back = map.route(chain.nodes[1], chain.nodes[0])?;
        Ok(Self {
            fabric: map.fabric(1, 2)?,
            there: map.first_hop(there),
            back: map.first_hop(back),
            sent: 0,
            delivered: 0,
        })
    }

    fn run<O: Observer>(&mut self, observer: &mut O) {
        for _ in 0..WINDOW {
            self.send_data(observer);
        }
        while self.delivered < PACKETS {
            match self.fabric.step(Instant::FAR_FUTURE, observer) {
                Step::Delivered(handle) => {
                    let kind = self.fabric.packet(handle).kind();
                    self.fabric.release(handle);
                    if kind == PacketKind::Data {
                        self.delivered += 1;
                        if self.delivered.is_multiple_of(2) {
                            self.send_ack(observer);
                        }
                    } else {
                        self.send_data(observer);
                        self.send_data(observer);
                    }
                }
                Step::Dropped(handle, _) => self.fabric.release(handle),
                Step::Timer(_) | Step::Idle => return,
            }
        }
    }

    fn send_data<O: Observer>(&mut self, observer: &mut O) {
        let mut lost = true;
        while lost {
            let packet = Packet {
                flow: FlowId(0),
                wire_bytes: 1000,
                number: self.sent,
                body: Body::Data(Data {
                    segment: DataSegment::default(),
                    offset: self.sent * 1000,
                    order: self.sent,
                    copy: Copy::First,
                    why: SendReason::NewData,
                    ecn: Codepoint::NotEct,
                    cwr: Bit::Clear,
                }),
            };
            self.sent += 1;
            lost = self.fabric.send(packet, self.there, observer).is_err();
        }
    }

    fn send_ack<O: Observer>(&mut self, observer: &mut O) {
        let packet = Packet {
            flow: FlowId(0),
            wire_bytes: 40,
            number: self.delivered / 2,
            body: Body::Ack(Ack::default()),
        };
        let sent = self.fabric.send(packet, self.back, observer);
        debug_assert!(sent.is_ok());
    }
}
