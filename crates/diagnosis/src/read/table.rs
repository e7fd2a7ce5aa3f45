//! All connections of a capture, found by the addresses of their packets.
//!
//! A packet costs one look-up. What is kept is bounded: in the number of connections, and in what all
//! of them remember of outstanding data together. Where there are too many, those are finished early that have been
//! silent the longest, found as a clock's hand finds them (second chance): whoever has had a packet since the
//! hand last passed is passed over, one that carries data several times. A connection that is finished is handed
//! out, and its analyses with it; should more of it come, that is a connection that begins in the middle.
//!
//! Packets are taken one by one ([`Table::take`]), or many at once and by several threads ([`Table::take_all`]), which
//! is faster where connections are many. What is found is the same.
//!
//! A connection costs some 2 kB, 0.8 kB more where packets have identifications; a stream with data costs
//! 1.5 kB and what follows it, each outstanding segment 48 bytes, and each ACK that the sender does not have yet
//! some 120.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use dupack_tcp::time::{Duration, Instant};
use foldhash::quality::RandomState;

use crate::read::connection::Connection;
use crate::read::follow::{Follower, Onlooker};
use crate::read::order::DISORDER_MAX;
use crate::read::packet::Packet;

mod batch;

use batch::{Batch, Lane};

/// Bounds on what is kept at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most connections.
    pub connections: usize,
    /// Most bytes of memory, about, of what all of them have outstanding or hold back.
    pub memory: usize,
    /// Packets between two looks at the memory, and in a batch for [`Table::take_all`]. Between two looks the memory may
    /// be above its bound, by what so many packets bring.
    pub batch: usize,
}

impl Default for Limits {
    /// 65,536 connections: a scan of all ports of a host does not crowd out anybody. 512 MiB: forty
    /// windows of 256 Ki segments. 32,768 packets (ours): of a thousand connections each has thirty, and all of
    /// them are a few megabytes.
    fn default() -> Self {
        Self {
            connections: 1 << 16,
            memory: 512 << 20,
            batch: 1 << 15,
        }
    }
}

/// A connection that is over is kept so long for what may still come: twice the maximum segment lifetime as most
/// hosts have it (RFC 9293 §3.4.2 says four minutes, Linux's `TCP_TIMEWAIT_LEN` one).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// The hand moves on by one connection at every so many packets, to find those that are over (ours).
const PACKETS_PER_STEP: u64 = 16;

/// How often the hand passes a connection that has had a packet since: one without data, and one with.
const CHANCES: [u8; 2] = [1, 3];

/// The addresses and ports of both ends, the lesser first. IPv4 has a form of its own: it hashes faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pair {
    Four(u64, u64),
    Six([u128; 2], u32),
}

impl Pair {
    fn of(packet: &Packet) -> Self {
        let narrow = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => Some((u64::from(ip.to_bits()) << 16) | u64::from(address.port())),
            IpAddr::V6(_) => None,
        };
        let wide = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => (ip.to_ipv6_mapped().to_bits(), address.port()),
            IpAddr::V6(ip) => (ip.to_bits(), address.port()),
        };
        match (narrow(packet.source), narrow(packet.destination)) {
            (Some(one), Some(other)) => Self::Four(one.min(other), one.max(other)),
            _ => {
                let (one, other) = (wide(packet.source), wide(packet.destination));
                let (low, high) = (one.min(other), one.max(other));
                let ports = (u32::from(low.1) << 16) | u32::from(high.1);
                Self::Six([low.0, high.0], ports)
            }
        }
    }
}

impl Hash for Pair {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match *self {
            Self::Four(one, other) => {
                state.write_u64(one);
                state.write_u64(other);
            }
            Self::Six([one, other], ports) => {
                state.write_u128(one);
                state.write_u128(other);
                state.write_u32(ports);
            }
        }
    }
}

/// A place for a connection.
#[derive(Debug)]
struct Slot<F> {
    pair: Pair,
    connection: Box<Connection<F>>,
    /// Its memory, as it was counted last.
    memory: usize,
    /// How often the hand passes it yet.
    chances: u8,
    /// Its packets of the batch that it has not taken yet.
    lane: Option<Lane>,
    /// Connections that had its place before, as they end in the batch.
    over: Vec<Connection<F>>,
}

/// All connections of a capture.
#[derive(Debug)]
pub struct Table<F> {
    limits: Limits,
    /// A hash with a random seed: whoever chooses the addresses of a capture does not know which of them collide.
    places: HashMap<Pair, usize, RandomState>,
    slots: Vec<Slot<F>>,
    /// The place of the last packet's connection: the next packet is often of the same.
    last: Option<(Pair, usize)>,
    hand: usize,
    memory: usize,
    finished: Vec<Connection<F>>,
    packets: u64,
    connections: u64,
    clock: Clock,
    /// Of each packet of a batch the next of its lane: kept for the next batch to use the room.
    next: Vec<usize>,
    /// Connections of this batch that others have taken the place of, where that place is gone.
    replaced: usize,
}

/// Times that never go back.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    now: Instant,
    /// What the capture's clock was set back by, all in all.
    ahead: Duration,
    steps: u64,
}

impl Clock {
    fn read(&mut self, captured: Instant) -> Instant {
        let at = captured + self.ahead;
        let back = self.now.since(at);
        if back > DISORDER_MAX {
            self.ahead += back;
            self.steps += 1;
        }
        self.now = self.now.max(at);
        self.now
    }
}

impl<F: Follower> Table<F> {
    /// An empty table.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            places: HashMap::default(),
            slots: Vec::new(),
            last: None,
            hand: 0,
            memory: 0,
            finished: Vec::new(),
            packets: 0,
            connections: 0,
            clock: Clock::default(),
            next: Vec::new(),
            replaced: 0,
        }
    }

    /// The next packet of the capture. Connections that it ends are to be taken by [`Self::take_finished`].
    pub fn take(&mut self, packet: &Packet, onlooker: &mut dyn Onlooker) {
        let mut packet = *packet;
        packet.at = self.clock.read(packet.at);
        let before = self.packets;
        let place = self.find(&packet, Batch::default(), onlooker);
        let number = self.connections + 1;
        let Some(slot) = self.slots.get_mut(place) else {
            return;
        };
        let memory = slot.memory;
        slot.take(&packet, number, onlooker);
        slot.weigh();
        self.memory = (self.memory + slot.memory).saturating_sub(memory);
        self.connections += slot.over.len() as u64;
        self.finished.append(&mut slot.over);
        self.look(before, onlooker);
    }

    /// A connection that is finished, if there is one that was not taken yet.
    pub fn take_finished(&mut self) -> Option<Connection<F>> {
        self.finished.pop()
    }

    /// The connections that are finished and were not taken yet.
    pub(crate) fn all_finished(&mut self) -> Vec<Connection<F>> {
        std::mem::take(&mut self.finished)
    }

    /// The capture is over: every connection that was not handed out, in the order of their first packets.
    pub fn finish(mut self, onlooker: &mut dyn Onlooker) -> Vec<Connection<F>> {
        let mut rest = std::mem::take(&mut self.finished);
        for mut slot in std::mem::take(&mut self.slots) {
            slot.connection.finish(onlooker);
            rest.push(*slot.connection);
        }
        rest.sort_by_key(Connection::number);
        rest
    }

    /// Connections so far.
    pub const fn connections(&self) -> u64 {
        self.connections
    }

    /// Connections that are not finished.
    pub fn live(&self) -> impl Iterator<Item = &Connection<F>> {
        self.slots.iter().map(|slot| &*slot.connection)
    }

    /// Times that the clock of the capture was set back.
    pub const fn clock_steps(&self) -> u64 {
        self.clock.steps
    }

    /// Bytes of memory that grow with what is outstanding or held back, about.
    pub const fn memory(&self) -> usize {
        self.memory
    }

    /// The place of a packet's connection. `batch` has those before it that are not taken yet.
    fn find(&mut self, packet: &Packet, batch: Batch<'_>, onlooker: &mut dyn Onlooker) -> usize {
        self.packets += 1;
        if self.packets.is_multiple_of(PACKETS_PER_STEP) {
            self.step(batch, onlooker);
        }
        let pair = Pair::of(packet);
        let known = match self.last {
            Some((last, place)) if last == pair => Some(place),
            _ => self.places.get(&pair).copied(),
        };
        let place = match known {
            Some(place) => place,
            None => self.begin(pair, packet, batch, onlooker),
        };
        self.last = Some((pair, place));
        place
    }

    /// A place for the connection that `packet` is the first of.
    fn begin(
        &mut self,
        pair: Pair,
        packet: &Packet,
        batch: Batch<'_>,
        onlooker: &mut dyn Onlooker,
    ) -> usize {
        while self.slots.len() >= self.limits.connections.max(1) {
            self.crowd_out(batch, onlooker);
        }
        self.connections += 1;
        let place = self.slots.len();
        self.slots.push(Slot {
            pair,
            connection: Box::new(Connection::new(self.connections, packet)),
            memory: 0,
            chances: 1,
            lane: None,
            over: Vec::new(),
        });
        self.places.insert(pair, place);
        place
    }

    /// Looks at the memory, if it is time since there were `before` packets.
    fn look(&mut self, before: u64, onlooker: &mut dyn Onlooker) {
        let looks = |packets: u64| packets / (self.limits.batch.max(1) as u64);
        if looks(before) == looks(self.packets) {
            return;
        }
        while self.memory > self.limits.memory && self.slots.len() > 1 {
            self.crowd_out(Batch::default(), onlooker);
        }
    }

    /// Lets the connection at `place` take what waits for it, so that it can be asked.
    fn settle(&mut self, place: usize, batch: Batch<'_>) {
        if let Some(slot) = self.slots.get_mut(place) {
            let memory = slot.memory;
            slot.settle(batch);
            self.memory = (self.memory + slot.memory).saturating_sub(memory);
        }
    }

    /// Finishes one of the connections that have been silent the longest.
    fn crowd_out(&mut self, batch: Batch<'_>, onlooker: &mut dyn Onlooker) {
        let several = self.slots.len() > 1;
        loop {
            self.move_hand();
            let busy = self.last.map(|(_, place)| place) == Some(self.hand);
            if busy && several {
                continue;
            }
            self.settle(self.hand, batch);
            let Some(slot) = self.slots.get_mut(self.hand) else {
                return;
            };
            if slot.chances == 0 {
                self.remove(self.hand, onlooker);
                return;
            }
            slot.chances -= 1;
        }
    }

    fn move_hand(&mut self) {
        self.hand += 1;
        if self.hand >= self.slots.len() {
            self.hand = 0;
        }
    }

    /// Moves the hand on, and finishes the connection there if it is over and nothing more is to come.
    fn step(&mut self, batch: Batch<'_>, onlooker: &mut dyn Onlooker) {
        self.move_hand();
        let Some(slot) = self.slots.get(self.hand) else {
            return;
        };
        let waits = slot.lane.and_then(|lane| batch.last(lane));
        if waits.is_some_and(|last| self.clock.now.since(last.at) <= TIME_WAIT) {
            return;
        }
        self.settle(self.hand, batch);
        let Some(slot) = self.slots.get(self.hand) else {
            return;
        };
        let silent = self.clock.now.since(slot.connection.last_at());
        if slot.connection.ending().is_over() && silent > TIME_WAIT {
            self.remove(self.hand, onlooker);
        }
    }

    /// Finishes the connection at `place` and hands it out.
    fn remove(&mut self, place: usize, onlooker: &mut dyn Onlooker) {
        if place >= self.slots.len() {
            return;
        }
        let mut slot = self.slots.swap_remove(place);
        self.places.remove(&slot.pair);
        if let Some(moved) = self.slots.get(place) {
            self.places.insert(moved.pair, place);
        }
        self.last = None;
        self.memory = self.memory.saturating_sub(slot.memory);
        self.replaced += slot.over.len();
        self.finished.append(&mut slot.over);
        slot.connection.finish(onlooker);
        self.finished.push(*slot.connection);
    }
}

#[cfg(test)]
mod tests;
