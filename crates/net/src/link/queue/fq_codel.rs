//! FQ-CoDel (RFC 8290): a line for each flow, served in turn, and CoDel in each line.
//!
//! A packet goes to the line that the hash of its flow names. Lines are served by deficit round
//! robin: a line at the head of its list sends while it has credit, and then gets a quantum and
//! goes to the end. There are two lists (§4.2):
//!
//! ```text
//! empty ──packet──▶ new ──credit used up, or empty──▶ old ──empty──▶ empty
//!                                                     └─◀ credit used up
//! ```
//!
//! New lines go first, so that a flow which sends less than its share never waits for the others.
//! When the buffer is full, the line with the most bytes loses packets from its head: half of
//! them, at most `drop_batch` (§4.1).
//!
//! Unlike [CoDel](super::codel) alone, a flow cannot harm others; two whose hashes meet share a
//! line.

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

/// FQ-CoDel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FqCoDelConfig {
    /// CoDel in each line; ECN-capable packets are marked (RFC 8290 §5.2.6).
    pub codel: CoDelConfig,
    /// What a line may send in its turn; 1514 bytes (§5.2.4).
    pub quantum_bytes: u32,
    /// Lines; 1024 (§5.2.5).
    pub flows: u32,
    /// The most packets that are dropped at once when the buffer is full; 64 (§4.1).
    pub drop_batch: u32,
}

impl FqCoDelConfig {
    /// The RFC's constants, with ECN.
    pub const RFC: Self = Self {
        codel: CoDelConfig {
            capable: Capable::Mark,
            ..CoDelConfig::RFC
        },
        quantum_bytes: 1514,
        flows: 1024,
        drop_batch: 64,
    };

    /// The most lines there can be.
    pub const FLOWS_MAX: u32 = 65_536;

    /// Whether the parameters make sense: CoDel's do, and nothing else is zero; no more than
    /// [`FLOWS_MAX`](Self::FLOWS_MAX) lines.
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

/// Flows by their lines, under FQ-CoDel.
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
    /// The flow behind it in its list, if there is one.
    next: Option<u32>,
}

/// Where a flow stands.
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
    /// The queue of the link called `name` in the run with `seed`, which choose the hash.
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

    /// The line of a flow.
    fn line_of(&self, flow: FlowId) -> u32 {
        let hash = xxh3_64_with_seed(&flow.0.to_le_bytes(), self.salt);
        (hash % u64::from(self.config.flows)) as u32
    }

    /// Drops from the fattest line until the buffer holds what is left.
    fn shed(&mut self, fallout: &mut Fallout) {
        while self.store.is_over() {
            // Of several the first.
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

    /// The flow whose turn it is.
    fn turn(&self) -> Option<u32> {
        self.new.first.or(self.old.first)
    }

    /// Moves the flow whose turn it is to the end of the old ones.
    fn make_old(&mut self, flow: u32) {
        self.leave(flow);
        self.flows[flow as usize].place = Place::Old;
        self.old.push(&mut self.flows, flow);
    }

    /// Takes the flow whose turn it is off its list.
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
                // All old flows have their turn before it can be a new one again.
                None if flow.place == Place::New => self.make_old(id),
                None => self.leave(id),
            }
        }
    }

    fn rest(&mut self, _: Instant) {
        // All lines are empty, so each goes from the new list to the old one, and then off it.
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
