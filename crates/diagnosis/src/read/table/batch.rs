//! Batches of packets: each connection processes all of its packets in a batch together.
//!
//! In a capture of many connections, consecutive packets belong to different connections, so the state of a connection
//! has left the processor's cache before its next packet. With a batch, the state is loaded once for all packets of the
//! connection. Because connections do not depend on one another, several threads share the work, and the result does
//! not depend on the number of threads.

use super::{CHANCES, Slot, Table};
use crate::read::connection::{Belongs, Connection};
use crate::read::follow::{Follower, Nobody, Onlooker};
use crate::read::packet::Packet;
use crate::read::workers::share;

/// Temporary number of a connection that is numbered at the end of the batch.
const UNNUMBERED: u64 = 0;

/// Packets of a batch that belong to one connection: the indices of the first and the last packet, and their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    first: usize,
    last: usize,
    len: usize,
}

impl Lane {
    /// Adds the packet at `place` in the batch to a lane. `next` contains the index of the next packet of the same
    /// lane.
    pub(super) fn join(lane: Option<Self>, place: usize, next: &mut [usize]) -> Self {
        let Some(lane) = lane else {
            return Self {
                first: place,
                last: place,
                len: 1,
            };
        };
        if let Some(after) = next.get_mut(lane.last) {
            *after = place;
        }
        Self {
            last: place,
            len: lane.len + 1,
            ..lane
        }
    }
}

/// Batch of packets, each with the index of the next packet of its lane.
#[derive(Clone, Copy, Default)]
pub(super) struct Batch<'a> {
    pub(super) packets: &'a [Packet],
    pub(super) next: &'a [usize],
}

impl<'a> Batch<'a> {
    fn lane(self, lane: Lane) -> impl Iterator<Item = &'a Packet> {
        let mut place = Some(lane.first);
        let packets = std::iter::from_fn(move || {
            let here = place?;
            place = self.next.get(here).copied();
            self.packets.get(here)
        });
        packets.take(lane.len)
    }

    /// Returns the last packet of a lane.
    pub(super) fn last(self, lane: Lane) -> Option<&'a Packet> {
        self.packets.get(lane.last)
    }
}

impl<F: Follower> Slot<F> {
    /// Processes a packet with the addresses of this slot. If the packet is the first of another connection, the new
    /// connection replaces the old one in the slot and gets `number`.
    pub(super) fn take(&mut self, packet: &Packet, number: u64, onlooker: &mut dyn Onlooker) {
        if self.connection.belongs(packet) == Belongs::ToAnother {
            let fresh = Box::new(Connection::new(number, packet));
            let mut before = std::mem::replace(&mut self.connection, fresh);
            before.finish(onlooker);
            self.over.push(*before);
        }
        self.connection.take(packet, onlooker);
    }

    /// Processes the waiting packets of this slot in a batch.
    pub(super) fn settle(&mut self, batch: Batch<'_>) {
        let Some(lane) = self.lane.take() else { return };
        for packet in batch.lane(lane) {
            self.take(packet, UNNUMBERED, &mut Nobody);
        }
        self.weigh();
    }

    /// Records that the connection has received a packet, and measures its memory.
    pub(super) fn weigh(&mut self) {
        let data = usize::from(self.connection.has_data());
        self.chances = CHANCES.get(data).copied().unwrap_or(1);
        self.memory = self.connection.memory();
    }
}

impl<F: Follower + Send> Table<F> {
    /// Processes the next packets of the capture, in order, on `threads` threads. The result is the same as that of
    /// [`Self::take`] for each packet, without an observer. The current thread first calls `meanwhile`, which may for
    /// example read the next packets, and then helps the other threads. The times of the packets are changed so that
    /// they never go back.
    pub fn take_all<T>(
        &mut self,
        packets: &mut [Packet],
        threads: usize,
        meanwhile: impl FnOnce() -> T,
    ) -> T {
        let (before, numbered) = (self.packets, self.connections);
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.resize(packets.len(), usize::MAX);
        self.route_all(packets, &mut next);
        let batch = Batch {
            packets,
            next: &next,
        };
        let done = self.settle_all(batch, threads, meanwhile);
        self.next = next;
        self.gather(numbered);
        self.look(before, &mut Nobody);
        done
    }

    /// Assigns every packet to its lane.
    fn route_all(&mut self, packets: &mut [Packet], next: &mut [usize]) {
        for place in 0..packets.len() {
            let (known, rest) = packets.split_at_mut(place);
            let Some(packet) = rest.first_mut() else {
                return;
            };
            let before = Batch {
                packets: known,
                next,
            };
            packet.at = self.clock.read(packet.at);
            let slot = self.find(packet, before, &mut Nobody);
            if let Some(slot) = self.slots.get_mut(slot) {
                slot.lane = Some(Lane::join(slot.lane, place, next));
            }
        }
    }

    /// Makes every connection process its waiting packets.
    fn settle_all<T>(
        &mut self,
        batch: Batch<'_>,
        threads: usize,
        meanwhile: impl FnOnce() -> T,
    ) -> T {
        let len = |slot: &&mut Slot<F>| slot.lane.map_or(0, |lane| lane.len);
        let slots = self.slots.iter_mut();
        let mut waiting: Vec<_> = slots.filter(|slot| slot.lane.is_some()).collect();
        // The longest lanes start first, so that no thread processes a long lane alone at the end.
        waiting.sort_unstable_by_key(|slot| std::cmp::Reverse(len(slot)));
        share(waiting, threads, |slot| slot.settle(batch), meanwhile)
    }

    /// Processes the end of the capture: calls `each` for every connection that has not been returned, in no particular
    /// order, on `threads` threads.
    pub fn finish_all(mut self, threads: usize, each: impl Fn(Connection<F>) + Sync) {
        let finished = std::mem::take(&mut self.finished);
        share(finished, threads, &each, || ());
        let work = |mut slot: Slot<F>| {
            slot.connection.finish(&mut Nobody);
            each(*slot.connection);
        };
        share(std::mem::take(&mut self.slots), threads, work, || ());
    }

    /// Collects the results of all connections of a batch. The connections that began in this batch (with a number
    /// above `numbered`, or none) are renumbered in the order of their first packets.
    fn gather(&mut self, numbered: u64) {
        self.memory = 0;
        let mut replaced = 0;
        for slot in &mut self.slots {
            replaced += slot.over.len();
            self.finished.append(&mut slot.over);
            self.memory += slot.memory;
        }
        replaced += std::mem::take(&mut self.replaced);
        if replaced == 0 {
            return;
        }
        self.connections += replaced as u64;
        let slots = self.slots.iter_mut().map(|slot| &mut *slot.connection);
        let all = slots.chain(&mut self.finished);
        let began = |number| number == UNNUMBERED || number > numbered;
        let mut fresh: Vec<_> = all.filter(|one| began(one.number())).collect();
        fresh.sort_unstable_by_key(|one| one.first_packet());
        for (number, connection) in (numbered + 1..).zip(fresh) {
            connection.renumber(number);
        }
    }
}
