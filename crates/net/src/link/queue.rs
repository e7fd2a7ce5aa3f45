//! Managed queues: those that decide when a packet leaves, and not only when it comes.
//!
//! A FIFO's packets have their whole future when they are accepted. Here a packet may be dropped
//! at the head (CoDel), overtaken by another flow's (FQ-CoDel, CAKE, DualPI2), or held back by a
//! shaper, so the link asks for the next packet when its transmitter is free:
//!
//! ```text
//!            tail drop, PIE, policer     CoDel, PI2, schedulers
//! enqueue ───────▶ Store: lines of packets ───────▶ dequeue ──▶ transmitter ──▶ far end
//!                      │ drop from another flow         │ drops, marks
//!                      └────────────▶ Fallout ◀─────────┘
//! ```
//!
//! A discipline is sans-I/O, as the link is. What has a clock of its own (PIE and PI2 update their
//! probability every few milliseconds) needs no event: such an update reads nothing but the queue
//! and the time, and the queue changes only when a packet comes or goes, so all updates that are
//! due are made up for just before, each with the time that it was due at.
//!
//! What becomes of packets other than the one that is offered or sent is in [`Fallout`].

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

/// What a managed queue does.
pub(super) trait Manage {
    /// Takes in a packet that came at `now`, or says why not.
    fn enqueue(
        &mut self,
        now: Instant,
        packet: Waiting,
        fallout: &mut Fallout,
    ) -> Result<(), DropCause>;

    /// The packet to send at `now`, if there is one, and if it may go.
    fn dequeue(&mut self, now: Instant, fallout: &mut Fallout) -> Option<Waiting>;

    /// When a packet may go, if none comes before: at once, unless a shaper holds them back;
    /// `None` if none waits.
    fn ready(&self, now: Instant) -> Option<Instant>;

    /// The transmitter was free since then, and nobody waited. It is told when the next packet comes, before
    /// that is taken in: nothing else happens meanwhile.
    fn rest(&mut self, _since: Instant) {}

    /// Those that wait.
    fn store(&self) -> &Store;
}

/// A managed queue of any kind.
#[derive(Clone, Debug)]
pub(super) enum Queue {
    CoDel(CoDelQueue),
    // Boxed, as they are much larger than the others.
    FqCoDel(Box<FqCoDelQueue>),
    Pie(Box<PieQueue>),
    DualPi2(Box<DualPi2Queue>),
    Shaper(Box<Shaper>),
    Cake(Box<CakeQueue>),
    AckFilter(AckFilter),
}

/// Calls the discipline inside, whichever it is.
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
    /// The queue of a link called `name` in the run with `seed`, if it is a managed one.
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
    /// Tells it whose the flows are, if that makes a difference.
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

/// What a discipline has done to packets, and the link's owner has not heard of yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Fallout {
    pub(super) dropped: VecDeque<(PacketHandle, DropCause)>,
    pub(super) marked: Vec<PacketHandle>,
}

impl Fallout {
    /// Drops a packet that was in the queue.
    pub(super) fn drop(&mut self, packet: &Waiting, cause: DropCause) {
        self.dropped.push_back((packet.offer.packet, cause));
    }

    /// Marks a packet, which is ECN-capable.
    pub(super) fn mark(&mut self, packet: &mut Waiting) {
        debug_assert!(packet.is_capable());
        packet.offer.ecn = Codepoint::Ce;
        self.marked.push(packet.offer.packet);
    }
}
