//! Record of a simulated transfer, with the sender's state at each transmission and the fate of each transmission.

use std::collections::HashMap;

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Plan;
use dupack_net::ids::FlowId;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::{Body, Copy, Data};
use dupack_tcp::facts::SendReason;
use dupack_tcp::recovery::Phase;
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::sender::{Transmit, TransmitKind};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{Sender, SenderConfig};

/// A transmission.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    pub segment: DataSegment,
    pub offset: u64,
    pub kind: TransmitKind,
    pub why: SendReason,
    /// Phase of the sender's recovery.
    pub phase: Option<Phase>,
    /// Number of timer expiries so far.
    pub expiries: u64,
    /// Number of loss events so far that were detected without a timeout.
    pub loss_events: u64,
    /// Result of the transmission at the receiver.
    pub copy: Copy,
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Open,
    Arrived,
    Dropped,
}

/// An event of the transfer.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub at: Instant,
    pub what: What,
}

#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A transmission, by its index.
    Sent(usize),
    Arrived(usize),
    AckSent(Ack),
    AckArrived(Ack),
}

/// Record of a transfer.
#[derive(Debug)]
pub struct Record {
    pub config: SenderConfig,
    pub sends: Vec<Sent>,
    pub events: Vec<Event>,
    /// Minimum round-trip time that the sender measured.
    pub rtt_least: Option<Duration>,
    pub signs: Signs,
}

/// Signals that reveal spurious retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// The receiver sends DSACKs.
    Dsack,
    /// There are timestamps, but no DSACKs.
    Timestamps,
    Neither,
}

impl Record {
    /// Runs the first flow of an experiment with one stack.
    pub fn of(text: &str, seed: u64) -> Self {
        let source = Source::new("truth", text);
        let parsed = source.parse().unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let plan = Plan::new(parsed, &source, &Catalog::builtin());
        let plan = plan.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let scenario = plan.scenario(plan.jobs()[0]);
        let mut simulation = scenario.build(seed).unwrap().simulation;
        let flow = simulation.tcp(FlowId(0)).unwrap();
        let config = *flow.sender().config();
        let receiver = flow.receiver().config();
        let signs = if receiver.dsack.is_on() && receiver.sack.is_on() {
            Signs::Dsack
        } else if config.timestamps.is_some() {
            Signs::Timestamps
        } else {
            Signs::Neither
        };
        let mut observer = Recording::default();
        let until = Duration::from_nanos(scenario.experiment.duration.as_nanos());
        simulation.run_until(Instant::ZERO + until, &mut observer);
        Self {
            config,
            sends: observer.sends,
            events: observer.events,
            rtt_least: observer.rtt_least,
            signs,
        }
    }
}

#[derive(Default)]
struct Recording {
    sends: Vec<Sent>,
    events: Vec<Event>,
    /// Index of each transmission by its order of sending. The order of window probes is 0.
    by_order: HashMap<u64, usize>,
    rtt_least: Option<Duration>,
}

impl Recording {
    fn note(&mut self, at: Instant, what: What) {
        self.events.push(Event { at, what });
    }

    fn data(&mut self, at: Instant, data: &Data, what: Happening) {
        let Some(&place) = self.by_order.get(&data.order) else {
            return;
        };
        let sent = &mut self.sends[place];
        match what {
            Happening::Sent if data.copy != Copy::LinkMade => {
                sent.copy = data.copy;
                self.note(at, What::Sent(place));
            }
            Happening::Delivered => {
                sent.fate = Fate::Arrived;
                self.note(at, What::Arrived(place));
            }
            Happening::Dropped { .. } if data.copy != Copy::LinkMade => sent.fate = Fate::Dropped,
            _ => {}
        }
    }
}

const FIRST: FlowId = FlowId(0);

impl Observer for Recording {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        if event.packet.flow != FIRST {
            return;
        }
        match (&event.packet.body, event.what) {
            (Body::Data(data), what) => self.data(event.at, data, what),
            (Body::Ack(ack), Happening::Sent) => self.note(event.at, What::AckSent(*ack)),
            (Body::Ack(ack), Happening::Delivered) => self.note(event.at, What::AckArrived(*ack)),
            _ => {}
        }
    }

    fn transmission(&mut self, at: Instant, flow: FlowId, transmit: &Transmit, sender: &Sender) {
        if flow != FIRST {
            return;
        }
        let stats = sender.stats();
        self.by_order.insert(transmit.order, self.sends.len());
        self.sends.push(Sent {
            at,
            segment: transmit.segment,
            offset: transmit.offset,
            kind: transmit.kind,
            why: transmit.why,
            phase: sender.phase(),
            expiries: stats.timeouts,
            loss_events: stats.loss_events,
            copy: Copy::First,
            fate: Fate::Open,
        });
    }

    fn sender(&mut self, _: Instant, flow: FlowId, sender: &Sender) {
        if flow == FIRST {
            self.rtt_least = sender.rtt().min();
        }
    }
}
