//! Recorder of traces.

use std::collections::HashMap;

use dupack_net::ids::FlowId;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::{Body, Copy, Data};
use dupack_net::simulation::Simulation;
use dupack_packet::Marking;
use dupack_tcp::Sender;
use dupack_tcp::congestion::Governance;
use dupack_tcp::sender::{WindowChange, WindowLog};
use dupack_tcp::time::Instant;

use super::{Event, Fate, Flow, Growth, Repeated, Sent, State, Trace, What};
use crate::run::{Attempt, BuildError, Interrupt, Scenario};

/// Maximum number of events of a trace in memory.
const MOST_EVENTS: usize = 4_000_000;

impl Trace {
    /// Runs `scenario` with `seed` and records its first flow in memory, for analysis.
    /// [`stream`](super::stream::stream) writes a trace of any length. If the run is interrupted, or given up by a
    /// plug-in, the recording ends at that time.
    ///
    /// # Errors
    /// If the network cannot be built.
    ///
    /// # Panics
    /// If the scenario has no TCP flow. Every checked experiment has one.
    pub fn record(
        scenario: &Scenario,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, BuildError> {
        let _attempt = Attempt::show(interrupt, scenario, seed);
        let logging = logging(scenario);
        let mut simulation = logging.build(seed)?.simulation;
        let first = FlowId(0);
        let mut recorder = Recorder::new(first, StoredEvents::default());
        logging.advance(&mut simulation, &mut recorder, interrupt);
        let Flow { sender, receiver } = Flow::of(&simulation, first);
        let flow = simulation.tcp(first).expect(HAS_A_FLOW);
        let mut trace = Self {
            stack: scenario.stack.to_string(),
            sender,
            receiver,
            events: recorder.sink.events,
            stats: flow.sender().stats(),
            delivered_bytes: flow.receiver().in_order_bytes(),
            end: simulation.now(),
            left_out: recorder.sink.left_out,
        };
        trace.settle_fates();
        Ok(trace)
    }

    /// Sets the fate of each transmission.
    fn settle_fates(&mut self) {
        let mut fates = HashMap::new();
        for event in &self.events {
            match event.what {
                What::DataArrived { order, .. } => {
                    fates.insert(order, Fate::Arrived);
                }
                What::DataDropped { order, cause, .. } => {
                    fates.entry(order).or_insert(Fate::Dropped(cause));
                }
                _ => {}
            }
        }
        for event in &mut self.events {
            if let What::Sent(sent) = &mut event.what
                && let Some(&fate) = fates.get(&sent.order)
            {
                sent.fate = fate;
            }
        }
    }
}

/// Message of a panic. Every checked experiment has a TCP flow.
pub(super) const HAS_A_FLOW: &str = "an experiment has at least one TCP flow";

impl Flow {
    /// Returns the flow with this number of a simulation.
    pub(super) fn of(simulation: &Simulation, flow: FlowId) -> Self {
        let flow = simulation.tcp(flow).expect(HAS_A_FLOW);
        Self {
            sender: *flow.sender().config(),
            receiver: *flow.receiver().config(),
        }
    }
}

/// Returns `scenario` with senders that log their window changes.
pub(super) fn logging(scenario: &Scenario) -> Scenario {
    Scenario {
        log: WindowLog::On,
        ..scenario.clone()
    }
}

/// Consumer of a flow's events in order of time. When a segment is sent, its fate is not known yet.
pub(super) trait Sink {
    /// Processes an event.
    fn take(&mut self, event: Event);
}

/// Stored events, up to a limit.
#[derive(Debug, Default)]
struct StoredEvents {
    events: Vec<Event>,
    left_out: u64,
}

impl Sink for StoredEvents {
    fn take(&mut self, event: Event) {
        if self.events.len() < MOST_EVENTS {
            self.events.push(event);
        } else {
            self.left_out += 1;
        }
    }
}

/// Observer of one flow of a simulation, which passes its events on.
#[derive(Debug)]
pub(super) struct Recorder<S> {
    pub sink: S,
    flow: FlowId,
    in_flight_true: u64,
}

impl<S: Sink> Recorder<S> {
    pub fn new(flow: FlowId, sink: S) -> Self {
        Self {
            sink,
            flow,
            in_flight_true: 0,
        }
    }

    fn hand_on(&mut self, at: Instant, what: What) {
        self.sink.take(Event { at, what });
    }

    fn data(&mut self, event: &PacketEvent<'_>, data: &Data) {
        let number = event.packet.number;
        let order = data.order;
        let len = u64::from(data.segment.len);
        match event.what {
            Happening::Sent => {
                self.in_flight_true += len;
                let sent = Sent {
                    segment: data.segment,
                    number,
                    order,
                    why: data.why,
                    repeated: match data.copy {
                        Copy::First => Repeated::First,
                        Copy::Needed => Repeated::Needed,
                        Copy::Spurious | Copy::LinkMade => Repeated::Needless,
                    },
                    marking: Marking {
                        field: data.ecn,
                        cwr: data.cwr,
                    },
                    fate: Fate::Open,
                };
                self.hand_on(event.at, What::Sent(sent));
            }
            Happening::Dropped { cause, .. } => {
                if data.copy.is_senders() {
                    self.in_flight_true = self.in_flight_true.saturating_sub(len);
                }
                let what = What::DataDropped {
                    number,
                    order,
                    cause,
                };
                self.hand_on(event.at, what);
            }
            Happening::Delivered => {
                if data.copy.is_senders() {
                    self.in_flight_true = self.in_flight_true.saturating_sub(len);
                }
                self.hand_on(event.at, What::DataArrived { number, order });
            }
            Happening::Queued { .. } | Happening::Crossed { .. } => {}
        }
    }
}

impl<S: Sink> Observer for Recorder<S> {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        if event.packet.flow != self.flow {
            return;
        }
        let number = event.packet.number;
        match (&event.packet.body, event.what) {
            (Body::Data(data), _) => self.data(event, data),
            (Body::Ack(ack), Happening::Delivered) => {
                self.hand_on(event.at, What::AckArrived { number, ack: *ack });
            }
            (Body::Ack(ack), Happening::Sent) => {
                self.hand_on(event.at, What::AckSent { number, ack: *ack });
            }
            (Body::Ack(_), Happening::Dropped { cause, .. }) => {
                self.hand_on(event.at, What::AckDropped { number, cause });
            }
            (Body::Ack(_) | Body::Udp | Body::Media { .. } | Body::Report(_), _) => {}
        }
    }

    fn sender(&mut self, at: Instant, flow: FlowId, sender: &Sender) {
        if flow != self.flow {
            return;
        }
        let window = sender.window();
        let growth = match sender.stack().control.governance() {
            Governance::Model => Growth::Model,
            _ if window.in_slow_start() => Growth::SlowStart,
            _ => Growth::Avoidance,
        };
        let state = State {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            in_flight: sender.in_flight(at),
            in_flight_true: self.in_flight_true,
            rtt: sender.rtt().latest(),
            srtt: sender.rtt().srtt(),
            rto: sender.rtt().rto(),
            dup_acks: sender.duplicate_acks(),
            inflation: sender.inflation(),
            growth,
        };
        self.hand_on(at, What::State(state));
    }

    fn window_change(&mut self, flow: FlowId, change: &WindowChange) {
        if flow == self.flow {
            self.hand_on(change.at, What::Window(*change));
        }
    }
}
