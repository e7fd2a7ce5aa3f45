//! A queue like CAKE (Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", LANMAN 2018), as far as the paper specifies it:
//! a shaper, fairness among hosts and flows, and [COBALT](super::cobalt) in each flow queue.
//!
//! - The shaper (§III-A) has no bucket, and therefore no burst: each packet delays the next one
//!   by `(bytes + overhead)/rate`, and unused time is lost.
//! - Flow queues take turns as in [FQ-CoDel](super::fq_codel), new ones first. A flow finds its queue by a
//!   set-associative hash (§III-B): the hash selects a set of `ways` queues, and the flow takes a free queue of
//!   the set, so that two flows share a queue only if more than `ways` flows have the same set.
//! - Fairness among hosts (§III-B): the quantum of a queue is divided by the number of queues of its source
//!   host or its destination host, whichever is larger. A host with many flows then gets no more than a host with
//!   a single flow.
//! - When the buffer is full, the longest queue drops a packet at its head, and its BLUE is notified.
//! - The last packet of a queue is marked but never dropped.
//!
//! Not implemented, unlike in CAKE: tins for DiffServ, the ACK filter, NAT look-ups, and ingress shaping.

use dupack_tcp::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::cobalt::{Cobalt, CobaltConfig, Fate};
use super::store::{Line, Store, Waiting};
use super::{Fallout, Manage};
use crate::ids::FlowId;
use crate::link::config::QueueLimit;
use crate::link::counters::DropCause;
use crate::packet::PacketKind;
use crate::random::Stream;
use crate::units::BitRate;

/// Parameters of CAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CakeConfig {
    /// Rate of the shaper; `None` leaves only the rate of the link.
    pub rate: Option<BitRate>,
    /// Bytes that the shaper adds to each packet for the header overhead of a slower link behind it; default 0.
    pub overhead_bytes: u32,
    /// Parameters of each flow queue's AQM.
    pub cobalt: CobaltConfig,
    /// Fairness; by default among hosts, and then among the flows of a host.
    pub isolation: Isolation,
    /// Bytes that a queue may send in its turn; default 1514.
    pub quantum_bytes: u32,
    /// Number of flow queues; default 1024.
    pub lines: u32,
    /// Number of queues in a set; default 8.
    pub ways: u32,
    /// Maximum size of a packet in bytes; default 1500. With a shaper, a wait is never too long if it is at most the
    /// transmission time of four such packets, or of two per active queue if that is more.
    pub mtu_bytes: u32,
}

/// Kind of fairness of CAKE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Fair among hosts, and among the flows of a host (CAKE's `triple-isolate`).
    #[default]
    Hosts,
    /// Fair among flows (CAKE's `flows`).
    Flows,
}

impl CakeConfig {
    /// The defaults of the paper, without a shaper.
    pub const PAPER: Self = Self {
        rate: None,
        overhead_bytes: 0,
        cobalt: CobaltConfig::PAPER,
        isolation: Isolation::Hosts,
        quantum_bytes: 1514,
        lines: 1024,
        ways: 8,
        mtu_bytes: 1500,
    };

    /// Maximum number of flow queues.
    pub const LINES_MAX: u32 = 65_536;

    /// Returns `true` if the parameters are valid: COBALT's parameters are valid, the quantum is above zero, and the
    /// queues form complete sets.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.cobalt.is_valid()
            && self.quantum_bytes > 0
            && (1..=Self::LINES_MAX).contains(&self.lines)
            && self.ways > 0
            && self.lines.is_multiple_of(self.ways)
    }
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self::PAPER
    }
}

/// Hosts of a flow, by numbers that the caller assigns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Host that sends the data.
    pub sender: u32,
    /// Host that receives the data and sends the ACKs.
    pub receiver: u32,
}

/// Flow queues under CAKE.
#[derive(Clone, Debug)]
pub(in crate::link) struct CakeQueue {
    config: CakeConfig,
    store: Store,
    lines: Vec<FlowLine>,
    new: Turns,
    old: Turns,
    /// Hosts by flow; empty if they are not known.
    hosts: Vec<Hosts>,
    /// Number of active queues of each host, as source and as destination.
    from: Vec<u32>,
    to: Vec<u32>,
    active: u32,
    next: Instant,
    salt: u64,
    stream: Stream,
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowLine {
    line: Line,
    law: Cobalt,
    /// Bytes that the queue may still send, in units of 1/[`PARTS`] byte, because quanta are divided.
    credit: i64,
    place: Place,
    /// Flow that the queue belongs to.
    flow: Option<FlowId>,
    /// Source and destination of the packet that activated the queue, if they are known.
    hosts: Option<(u32, u32)>,
    /// Next queue in its list.
    next: Option<u32>,
}

/// List that a queue is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    New,
    Old,
}

/// Queues in the order of their turns.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    first: Option<u32>,
    last: Option<u32>,
}

/// Number of parts of a byte. Credits are counted in these parts.
const PARTS: i64 = 1 << 16;

impl CakeQueue {
    /// Creates the queue of the link called `name` in the run with `seed`; the two determine the hash.
    pub(super) fn new(config: CakeConfig, limit: QueueLimit, seed: u64, name: &str) -> Self {
        Self {
            config,
            store: Store::new(limit),
            lines: vec![FlowLine::default(); config.lines as usize],
            new: Turns::default(),
            old: Turns::default(),
            hosts: Vec::new(),
            from: Vec::new(),
            to: Vec::new(),
            active: 0,
            next: Instant::ZERO,
            salt: Stream::derive(seed, &format!("{name}/flow hash")).bits(),
            stream: Stream::derive(seed, &format!("{name}/blue")),
        }
    }

    /// Assigns hosts to flows.
    pub(super) fn know_hosts(&mut self, hosts: &[Hosts]) {
        let most = hosts.iter().map(|of| of.sender.max(of.receiver) + 1).max();
        self.hosts = hosts.to_vec();
        self.from = vec![0; most.unwrap_or(0) as usize];
        self.to = self.from.clone();
    }

    /// Returns the queue of a flow: the queue that belongs to it, otherwise a free queue of its set, otherwise the
    /// queue that the hash selects.
    fn line_of(&mut self, flow: FlowId) -> u32 {
        let hash = xxh3_64_with_seed(&flow.0.to_le_bytes(), self.salt);
        let home = (hash % u64::from(self.config.lines)) as u32;
        let set = home - home % self.config.ways;
        let ways = || (0..self.config.ways).map(|way| set + (home - set + way) % self.config.ways);
        let lines = &self.lines;
        let own = ways().find(|&at| lines[at as usize].flow == Some(flow));
        let free = || ways().find(|&at| lines[at as usize].place == Place::Nowhere);
        let at = own.or_else(free).unwrap_or(home);
        self.lines[at as usize].flow = Some(flow);
        at
    }

    /// Returns the source and destination of a packet.
    fn ends(&self, packet: &Waiting) -> Option<(u32, u32)> {
        let hosts = self.hosts.get(packet.offer.flow.index())?;
        Some(match packet.offer.kind {
            PacketKind::Ack => (hosts.receiver, hosts.sender),
            PacketKind::Data | PacketKind::Udp => (hosts.sender, hosts.receiver),
        })
    }

    /// Adds a queue that was empty to the list of new queues.
    fn begin(&mut self, at: u32, ends: Option<(u32, u32)>) {
        let line = &mut self.lines[at as usize];
        (line.place, line.hosts) = (Place::New, ends);
        self.count(ends, 1);
        let quantum = self.quantum(at);
        self.lines[at as usize].credit = quantum;
        push(&mut self.new, &mut self.lines, at);
    }

    /// Adds `change` to the numbers of active queues of these hosts.
    fn count(&mut self, ends: Option<(u32, u32)>, change: i32) {
        self.active = self.active.saturating_add_signed(change);
        if let Some((from, to)) = ends {
            for count in [&mut self.from[from as usize], &mut self.to[to as usize]] {
                *count = count.saturating_add_signed(change);
            }
        }
    }

    /// Returns the quantum of a queue, in parts of a byte.
    fn quantum(&self, at: u32) -> i64 {
        let whole = i64::from(self.config.quantum_bytes) * PARTS;
        let load = match (self.config.isolation, self.lines[at as usize].hosts) {
            (Isolation::Hosts, Some((from, to))) => {
                self.from[from as usize].max(self.to[to as usize]).max(1)
            }
            _ => 1,
        };
        (whole / i64::from(load)).max(1)
    }

    /// Drops packets from the longest queue until the buffer is no longer over its limit.
    fn shed(&mut self, now: Instant, fallout: &mut Fallout) {
        while self.store.is_over() {
            // Of equally long queues, the first is chosen.
            let lines = self.lines.iter_mut().rev();
            let Some(longest) = lines.max_by_key(|line| line.line.bytes()) else {
                return;
            };
            if let Some(packet) = self.store.pop(&mut longest.line) {
                longest.law.overflowed(&self.config.cobalt, now);
                fallout.drop(&packet, DropCause::FattestFlow);
            }
        }
    }

    fn turn(&self) -> Option<u32> {
        self.new.first.or(self.old.first)
    }

    /// Removes the current queue from its list.
    fn step_aside(&mut self, at: u32) {
        let turns = match self.lines[at as usize].place {
            Place::New => &mut self.new,
            Place::Old => &mut self.old,
            Place::Nowhere => return,
        };
        turns.first = self.lines[at as usize].next;
        if turns.first.is_none() {
            turns.last = None;
        }
    }

    fn make_old(&mut self, at: u32) {
        self.step_aside(at);
        self.lines[at as usize].place = Place::Old;
        push(&mut self.old, &mut self.lines, at);
    }

    /// Deactivates the current queue, which is empty.
    fn end(&mut self, at: u32) {
        self.step_aside(at);
        let line = &mut self.lines[at as usize];
        line.place = Place::Nowhere;
        let ends = line.hosts.take();
        self.count(ends, -1);
    }

    /// Removes packets from the front of a queue until one is not dropped, and returns that packet.
    fn head(&mut self, at: u32, now: Instant, fallout: &mut Fallout) -> Option<Waiting> {
        let patience = self.patience();
        loop {
            let line = &mut self.lines[at as usize];
            let Some(mut packet) = self.store.pop(&mut line.line) else {
                line.law.found_empty(&self.config.cobalt, now);
                return None;
            };
            let cobalt = &self.config.cobalt;
            let fate = line
                .law
                .judge(cobalt, now, &packet, patience, &mut self.stream);
            match fate {
                Fate::Drop if !line.line.is_empty() => fallout.drop(&packet, DropCause::Aqm),
                Fate::Mark => {
                    fallout.mark(&mut packet);
                    return Some(packet);
                }
                Fate::Send | Fate::Drop => return Some(packet),
            }
        }
    }

    /// Returns the wait that is never too long on a shaped link: the transmission time of four packets, or of two
    /// packets for each active queue if that is more.
    fn patience(&self) -> Duration {
        let Some(rate) = self.config.rate else {
            return Duration::ZERO;
        };
        let packets = u64::from(self.active.saturating_mul(2).max(4));
        rate.transmission_time(packets * u64::from(self.config.mtu_bytes))
    }

    /// Delays the next packet by the transmission time of a packet of `bytes` bytes.
    fn charge(&mut self, now: Instant, bytes: u64) {
        if let Some(rate) = self.config.rate {
            let bytes = bytes + u64::from(self.config.overhead_bytes);
            self.next = self.next.max(now) + rate.transmission_time(bytes);
        }
    }
}

fn push(turns: &mut Turns, lines: &mut [FlowLine], at: u32) {
    lines[at as usize].next = None;
    match turns.last {
        Some(last) => lines[last as usize].next = Some(at),
        None => turns.first = Some(at),
    }
    turns.last = Some(at);
}

impl Manage for CakeQueue {
    fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        fallout: &mut Fallout,
    ) -> Result<(), DropCause> {
        let at = self.line_of(packet.offer.flow);
        let ends = self.ends(&packet);
        self.store.push(&mut self.lines[at as usize].line, packet);
        if self.lines[at as usize].place == Place::Nowhere {
            self.begin(at, ends);
        }
        self.shed(now, fallout);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, fallout: &mut Fallout) -> Option<Waiting> {
        if self.config.rate.is_some() && now < self.next {
            return None;
        }
        loop {
            let at = self.turn()?;
            if self.lines[at as usize].credit <= 0 {
                let quantum = self.quantum(at);
                self.lines[at as usize].credit += quantum;
                self.make_old(at);
                continue;
            }
            match self.head(at, now, fallout) {
                Some(packet) => {
                    self.lines[at as usize].credit -= packet.bytes() as i64 * PARTS;
                    self.charge(now, packet.bytes());
                    return Some(packet);
                }
                // All old queues have their turn before this queue can be new again.
                None if self.lines[at as usize].place == Place::New => self.make_old(at),
                None => self.end(at),
            }
        }
    }

    fn rest(&mut self, since: Instant) {
        while let Some(at) = self.turn() {
            let law = &mut self.lines[at as usize].law;
            law.found_empty(&self.config.cobalt, since);
            self.end(at);
        }
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        (self.store.packets() > 0).then(|| match self.config.rate {
            Some(_) => self.next.max(now),
            None => now,
        })
    }

    fn store(&self) -> &Store {
        &self.store
    }
}
