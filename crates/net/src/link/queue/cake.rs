//! A queue like CAKE (Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", LANMAN 2018), as far as the
//! paper defines it: a shaper, fairness among hosts and flows, and [COBALT](super::cobalt) in each line.
//!
//! - The shaper (§III-A) has no bucket, and so no burst: a packet of so many bytes pushes the time of
//!   the next one on by `(bytes + overhead)/rate`, and time that was not used is gone.
//! - Lines take turns as in [FQ-CoDel](super::fq_codel), new ones first. A flow's line is found by a
//!   set-associative hash (§III-B): a hash names a set of `ways` lines, and a flow takes a free line of
//!   its set, so that two flows share a line only if more than `ways` of them meet.
//! - Fairness among hosts (§III-B): a line's quantum is divided by the number of lines that its source
//!   or its destination has, whichever is more. A host with many flows then gets no more than one with
//!   a single flow.
//! - When the buffer is full, the longest line loses a packet at its head, and its BLUE is told.
//! - The last packet of a line is marked but never dropped.
//!
//! Left out, and CAKE has it: tins for DiffServ, the ACK filter, NAT look-ups, and shaping of what
//! has come already (ingress).

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

/// CAKE's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CakeConfig {
    /// The shaper's rate; none, the link's rate is all there is.
    pub rate: Option<BitRate>,
    /// Bytes that the shaper adds to each packet, for what a slower link behind it adds; 0.
    pub overhead_bytes: u32,
    /// In each line.
    pub cobalt: CobaltConfig,
    /// Among whom there is fairness; hosts first, then their flows.
    pub isolation: Isolation,
    /// What a line may send in its turn; 1514 bytes.
    pub quantum_bytes: u32,
    /// Lines; 1024.
    pub lines: u32,
    /// Lines of a set; 8.
    pub ways: u32,
    /// The largest packet; at a low rate no wait of a few of them is too long. 1500 bytes.
    pub mtu_bytes: u32,
}

/// Among whom CAKE is fair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Among hosts, and among the flows of a host (CAKE's `triple-isolate`).
    #[default]
    Hosts,
    /// Among flows (CAKE's `flows`).
    Flows,
}

impl CakeConfig {
    /// The paper's defaults, without a shaper.
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

    /// The most lines there can be.
    pub const LINES_MAX: u32 = 65_536;

    /// Whether the parameters make sense: COBALT's do, the quantum is above zero, and the lines are
    /// whole sets.
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

/// Between which hosts a flow runs; numbers that somebody has given them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Who sends its data.
    pub sender: u32,
    /// Who gets them, and sends the ACKs.
    pub receiver: u32,
}

/// Flows by hosts and lines.
#[derive(Clone, Debug)]
pub(in crate::link) struct CakeQueue {
    config: CakeConfig,
    store: Store,
    lines: Vec<FlowLine>,
    new: Turns,
    old: Turns,
    /// By flow; without them nobody's hosts are known.
    hosts: Vec<Hosts>,
    /// Lines that wait for each host, as their source and as their destination.
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
    /// In parts of a byte, as quanta are divided.
    credit: i64,
    place: Place,
    /// Whose it is.
    flow: Option<FlowId>,
    /// Source and destination of the packet that began it, if they are known.
    hosts: Option<(u32, u32)>,
    /// The line behind it in its list, if there is one.
    next: Option<u32>,
}

/// Where a line stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    New,
    Old,
}

/// Lines in the order of their turns.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    first: Option<u32>,
    last: Option<u32>,
}

/// Credits are counted in parts of a byte.
const PARTS: i64 = 1 << 16;

impl CakeQueue {
    /// The queue of the link called `name` in the run with `seed`, which choose the hash.
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

    /// Tells it whose the flows are.
    pub(super) fn know_hosts(&mut self, hosts: &[Hosts]) {
        let most = hosts.iter().map(|of| of.sender.max(of.receiver) + 1).max();
        self.hosts = hosts.to_vec();
        self.from = vec![0; most.unwrap_or(0) as usize];
        self.to = self.from.clone();
    }

    /// The line of a flow: its own, or a free one of its set, or that which its hash names.
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

    /// Source and destination of a packet.
    fn ends(&self, packet: &Waiting) -> Option<(u32, u32)> {
        let hosts = self.hosts.get(packet.offer.flow.index())?;
        Some(match packet.offer.kind {
            PacketKind::Ack => (hosts.receiver, hosts.sender),
            PacketKind::Data | PacketKind::Udp => (hosts.sender, hosts.receiver),
        })
    }

    /// A line that was empty joins the new ones.
    fn begin(&mut self, at: u32, ends: Option<(u32, u32)>) {
        let line = &mut self.lines[at as usize];
        (line.place, line.hosts) = (Place::New, ends);
        self.count(ends, 1);
        let quantum = self.quantum(at);
        self.lines[at as usize].credit = quantum;
        push(&mut self.new, &mut self.lines, at);
    }

    /// Counts a line of these hosts in, or out.
    fn count(&mut self, ends: Option<(u32, u32)>, change: i32) {
        self.active = self.active.saturating_add_signed(change);
        if let Some((from, to)) = ends {
            for count in [&mut self.from[from as usize], &mut self.to[to as usize]] {
                *count = count.saturating_add_signed(change);
            }
        }
    }

    /// What a line gets in its turn, in parts of a byte.
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

    /// Drops from the longest line until the buffer holds what is left.
    fn shed(&mut self, now: Instant, fallout: &mut Fallout) {
        while self.store.is_over() {
            // Of several the first.
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

    /// Takes the line whose turn it is off its list.
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

    /// The line whose turn it is has nothing left.
    fn end(&mut self, at: u32) {
        self.step_aside(at);
        let line = &mut self.lines[at as usize];
        line.place = Place::Nowhere;
        let ends = line.hosts.take();
        self.count(ends, -1);
    }

    /// A packet from the head of a line that is not dropped.
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

    /// No wait is too long that a shaped link needs for four packets, or for two of each line.
    fn patience(&self) -> Duration {
        let Some(rate) = self.config.rate else {
            return Duration::ZERO;
        };
        let packets = u64::from(self.active.saturating_mul(2).max(4));
        rate.transmission_time(packets * u64::from(self.config.mtu_bytes))
    }

    /// Pushes the time of the next packet on.
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
                // All old lines have their turn before it can be a new one again.
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
