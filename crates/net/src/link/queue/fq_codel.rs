//! FQ-CoDel (RFC 8290): a queue for each flow, served in turn, with CoDel in each.
//!
//! A hash of the flow selects the queue of a packet. Queues are served by deficit round robin: the first queue of a
//! list sends while it has credit; then it gets a quantum and moves to the end. There are two lists (§4.2):
//!
//! ```text
//! empty ──packet──▶ new ──credit used up, or empty──▶ old ──empty──▶ empty
//!                                                     └─◀ credit used up
//! ```
//!
//! New queues are served first, so that a flow that sends less than its share never waits for the others. When the
//! buffer is full, the queue with the most bytes drops packets at its head: half of them, at most `drop_batch` (§4.1).
//!
//! Unlike with [CoDel](super::codel) alone, a flow cannot harm other flows, unless their hashes collide and they share
//! a queue.

use dupack_tcp::time::Instant;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::codel::{CoDel, CoDelConfig};
use super::store::{Line, Store, Waiting};
use super::{Fallout, Manage};
use crate::ids::FlowId;
use crate::link::config::QueueLimit;
use crate::link::counters::DropCause;
use crate::link::red::Capable;
use crate::random::Stream;

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FqCoDelConfig {
    /// CoDel in each queue; by default ECN-capable packets are marked (RFC 8290 §5.2.6).
    pub codel: CoDelConfig,
    /// Bytes that a queue may send in its turn; default 1514 (§5.2.4).
    pub quantum_bytes: u32,
    /// Number of queues; default 1024 (§5.2.5).
    pub flows: u32,
    /// Maximum number of packets that are dropped at once when the buffer is full; default 64 (§4.1).
    pub drop_batch: u32,
}

impl FqCoDelConfig {
    /// The constants of the RFC, with ECN.
    pub const RFC: Self = Self {
        codel: CoDelConfig {
            capable: Capable::Mark,
            ..CoDelConfig::RFC
        },
        quantum_bytes: 1514,
        flows: 1024,
        drop_batch: 64,
    };

    /// Maximum number of queues.
    pub const FLOWS_MAX: u32 = 65_536;

    /// Returns `true` if the parameters are valid: CoDel's parameters are valid, nothing else is zero, and there are at
    /// most [`FLOWS_MAX`](Self::FLOWS_MAX) queues.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.codel.is_valid()
            && self.quantum_bytes > 0
            && (1..=Self::FLOWS_MAX).contains(&self.flows)
            && self.drop_batch > 0
    }
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        Self::RFC
    }
}

/// Flow queues under FQ-CoDel.
#[derive(Clone, Debug)]
pub(in crate::link) struct FqCoDelQueue {
    config: FqCoDelConfig,
    store: Store,
    flows: Vec<Flow>,
    new: Turns,
    old: Turns,
    salt: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    line: Line,
    law: CoDel,
    credit_bytes: i64,
    place: Place,
    /// Next flow in its list.
    next: Option<u32>,
}

/// List that a flow is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    New,
    Old,
}

/// Flows in the order of their turns, linked by [`Flow::next`].
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    first: Option<u32>,
    last: Option<u32>,
}

impl Turns {
    fn push(&mut self, flows: &mut [Flow], flow: u32) {
        flows[flow as usize].next = None;
        match self.last {
            Some(last) => flows[last as usize].next = Some(flow),
            None => self.first = Some(flow),
        }
        self.last = Some(flow);
    }

    fn pop(&mut self, flows: &[Flow]) {
        self.first = self.first.and_then(|flow| flows[flow as usize].next);
        if self.first.is_none() {
            self.last = None;
        }
    }
}

impl FqCoDelQueue {
    /// Creates the queue of the link called `name` in the run with `seed`; the two determine the hash.
    pub(super) fn new(config: FqCoDelConfig, limit: QueueLimit, seed: u64, name: &str) -> Self {
        Self {
            config,
            store: Store::new(limit),
            flows: vec![Flow::default(); config.flows as usize],
            new: Turns::default(),
            old: Turns::default(),
            salt: Stream::derive(seed, &format!("{name}/flow hash")).bits(),
        }
    }

    /// Returns the queue of a flow.
    fn line_of(&self, flow: FlowId) -> u32 {
        let hash = xxh3_64_with_seed(&flow.0.to_le_bytes(), self.salt);
        (hash % u64::from(self.config.flows)) as u32
    }

    /// Drops packets from the largest queue until the buffer is no longer over its limit.
    fn shed(&mut self, fallout: &mut Fallout) {
        while self.store.is_over() {
            // Of equally large queues, the first is chosen.
            let fattest = self.flows.iter_mut().rev();
            let Some(flow) = fattest.max_by_key(|flow| flow.line.bytes()) else {
                return;
            };
            let half = (flow.line.packets() / 2).clamp(1, self.config.drop_batch);
            for _ in 0..half {
                if let Some(packet) = self.store.pop(&mut flow.line) {
                    fallout.drop(&packet, DropCause::FattestFlow);
                }
            }
        }
    }

    /// Returns the flow whose turn it is.
    fn turn(&self) -> Option<u32> {
        self.new.first.or(self.old.first)
    }

    /// Moves the current flow to the end of the list of old flows.
    fn make_old(&mut self, flow: u32) {
        self.leave(flow);
        self.flows[flow as usize].place = Place::Old;
        self.old.push(&mut self.flows, flow);
    }

    /// Removes the current flow from its list.
    fn leave(&mut self, flow: u32) {
        match self.flows[flow as usize].place {
            Place::New => self.new.pop(&self.flows),
            Place::Old => self.old.pop(&self.flows),
            Place::Nowhere => {}
        }
        self.flows[flow as usize].place = Place::Nowhere;
    }
}

impl Manage for FqCoDelQueue {
    fn enqueue(
        &mut self,
        _: Instant,
        packet: Waiting,
        fallout: &mut Fallout,
    ) -> Result<(), DropCause> {
        let id = self.line_of(packet.offer.flow);
        let flow = &mut self.flows[id as usize];
        self.store.push(&mut flow.line, packet);
        if flow.place == Place::Nowhere {
            flow.place = Place::New;
            flow.credit_bytes = i64::from(self.config.quantum_bytes);
            self.new.push(&mut self.flows, id);
        }
        self.shed(fallout);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, fallout: &mut Fallout) -> Option<Waiting> {
        loop {
            let id = self.turn()?;
            let flow = &mut self.flows[id as usize];
            if flow.credit_bytes <= 0 {
                flow.credit_bytes += i64::from(self.config.quantum_bytes);
                self.make_old(id);
                continue;
            }
            let (law, line) = (&mut flow.law, &mut flow.line);
            let sent = law.dequeue(&self.config.codel, &mut self.store, line, now, fallout);
            match sent {
                Some(packet) => {
                    flow.credit_bytes -= i64::from(packet.offer.bytes);
                    return Some(packet);
                }
                // All old flows have their turn before this flow can be new again.
                None if flow.place == Place::New => self.make_old(id),
                None => self.leave(id),
            }
        }
    }

    fn rest(&mut self, _: Instant) {
        // All queues are empty, so each of them moves from the new list to the old list and then leaves it.
        while let Some(flow) = self.turn() {
            self.leave(flow);
        }
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        (self.store.packets() > 0).then_some(now)
    }

    fn store(&self) -> &Store {
        &self.store
    }
}
