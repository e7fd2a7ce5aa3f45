//! A simulated transfer, captured at both ends, with the time budget of its sender.

use std::collections::{HashMap, HashSet};

use dupack_algorithms::catalog::{Catalog, Context};
use dupack_diagnosis::{Diagnosis, Flow, StreamFindings, diagnose};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Endpoints, Plan};
use dupack_net::flow::{Path, Reader, TcpFlowConfig};
use dupack_net::ids::FlowId;
use dupack_net::link::{LinkConfig, QueueLimit};
use dupack_net::network::Network;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::Body;
use dupack_net::shapes::Chain;
use dupack_net::simulation::Simulation;
use dupack_net::topology::Topology;
use dupack_net::units::BitRate;
use dupack_packet::captured::CaptureReader;
use dupack_tcp::Sender;
use dupack_tcp::sender::{Transmit, TransmitKind};
use dupack_tcp::time::{Duration, Instant};

use super::account::{Account, Truth};
use super::dress::{Film, LEAD, Wardrobe};

/// End at which a capture is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Sender,
    Receiver,
}

impl End {
    pub const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];
}

/// A simulated transfer with its captures.
pub struct Tape {
    /// Captures at the sender and at the receiver.
    captures: [Vec<u8>; 2],
    pub truth: Truth,
}

const FIRST: FlowId = FlowId(0);

impl Tape {
    /// Runs the first flow of an experiment with its first stack.
    pub fn of(text: &str, seed: u64) -> Self {
        let source = Source::new("tape", text);
        let parsed = source.parse().unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let plan = Plan::new(parsed, &source, &Catalog::builtin());
        let plan = plan.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let scenario = plan.scenario(plan.jobs()[0]);
        let simulation = scenario.build(seed).expect("a network").simulation;
        let until = Duration::from_nanos(scenario.experiment.duration.as_nanos());
        Self::run(simulation, until)
    }

    /// Runs a transfer that always has more data, to a receiver whose application reads slowly. An experiment file
    /// cannot describe such a receiver. Stack, ends and path are those of the experiment, except for impairments of the
    /// path.
    pub fn to_slow_reader(text: &str, reader: Reader, seed: u64) -> Self {
        let source = Source::new("tape", text);
        let parsed = source.parse().unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let plan = Plan::new(parsed, &source, &Catalog::builtin());
        let plan = plan.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let scenario = plan.scenario(plan.jobs()[0]);
        let e = &scenario.experiment;
        let ends = Endpoints::new(e.dialect, &scenario.stack, &e.sender, &e.receiver);
        let path = e.path.as_ref().expect("a path");
        let rate = path.rate.expect("a rate").as_bits_per_second();
        let delay = Duration::from_nanos(path.delay.as_nanos());
        let link = LinkConfig::rate(BitRate::new(rate).expect("a rate"), delay);
        let there = link.clone().with_queue(QueueLimit::Packets(100));
        let mut map = Topology::new();
        let chain = Chain::single(there, link).build(&mut map);
        let (from, to) = (chain.nodes[0], chain.nodes[1]);
        let path = Path::Shortest { from, to };
        let context = Context::new(ends.sender.smss).seeded(seed);
        let stack = scenario.stack.build(e.dialect, &context);
        let mut config = TcpFlowConfig::new(path, ends.sender, stack, ends.receiver);
        config.headers = ends.headers;
        config.reader = reader;
        let mut network = Network::new(map);
        network.tcp(config).expect("the ends are joined");
        let simulation = Simulation::new(network, seed).expect("a possible link");
        Self::run(simulation, Duration::from_nanos(e.duration.as_nanos()))
    }

    /// Runs the first flow of a simulation for the duration `until`.
    pub fn run(mut simulation: Simulation, until: Duration) -> Self {
        let flow = simulation.tcp(FIRST).expect("a flow");
        let (sender, receiver) = (*flow.sender().config(), *flow.receiver().config());
        let mut camera = Camera {
            wardrobe: Wardrobe::new(sender, receiver),
            films: [Film::default(), Film::default()],
            under_way: HashMap::new(),
            pushed: HashSet::new(),
            acks: HashMap::new(),
            ways: [Duration::from_secs(10); 2],
            account: Account::default(),
            first: None,
        };
        simulation.run_until(Instant::ZERO + until, &mut camera);
        camera.finish()
    }

    /// Diagnoses the capture at `end`. Returns `None` if the capture contains no data.
    pub fn diagnosed(&self, end: End) -> Option<StreamFindings> {
        let bytes = self.capture(end);
        let mut reader = CaptureReader::new(bytes).expect("a capture");
        let found: Diagnosis = diagnose(&mut reader, Flow::All, &mut ()).expect("memory");
        let connection = found.connections.into_iter().next()?;
        connection.streams.opener
    }

    /// Returns the capture file of `end`.
    pub fn capture(&self, end: End) -> &[u8] {
        match end {
            End::Sender => &self.captures[0],
            End::Receiver => &self.captures[1],
        }
    }
}

struct Camera {
    wardrobe: Wardrobe,
    films: [Film; 2],
    /// Data packets in transit, identified by transmission order and stream offset, with the time of sending.
    under_way: HashMap<(u64, u64), (Instant, Vec<u8>)>,
    /// Stream offsets of the ends of written data. A segment that ends at such an offset has the PSH flag, because the
    /// application had written no further data when the segment was sent.
    pushed: HashSet<u64>,
    /// ACKs in transit, identified by packet number, with the time of sending.
    acks: HashMap<u64, (Instant, Vec<u8>)>,
    /// Minimum delay in each direction.
    ways: [Duration; 2],
    account: Account,
    first: Option<Instant>,
}

impl Camera {
    fn finish(self) -> Tape {
        let first = self.first.unwrap_or_default();
        let [there, back] = self.ways;
        let rtt = there + back;
        let open = first + LEAD;
        let mut wardrobe = self.wardrobe;
        let handshake = wardrobe.handshake();
        let at_sender = [open - rtt, open, open];
        let at_receiver = [open - back, open - back, open + there];
        let captures = [
            self.films[0].file(&handshake, at_sender),
            self.films[1].file(&handshake, at_receiver),
        ];
        Tape {
            captures,
            truth: self.account.finish(rtt),
        }
    }
}

impl Observer for Camera {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        if event.packet.flow != FIRST {
            return;
        }
        let at = event.at;
        let number = event.packet.number;
        match (&event.packet.body, event.what) {
            (Body::Data(data), Happening::Sent) if data.copy.is_senders() => {
                self.first.get_or_insert(at);
                let end = data.offset + u64::from(data.segment.len);
                let pushed = self.pushed.contains(&end);
                let packet = self.wardrobe.data(&data.segment, pushed);
                self.films[0].push(at, packet.clone());
                self.under_way
                    .insert((data.order, data.offset), (at, packet));
                self.account.packet(at);
            }
            (Body::Data(data), Happening::Delivered) => {
                if let Some((left, packet)) = self.under_way.get(&(data.order, data.offset)) {
                    self.ways[0] = self.ways[0].min(at.since(*left));
                    self.films[1].push(at, packet.clone());
                }
            }
            (Body::Ack(ack), Happening::Sent) => {
                let packet = self.wardrobe.ack(at, ack);
                self.films[1].push(at, packet.clone());
                self.acks.insert(number, (at, packet));
            }
            (Body::Ack(_), Happening::Delivered) => {
                if let Some((left, packet)) = self.acks.get(&number) {
                    self.ways[1] = self.ways[1].min(at.since(*left));
                    self.wardrobe.heard(*left);
                    self.films[0].push(at, packet.clone());
                    self.account.packet(at);
                }
            }
            _ => {}
        }
    }

    fn transmission(&mut self, at: Instant, flow: FlowId, transmit: &Transmit, sender: &Sender) {
        if flow == FIRST {
            if sender.unsent_bytes() == 0 && transmit.kind == TransmitKind::First {
                self.pushed
                    .insert(transmit.offset + u64::from(transmit.segment.len));
            }
            self.account.transmission(at, transmit);
        }
    }

    fn sender(&mut self, at: Instant, flow: FlowId, sender: &Sender) {
        if flow == FIRST {
            self.account.sender(at, sender);
        }
    }
}
