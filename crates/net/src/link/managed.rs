//! A link whose queue is managed: what it does beside a link with a FIFO.

use dupack_tcp::time::{Duration, Instant};

use super::Link;
use super::config::QueueConfig;
use super::counters::DropCause;
use super::offer::{Offer, Verdict};
use super::queue::cake::Hosts;
use super::queue::store::Waiting;
use super::queue::{Fallout, Manage, Queue};
use crate::event::InsertionNumber;
use crate::packet::PacketHandle;

/// The queue, and when it is asked next.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    queue: Queue,
    fallout: Fallout,
    next: Option<Instant>,
}

impl Managed {
    /// What `config` asks for; `None` if that is a FIFO.
    pub(super) fn new(config: &QueueConfig, seed: u64, name: &str) -> Option<Self> {
        Some(Self {
            queue: Queue::new(config, seed, name)?,
            fallout: Fallout::default(),
            next: None,
        })
    }
}

impl Link {
    /// Whether the link acts by itself, at [`next_transmission`](Self::next_transmission).
    #[inline(always)]
    #[must_use]
    pub fn is_managed(&self) -> bool {
        self.managed().is_some()
    }

    /// When a managed queue is to be asked for its next packet; `None` for a FIFO, and if nothing
    /// waits.
    #[must_use]
    pub fn next_transmission(&self) -> Option<Instant> {
        self.managed()?.next
    }

    /// Lets the transmitter, at the time that [`next_transmission`](Self::next_transmission) says,
    /// take the next packet, which arrives under `number` as if it had been offered with it.
    pub fn transmit(&mut self, now: Instant, number: InsertionNumber) {
        let Some(managed) = self.managed_mut() else {
            return;
        };
        if let Some(sent) = managed.queue.dequeue(now, &mut managed.fallout) {
            let transmission = self.service.book_waiting(now, sent.offer.bytes);
            if let Some(waits) = &mut self.waits
                && waits.whose.covers(&sent.offer)
            {
                waits.histogram.record(now.since(sent.arrived));
            }
            let ideal = self.far_end_at(transmission);
            self.launch(now, number, &sent.offer, ideal);
        }
        self.plan_transmission(now);
    }

    /// Tells a queue that is fair among hosts whose the flows are, by their numbers.
    pub fn know_hosts(&mut self, hosts: &[Hosts]) {
        if let Some(managed) = self.managed_mut() {
            managed.queue.know_hosts(hosts);
        }
    }

    /// A packet that the managed queue has dropped after it was accepted, and why. Call until it
    /// is `None`, after every offer and transmission.
    pub fn take_drop(&mut self) -> Option<(PacketHandle, DropCause)> {
        let (packet, cause) = self.managed_mut()?.fallout.dropped.pop_front()?;
        self.counters.drops.add(cause);
        Some((packet, cause))
    }

    /// Whether [`take_drop`](Self::take_drop) has something to say.
    #[must_use]
    pub fn has_drops(&self) -> bool {
        let managed = self.managed();
        managed.is_some_and(|managed| !managed.fallout.dropped.is_empty())
    }

    /// A packet into whose ECN field CE is to be written. Call until it is `None`, after every
    /// offer and transmission.
    pub fn take_mark(&mut self) -> Option<PacketHandle> {
        let packet = self.managed_mut()?.fallout.marked.pop()?;
        self.counters.marked_packets += 1;
        Some(packet)
    }

    /// As [`offer`](Self::offer), on a link with a managed queue.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_managed(
        &mut self,
        now: Instant,
        number: InsertionNumber,
        packet: &Offer,
    ) -> Verdict {
        if let Err(cause) = self.admit(now, packet) {
            self.counters.drops.add(cause);
            return Verdict::Dropped(cause);
        }
        self.plan_transmission(now);
        // An idle transmitter takes it at once, so that it does not count as one that waits.
        if self.next_transmission() == Some(now) {
            self.transmit(now, number);
        }
        let (packets, _) = self.managed_backlog().unwrap_or_default();
        let peak = &mut self.counters.backlog_max_packets;
        *peak = (*peak).max(packets);
        Verdict::Accepted {
            wait: Duration::ZERO,
        }
    }

    /// Puts a packet into the queue, if it gets that far and finds room.
    fn admit(&mut self, now: Instant, packet: &Offer) -> Result<(), DropCause> {
        let idle_from = self.service.idle_from();
        let Some(extras) = &mut self.extras else {
            return Ok(());
        };
        if let Some(cause) = extras.refuse(now, idle_from, &self.backlog, packet) {
            return Err(cause);
        }
        let Some(managed) = extras.managed_mut() else {
            return Ok(());
        };
        let waiting = Waiting {
            offer: *packet,
            arrived: now,
        };
        if idle_from <= now && managed.queue.store().packets() == 0 {
            managed.queue.rest(idle_from);
        }
        managed.queue.enqueue(now, waiting, &mut managed.fallout)
    }

    /// Finds out when the queue is to be asked next.
    fn plan_transmission(&mut self, now: Instant) {
        let ready = self.managed().and_then(|managed| managed.queue.ready(now));
        let next = ready.map(|ready| self.service.free_from(ready.max(now)));
        if let Some(managed) = self.managed_mut() {
            managed.next = next;
        }
    }

    /// Packets and bytes that wait in a managed queue.
    pub(super) fn managed_backlog(&self) -> Option<(u64, u64)> {
        let store = self.managed()?.queue.store();
        Some((store.packets(), store.bytes()))
    }

    #[inline(always)]
    fn managed(&self) -> Option<&Managed> {
        self.extras.as_ref()?.managed()
    }

    fn managed_mut(&mut self) -> Option<&mut Managed> {
        self.extras.as_mut()?.managed_mut()
    }
}
