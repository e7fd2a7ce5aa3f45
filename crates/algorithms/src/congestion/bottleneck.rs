//! Simulation for tests: a sender with a model-based control (a version of BBR) and RACK, a receiver, and a bottleneck
//! between them.

use core::fmt::Debug;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use dupack_tcp::congestion::{CongestionControl, Credit, Governance, Pacing};
use dupack_tcp::facts::{AckFacts, Departure, LossCause, LossFacts, Sent, View};
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;
use dupack_tcp::{Receiver, Sender, Stack, Transmit};

use crate::catalog::Dialect;
use crate::catalog::dialect::{receiver_config, sender_config};
use crate::congestion::bench::{CONTEXT, SMSS};
use crate::differentiation::none::NoDifferentiation;
use crate::recovery::rack;
use crate::response::tcp::Tcp;

/// Control that a test can inspect while the sender uses it.
pub(super) trait Observed: CongestionControl + Clone + 'static {
    /// State of the control's state machine.
    type State: Copy + PartialEq + Debug;

    /// Creates a control with the defaults of the dialect `rfc`.
    fn fresh() -> Self;

    /// Returns the current state.
    fn state(&self) -> Self::State;
}

/// Control that is shared by the test and the sender.
#[derive(Debug)]
struct Shared<C>(Arc<Mutex<C>>);

impl<C: Observed> Shared<C> {
    fn get(&self) -> MutexGuard<'_, C> {
        self.0.lock().expect("no test panics within")
    }
}

impl<C: Observed> CongestionControl for Shared<C> {
    fn opening(&self, configured: Window) -> Window {
        self.get().opening(configured)
    }
    fn governance(&self) -> Governance {
        self.get().governance()
    }
    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        self.get().on_sent(sent, departure, view);
    }
    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        self.get().on_ack(ack, credit, view)
    }
    fn reduction(&self, loss: &LossFacts) -> Window {
        self.get().reduction(loss)
    }
    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        self.get().on_loss(loss, cause, chosen);
    }
    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.get().on_timeout(loss)
    }
    fn undo(&self) -> UndoRules {
        self.get().undo()
    }
    fn remember(&mut self) {
        self.get().remember();
    }
    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        self.get().on_spurious(prior, window)
    }
    fn pacing(&self) -> Pacing {
        self.get().pacing()
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.get().pacing_rate()
    }
}

/// Bottleneck. All public fields may be changed at any time.
pub(super) struct Path {
    /// Transmission time of a segment at the bottleneck.
    pub service: Duration,
    /// Propagation delay in each direction.
    pub delay: Duration,
    /// Maximum number of segments in the queue.
    pub buffer: usize,
    /// `true` if all segments are lost.
    pub dead: bool,
    /// Period of losses: every n-th segment is lost.
    pub drop_every: Option<u64>,
    /// Interval of ACKs: ACKs leave the path only at multiples of this time.
    pub ack_slot: Duration,
    /// Policer: segments that exceed its rate are lost.
    pub policer: Option<Policer>,
    /// Number of segments lost so far.
    pub lost: u64,
    drop_orders: Vec<u64>,
    /// Number of segments that are still to be dropped. Every second arriving segment is dropped.
    drop_next: u64,
    /// Segments that are still to be delayed.
    late: Option<Late>,
    offered: u64,
    free: Instant,
    /// Times at which the segments at the bottleneck leave it.
    departures: VecDeque<Instant>,
}

/// Token bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    /// Rate in bytes per second.
    rate: f64,
    /// Capacity in bytes.
    burst: f64,
    tokens: f64,
    filled: Instant,
}

impl Policer {
    /// Creates a policer whose bucket is full.
    pub(super) fn new(rate: f64, burst: f64) -> Self {
        Self {
            rate,
            burst,
            tokens: burst,
            filled: Instant::ZERO,
        }
    }

    fn passes(&mut self, now: Instant) -> bool {
        let added = now.since(self.filled).as_secs_f64() * self.rate;
        self.filled = now;
        self.tokens = (self.tokens + added).min(self.burst);
        let passes = self.tokens >= f64::from(SMSS);
        self.tokens -= if passes { f64::from(SMSS) } else { 0.0 };
        passes
    }
}

/// Segments that are to be delayed.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// Number of segments that pass before the delayed ones.
    pass: u64,
    count: u64,
    by: Duration,
}

/// Data that the application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    /// The application writes nothing.
    Paused,
    /// There is always more data to send.
    Ample,
    /// The application writes one segment per interval.
    Drip(Duration),
}

impl Path {
    /// Stalls the bottleneck for `span` from now on; segments that arrive in this time wait.
    pub(super) fn stall(&mut self, now: Instant, span: Duration) {
        self.free = self.free.max(now) + span;
    }

    /// Drops the transmissions with these order numbers.
    pub(super) fn drop_orders(&mut self, orders: impl Into<Vec<u64>>) {
        self.drop_orders = orders.into();
    }

    /// Drops `count` segments: every second one from now on.
    pub(super) fn drop_next(&mut self, count: u64) {
        self.drop_next = count;
    }

    /// Lets `pass` segments pass, and then delays `count` segments by `by`.
    pub(super) fn delay_next(&mut self, pass: u64, count: u64, by: Duration) {
        self.late = Some(Late { pass, count, by });
    }

    fn lateness(&mut self) -> Duration {
        match &mut self.late {
            Some(Late { pass, .. }) if *pass > 0 => {
                *pass -= 1;
                Duration::ZERO
            }
            Some(Late { count, by, .. }) if *count > 0 => {
                *count -= 1;
                *by
            }
            _ => Duration::ZERO,
        }
    }

    /// Returns the arrival time of the segment, or `None` if it is lost.
    fn carry(&mut self, now: Instant, transmit: &Transmit) -> Option<Instant> {
        self.offered += 1;
        while self.departures.front().is_some_and(|&at| at <= now) {
            self.departures.pop_front();
        }
        let listed = self.drop_orders.contains(&transmit.order);
        let periodic = self
            .drop_every
            .is_some_and(|n| self.offered.is_multiple_of(n));
        let next = self.drop_next > 0 && self.offered.is_multiple_of(2);
        self.drop_next -= u64::from(next);
        let full = self.departures.len() > self.buffer;
        let policed = self.policer.as_mut().is_some_and(|p| !p.passes(now));
        if self.dead || listed || periodic || next || full || policed {
            self.lost += 1;
            return None;
        }
        self.free = self.free.max(now) + self.service;
        self.departures.push_back(self.free);
        Some(self.free + self.delay + self.lateness())
    }

    fn carry_ack(&self, now: Instant) -> Instant {
        let slot = self.ack_slot.as_nanos().max(1);
        let at = (now.as_nanos()).div_ceil(slot) * slot;
        Instant::from_nanos(at) + self.delay
    }
}

/// Sender, receiver and bottleneck, with the current time.
pub(super) struct World<C: Observed> {
    pub sender: Sender,
    pub path: Path,
    pub now: Instant,
    receiver: Receiver,
    control: Arc<Mutex<C>>,
    /// Packets in transit, ordered by arrival time.
    data: VecDeque<(Instant, DataSegment)>,
    acks: VecDeque<(Instant, Ack)>,
    pub feed: Feed,
    next_drip: Instant,
    written: u64,
    /// All states so far, without consecutive duplicates.
    states: Vec<C::State>,
}

impl<C: Observed> World<C> {
    /// Returns a transfer with unlimited data.
    pub(super) fn new() -> Self {
        let mut world = Self::with_data(1);
        world.feed = Feed::Ample;
        world
    }

    /// Returns a transfer whose application writes one segment per `interval`.
    pub(super) fn dripping(interval: Duration) -> Self {
        let mut world = Self::with_data(1);
        world.feed = Feed::Drip(interval);
        world
    }

    /// Returns a transfer of `segments` segments.
    pub(super) fn with_data(segments: u64) -> Self {
        let bbr = C::fresh();
        let states = vec![bbr.state()];
        let control = Arc::new(Mutex::new(bbr));
        let rack = rack::entry();
        let defaults = rack.defaults(Dialect::Rfc);
        let needs = rack.needs(&defaults);
        let mut config = sender_config(Dialect::Rfc, SMSS, &needs);
        config.peer_window = 1 << 24;
        let stack = Stack {
            recovery: rack.build(&defaults, &CONTEXT),
            control: Box::new(Shared(Arc::clone(&control))),
            differentiation: Box::new(NoDifferentiation),
            response: Box::new(Tcp),
        };
        let mut receiver = receiver_config(Dialect::Rfc, SMSS, &needs, AckPolicy::Immediate);
        receiver.buffer = 1 << 24;
        let written = segments * u64::from(SMSS);
        let mut sender = Sender::new(config, stack);
        sender.write(written);
        Self {
            sender,
            written,
            feed: Feed::Paused,
            path: Path {
                service: Duration::from_millis(1),
                delay: Duration::from_millis(20),
                buffer: 1000,
                dead: false,
                drop_every: None,
                ack_slot: Duration::ZERO,
                drop_orders: Vec::new(),
                drop_next: 0,
                policer: None,
                lost: 0,
                late: None,
                offered: 0,
                free: Instant::ZERO,
                departures: VecDeque::new(),
            },
            now: Instant::ZERO,
            receiver: Receiver::new(receiver),
            control,
            data: VecDeque::new(),
            acks: VecDeque::new(),
            next_drip: Instant::ZERO,
            states,
        }
    }

    /// Returns a copy of the control.
    pub(super) fn bbr(&self) -> C {
        self.control.lock().expect("no test panics within").clone()
    }

    /// Returns the control for modification.
    pub(super) fn control(&self) -> MutexGuard<'_, C> {
        self.control.lock().expect("no test panics within")
    }

    /// Makes the bottleneck `factor` times slower from now on, also for the segments that wait at it.
    pub(super) fn slow_down(&mut self, factor: u64) {
        let (now, delay) = (self.now, self.path.delay);
        let slower = |at: Instant| now + at.since(now) * factor;
        self.path.service = self.path.service * factor;
        self.path.free = slower(self.path.free.max(now));
        for at in &mut self.path.departures {
            *at = slower((*at).max(now));
        }
        for (at, _) in &mut self.data {
            if *at > now + delay {
                *at = slower(*at - delay) + delay;
            }
        }
    }

    pub(super) fn states(&self) -> &[C::State] {
        &self.states
    }

    pub(super) fn millis(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    /// Runs until `ms` milliseconds after the beginning.
    pub(super) fn run_until(&mut self, ms: u64) {
        let end = Instant::ZERO + Duration::from_millis(ms);
        while self.step(end) {}
        self.now = self.now.max(end);
    }

    /// Runs until the control enters `state`.
    pub(super) fn run_until_state(&mut self, state: C::State) {
        let end = self.now + Duration::from_secs(60);
        let mut seen = self.states.len();
        while self.step(end) {
            if self.states.len() > seen {
                seen = self.states.len();
                if self.states.last() == Some(&state) {
                    return;
                }
            }
        }
        panic!("the control does not reach {state:?}: {:?}", self.states);
    }

    /// Runs until the retransmission timer expires.
    pub(super) fn run_until_timeout(&mut self) {
        let before = self.sender.stats().timeouts;
        let end = self.now + Duration::from_secs(60);
        while self.sender.stats().timeouts == before {
            assert!(self.step(end), "no timeout");
        }
    }

    /// Handles the next event before `end`. Returns `true` if there was one.
    fn step(&mut self, end: Instant) -> bool {
        self.emit();
        let drip = match self.feed {
            Feed::Drip(_) => Some(self.next_drip.max(self.now)),
            Feed::Paused | Feed::Ample => None,
        };
        let data_at = self.data.front().map(|d| d.0);
        let ack_at = self.acks.front().map(|a| a.0);
        let timer = self.sender.next_timeout();
        let next = [data_at, ack_at, drip, timer].into_iter().flatten().min();
        let Some(next) = next.filter(|&next| next < end) else {
            return false;
        };
        self.now = self.now.max(next);
        if data_at == Some(next) {
            let (_, segment) = self.data.pop_front().expect("it is there");
            self.receiver.handle_data(self.now, &segment);
            while let Some(ack) = self.receiver.poll_ack() {
                self.acks.push_back((self.path.carry_ack(self.now), ack));
            }
        } else if ack_at == Some(next) {
            let (_, ack) = self.acks.pop_front().expect("it is there");
            self.sender.handle_ack(self.now, &ack);
        } else if drip == Some(next) {
            self.write(u64::from(SMSS));
            if let Feed::Drip(interval) = self.feed {
                self.next_drip = next + interval;
            }
        } else {
            self.sender.handle_timeout(self.now);
        }
        self.emit();
        let state = self.control.lock().expect("no test panics within").state();
        if self.states.last() != Some(&state) {
            self.states.push(state);
        }
        true
    }

    /// Writes `bytes` bytes as the application.
    pub(super) fn write(&mut self, bytes: u64) {
        self.written += bytes;
        self.sender.write(bytes);
    }

    fn emit(&mut self) {
        const AHEAD: u64 = 20 * SMSS as u64;
        let unsent = self.written - self.sender.scoreboard().nxt();
        if self.feed == Feed::Ample && unsent < AHEAD {
            self.write(AHEAD - unsent);
        }
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            if let Some(at) = self.path.carry(self.now, &transmit) {
                let place = self.data.partition_point(|d| d.0 <= at);
                self.data.insert(place, (at, transmit.segment));
            }
        }
    }
}
