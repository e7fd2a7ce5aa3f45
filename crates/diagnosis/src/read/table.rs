//! All connections of a capture, found by the addresses of their packets.
//!
//! A packet takes one look-up. Memory is bounded: the number of connections is limited, and so is the total outstanding
//! data that they store. If a limit is exceeded, the connections without packets for the longest time are finished
//! early. They are found with a clock algorithm (second chance): the hand skips a connection that has received a packet
//! since the hand last passed, and skips a connection with data several times. A finished connection is returned
//! together with its analyses. If more of its packets follow, they form a connection that begins in the middle.
//!
//! Packets are processed one by one ([`Table::take`]), or many packets at once by several threads
//! ([`Table::take_all`]), which is faster with many connections. The results are the same.
//!
//! A connection takes about 2 kB, and 0.8 kB more if packets have identifications. A stream with data takes 1.5 kB plus
//! its follower, 48 bytes for each outstanding segment, and about 120 bytes for each ACK that the sender has not
//! received.

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

/// Limits on the state that is stored at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Approximate maximum memory, in bytes, for the outstanding data and the held packets of all connections.
    pub memory: usize,
    /// Number of packets between two checks of the memory, and in a batch for [`Table::take_all`]. Between two checks,
    /// the memory may exceed its limit by the memory that this number of packets adds.
    pub batch: usize,
}

impl Default for Limits {
    /// Allows 65,536 connections: a scan of all ports of a host displaces no connection. Allows 512 MiB: forty windows
    /// of 256 Ki segments. Checks after 32,768 packets (our choice): this is about thirty packets for each of a
    /// thousand connections, and all of them take a few megabytes.
    fn default() -> Self {
        Self {
            connections: 1 << 16,
            memory: 512 << 20,
            batch: 1 << 15,
        }
    }
}

/// Time for which a closed connection is stored for late packets: twice the maximum segment lifetime of most hosts
/// (four minutes in RFC 9293 §3.4.2, one minute in Linux's `TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Number of packets after which the hand advances by one connection to find closed ones (our choice).
const PACKETS_PER_STEP: u64 = 16;

/// Number of times that the hand skips a connection that has received a packet: for connections without data, and with
/// data.
const CHANCES: [u8; 2] = [1, 3];

/// Addresses and ports of both endpoints, the smaller one first. IPv4 has its own form because it hashes faster.
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

/// Slot of a connection.
#[derive(Debug)]
struct Slot<F> {
    pair: Pair,
    connection: Box<Connection<F>>,
    /// Memory of the connection when it was last measured.
    memory: usize,
    /// Number of times that the hand will still skip the connection.
    chances: u8,
    /// Packets of the batch that the connection has not processed.
    lane: Option<Lane>,
    /// Earlier connections in this slot that ended during the batch.
    over: Vec<Connection<F>>,
}

/// All connections of a capture.
#[derive(Debug)]
pub struct Table<F> {
    limits: Limits,
    /// Slot index of each address pair. The hash has a random seed, so the author of a capture cannot choose colliding
    /// addresses.
    places: HashMap<Pair, usize, RandomState>,
    slots: Vec<Slot<F>>,
    /// Slot of the last packet's connection, because the next packet often belongs to the same connection.
    last: Option<(Pair, usize)>,
    hand: usize,
    memory: usize,
    finished: Vec<Connection<F>>,
    packets: u64,
    connections: u64,
    clock: Clock,
    /// Next packet of the same lane, for each packet of a batch. The memory is reused for the next batch.
    next: Vec<usize>,
    /// Number of connections that were replaced by others during this batch, in slots that no longer exist.
    replaced: usize,
}

/// Clock that never goes back.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    now: Instant,
    /// Total time by which the capture's clock was set back.
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
    /// Creates an empty table.
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

    /// Processes the next packet of the capture. [`Self::take_finished`] returns the connections that are finished.
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

    /// Removes and returns a finished connection; `None` if there is none.
    pub fn take_finished(&mut self) -> Option<Connection<F>> {
        self.finished.pop()
    }

    /// Removes and returns all finished connections.
    pub(crate) fn all_finished(&mut self) -> Vec<Connection<F>> {
        std::mem::take(&mut self.finished)
    }

    /// Processes the end of the capture. Returns every connection that has not been returned, in the order of their
    /// first packets.
    pub fn finish(mut self, onlooker: &mut dyn Onlooker) -> Vec<Connection<F>> {
        let mut rest = std::mem::take(&mut self.finished);
        for mut slot in std::mem::take(&mut self.slots) {
            slot.connection.finish(onlooker);
            rest.push(*slot.connection);
        }
        rest.sort_by_key(Connection::number);
        rest
    }

    /// Returns the number of connections so far.
    pub const fn connections(&self) -> u64 {
        self.connections
    }

    /// Returns an iterator over the connections that are not finished.
    pub fn live(&self) -> impl Iterator<Item = &Connection<F>> {
        self.slots.iter().map(|slot| &*slot.connection)
    }

    /// Returns the number of times that the clock of the capture was set back.
    pub const fn clock_steps(&self) -> u64 {
        self.clock.steps
    }

    /// Returns the approximate memory, in bytes, that grows with outstanding data and held packets.
    pub const fn memory(&self) -> usize {
        self.memory
    }

    /// Returns the slot of a packet's connection. `batch` contains the earlier packets that are not processed.
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

    /// Creates a slot for the connection whose first packet is `packet`.
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

    /// Checks the memory if a batch has been completed since `before` packets had been processed.
    fn look(&mut self, before: u64, onlooker: &mut dyn Onlooker) {
        let looks = |packets: u64| packets / (self.limits.batch.max(1) as u64);
        if looks(before) == looks(self.packets) {
            return;
        }
        while self.memory > self.limits.memory && self.slots.len() > 1 {
            self.crowd_out(Batch::default(), onlooker);
        }
    }

    /// Processes the waiting packets of the connection at `place`, so that its state is current.
    fn settle(&mut self, place: usize, batch: Batch<'_>) {
        if let Some(slot) = self.slots.get_mut(place) {
            let memory = slot.memory;
            slot.settle(batch);
            self.memory = (self.memory + slot.memory).saturating_sub(memory);
        }
    }

    /// Finishes one of the connections that have had no packets for the longest time.
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

    /// Advances the hand. If the connection there is closed and no late packets are expected, the connection is
    /// finished.
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

    /// Removes the connection at `place` and finishes it.
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
