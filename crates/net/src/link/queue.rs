//! Managed queues: queue disciplines that also decide when a packet leaves.
//!
//! In a FIFO, the complete schedule of a packet is known when it is accepted. In a managed queue, a packet may be
//! dropped at the head (CoDel), overtaken by packets of other flows (FQ-CoDel, CAKE, DualPI2), or held back by a
//! shaper. So the link asks the queue for the next packet when its transmitter becomes free:
//!
//! ```text
//!            tail drop, PIE, policer     CoDel, PI2, schedulers
//! enqueue ───────▶ Store: lines of packets ───────▶ dequeue ──▶ transmitter ──▶ far end
//!                      │ drop from another flow         │ drops, marks
//!                      └────────────▶ Fallout ◀─────────┘
//! ```
//!
//! A discipline is sans-I/O, like the link. Periodic updates need no event (PIE and PI2 update their probability every
//! few milliseconds). An update reads only the queue and the time, and the queue changes only when a packet arrives or
//! leaves. Overdue updates are therefore applied before the queue changes, each with its own due time.
//!
//! If a packet is dropped or marked that is neither the offered packet nor the one being sent, this is recorded in
//! [`Fallout`].

pub(super) mod ack_filter;
pub(super) mod cake;
pub(super) mod cobalt;
pub(super) mod codel;
pub(super) mod dual_pi2;
pub(super) mod fq_codel;
pub(super) mod pie;
pub(super) mod store;
#[cfg(test)]
mod tests;
pub(super) mod token_bucket;
mod updates;

use std::collections::VecDeque;

use dupack_tcp::segment::Codepoint;
use dupack_tcp::time::Instant;

use self::ack_filter::AckFilter;
use self::cake::{CakeQueue, Hosts};
use self::codel::CoDelQueue;
use self::dual_pi2::DualPi2Queue;
use self::fq_codel::FqCoDelQueue;
use self::pie::PieQueue;
use self::store::{Store, Waiting};
use self::token_bucket::Shaper;
use super::config::{Discipline, QueueConfig};
use super::counters::DropCause;
use crate::packet::PacketHandle;

/// Operations of a managed queue.
pub(super) trait Manage {
    /// Enqueues a packet that arrived at `now`, or returns the cause of its drop.
    fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        fallout: &mut Fallout,
    ) -> Result<(), DropCause>;

    /// Returns the packet to send at `now`, if a packet waits and may leave.
    fn dequeue(&mut self, now: Instant, fallout: &mut Fallout) -> Option<Waiting>;

    /// Returns the time at which the next packet may leave, assuming that no packet arrives before: this is `now`,
    /// unless a shaper delays the packet. Returns `None` if no packet waits.
    fn ready(&self, now: Instant) -> Option<Instant>;

    /// Tells the queue that the transmitter has been idle since `since` and no packet waited. Called when the next
    /// packet arrives, before it is enqueued; nothing else happens in between.
    fn rest(&mut self, _since: Instant) {}

    /// Returns the waiting packets.
    fn store(&self) -> &Store;
}

/// A managed queue of any kind.
#[derive(Clone, Debug)]
pub(super) enum Queue {
    CoDel(CoDelQueue),
    // These variants are boxed because they are much larger than the others.
    FqCoDel(Box<FqCoDelQueue>),
    Pie(Box<PieQueue>),
    DualPi2(Box<DualPi2Queue>),
    Shaper(Box<Shaper>),
    Cake(Box<CakeQueue>),
    AckFilter(AckFilter),
}

/// Calls a method of the discipline in the enum.
macro_rules! inside {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            Queue::CoDel($inner) => $call,
            Queue::FqCoDel($inner) => $call,
            Queue::Pie($inner) => $call,
            Queue::DualPi2($inner) => $call,
            Queue::Shaper($inner) => $call,
            Queue::Cake($inner) => $call,
            Queue::AckFilter($inner) => $call,
        }
    };
}

impl Queue {
    /// Creates the queue of the link called `name` in the run with `seed`, if it is managed.
    pub(super) fn new(config: &QueueConfig, seed: u64, name: &str) -> Option<Self> {
        let limit = config.limit;
        Some(match config.discipline {
            Discipline::DropTail | Discipline::Red(_) | Discipline::Policer(_) => return None,
            Discipline::CoDel(config) => Self::CoDel(CoDelQueue::new(config, limit)),
            Discipline::FqCoDel(config) => {
                Self::FqCoDel(Box::new(FqCoDelQueue::new(config, limit, seed, name)))
            }
            Discipline::Pie(config) => {
                Self::Pie(Box::new(PieQueue::new(config, limit, seed, name)))
            }
            Discipline::DualPi2(config) => {
                Self::DualPi2(Box::new(DualPi2Queue::new(config, limit)))
            }
            Discipline::Shaper(config) => Self::Shaper(Box::new(Shaper::new(config, limit))),
            Discipline::Cake(config) => {
                Self::Cake(Box::new(CakeQueue::new(config, limit, seed, name)))
            }
            Discipline::AckFilter => Self::AckFilter(AckFilter::new(limit)),
        })
    }
}

impl Queue {
    /// Assigns hosts to flows, if the discipline uses them.
    pub(super) fn know_hosts(&mut self, hosts: &[Hosts]) {
        if let Self::Cake(cake) = self {
            cake.know_hosts(hosts);
        }
    }
}

impl Manage for Queue {
    fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        fallout: &mut Fallout,
    ) -> Result<(), DropCause> {
        inside!(self, queue => queue.enqueue(now, packet, fallout))
    }

    fn dequeue(&mut self, now: Instant, fallout: &mut Fallout) -> Option<Waiting> {
        inside!(self, queue => queue.dequeue(now, fallout))
    }

    fn rest(&mut self, since: Instant) {
        inside!(self, queue => queue.rest(since));
    }

    fn ready(&self, now: Instant) -> Option<Instant> {
        inside!(self, queue => queue.ready(now))
    }

    fn store(&self) -> &Store {
        inside!(self, queue => queue.store())
    }
}

/// Drops and marks of a discipline that the owner of the link has not yet fetched.
#[derive(Clone, Debug, Default)]
pub(super) struct Fallout {
    pub(super) dropped: VecDeque<(PacketHandle, DropCause)>,
    pub(super) marked: Vec<PacketHandle>,
}

impl Fallout {
    /// Records the drop of a packet that was in the queue.
    pub(super) fn drop(&mut self, packet: &Waiting, cause: DropCause) {
        self.dropped.push_back((packet.offer.packet, cause));
    }

    /// Marks a packet, which must be ECN-capable, and records the mark.
    pub(super) fn mark(&mut self, packet: &mut Waiting) {
        debug_assert!(packet.is_capable());
        packet.offer.ecn = Codepoint::Ce;
        self.marked.push(packet.offer.packet);
    }
}
