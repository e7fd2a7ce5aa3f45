//! Operations of a link with a managed queue.

use dupack_tcp::time::{Duration, Instant};

use super::Link;
use super::config::QueueConfig;
use super::counters::DropCause;
use super::offer::{Admission, Offer};
use super::queue::cake::Hosts;
use super::queue::store::Waiting;
use super::queue::{Fallout, Manage, Queue};
use crate::event::InsertionNumber;
use crate::packet::PacketHandle;

/// The managed queue, the drops and marks that have not been fetched yet, and the time of the next transmission.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    queue: Queue,
    fallout: Fallout,
    next: Option<Instant>,
}

impl Managed {
    /// Creates the managed queue of `config`; `None` if its queue is a FIFO.
    pub(super) fn new(config: &QueueConfig, seed: u64, name: &str) -> Option<Self> {
        Some(Self {
            queue: Queue::new(config, seed, name)?,
            fallout: Fallout::default(),
            next: None,
        })
    }
}

impl Link {
    /// Returns `true` if the link also acts on its own, at the time of [`next_transmission`](Self::next_transmission).
    #[inline(always)]
    #[must_use]
    pub fn is_managed(&self) -> bool {
        self.managed().is_some()
    }

    /// Returns the time at which the managed queue must be asked for its next packet. Returns `None` for a FIFO, and if
    /// no packet waits.
    #[must_use]
    pub fn next_transmission(&self) -> Option<Instant> {
        self.managed()?.next
    }

    /// Transmits the next packet at the time that [`next_transmission`](Self::next_transmission) returned. The packet
    /// arrives with the insertion number `number`, as if it had been offered with this number.
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

    /// Assigns hosts to flows, by flow number, for a queue that is fair among hosts.
    pub fn know_hosts(&mut self, hosts: &[Hosts]) {
        if let Some(managed) = self.managed_mut() {
            managed.queue.know_hosts(hosts);
        }
    }

    /// Returns a packet that the managed queue has dropped after accepting it, and the cause. After every offer and
    /// transmission, this must be called until it returns `None`.
    pub fn take_drop(&mut self) -> Option<(PacketHandle, DropCause)> {
        let (packet, cause) = self.managed_mut()?.fallout.dropped.pop_front()?;
        self.counters.drops.add(cause);
        Some((packet, cause))
    }

    /// Returns `true` if [`take_drop`](Self::take_drop) would return a packet.
    #[must_use]
    pub fn has_drops(&self) -> bool {
        let managed = self.managed();
        managed.is_some_and(|managed| !managed.fallout.dropped.is_empty())
    }

    /// Returns a packet whose ECN field must be set to CE. After every offer and transmission, this must be called
    /// until it returns `None`.
    pub fn take_mark(&mut self) -> Option<PacketHandle> {
        let packet = self.managed_mut()?.fallout.marked.pop()?;
        self.counters.marked_packets += 1;
        Some(packet)
    }

    /// Does the same as [`offer`](Self::offer), for a link with a managed queue.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_managed(
        &mut self,
        now: Instant,
        number: InsertionNumber,
        packet: &Offer,
    ) -> Admission {
        if let Err(cause) = self.admit(now, packet) {
            self.counters.drops.add(cause);
            return Admission::Dropped(cause);
        }
        self.plan_transmission(now);
        // An idle transmitter takes the packet at once, so that it is not counted as waiting.
        if self.next_transmission() == Some(now) {
            self.transmit(now, number);
        }
        let (packets, _) = self.managed_backlog().unwrap_or_default();
        let peak = &mut self.counters.backlog_max_packets;
        *peak = (*peak).max(packets);
        Admission::Accepted {
            wait: Duration::ZERO,
        }
    }

    /// Enqueues a packet, unless it is dropped before or by the queue.
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

    /// Determines the time at which the queue must be asked for its next packet.
    fn plan_transmission(&mut self, now: Instant) {
        let ready = self.managed().and_then(|managed| managed.queue.ready(now));
        let next = ready.map(|ready| self.service.free_from(ready.max(now)));
        if let Some(managed) = self.managed_mut() {
            managed.next = next;
        }
    }

    /// Returns the packets and bytes that wait in a managed queue.
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
