//! Optional parts of a link: outages, loss models, RED, impairments.

use dupack_tcp::segment::Bit;
use dupack_tcp::time::{Duration, Instant};

use super::backlog::Backlog;
use super::config::{Discipline, LinkConfig, ServiceConfig};
use super::counters::DropCause;
use super::impairment::{ImpairmentConfig, Impairments};
use super::loss::{Loss, LossPlacement};
use super::managed::Managed;
use super::offer::Offer;
use super::outage::Outages;
use super::queue::token_bucket::Policer;
use super::red::Red;
use super::thinning::Thinning;
use crate::random::Stream;

/// All parts of a link that may drop, delay or copy packets, except for its queue limit.
#[derive(Clone, Debug)]
pub(super) struct Extras {
    outages: Option<Outages>,
    losses_before: Vec<Loss>,
    thinning: Option<Thinning>,
    policer: Option<Policer>,
    red: Option<Red>,
    losses_after: Vec<Loss>,
    impairments: Option<Impairments>,
    /// Set if RED marks the last offered packet.
    marked: Bit,
    managed: Option<Box<Managed>>,
    manner: Manner,
}

/// Departure order and timing of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// First-in first-out, at once or at the link's rate.
    Fifo,
    /// In the order and at the times that a managed queue chooses.
    Managed,
    /// First-in first-out, at a rate that changes.
    Scheduled,
}

/// Passage of a packet across the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// Time of the arrival, even if the packet is lost.
    pub(super) arrival: Instant,
    /// Cause of a loss on the wire.
    pub(super) lost: Option<DropCause>,
    /// Arrival time of the second copy.
    pub(super) second_copy: Option<Instant>,
}

impl Extras {
    /// Creates the parts that `config` needs; `None` if it needs none.
    pub(super) fn new(config: &LinkConfig, seed: u64, name: &str) -> Option<Self> {
        let losses_at = |placement| {
            let all = config.losses.iter().enumerate();
            all.filter(|(_, loss)| loss.placement == placement)
                .map(|(i, loss)| Loss::new(loss, Stream::derive(seed, &format!("{name}/loss/{i}"))))
                .collect()
        };
        let impaired = config.impairments != ImpairmentConfig::default();
        Self::wanted(config).then(|| Self {
            outages: (!config.outages.is_empty()).then(|| Outages::new(&config.outages)),
            losses_before: losses_at(LossPlacement::BeforeQueue),
            thinning: config.thin_acks.map(Thinning::new),
            policer: policer_of(config),
            red: red_of(config, seed, name),
            losses_after: losses_at(LossPlacement::AfterTransmission),
            impairments: impaired.then(|| Impairments::new(config.impairments, seed, name)),
            marked: Bit::Clear,
            managed: Managed::new(&config.queue, seed, name).map(Box::new),
            manner: if config.queue.discipline.is_managed() {
                Manner::Managed
            } else if config.schedule.is_some() {
                Manner::Scheduled
            } else {
                Manner::Fifo
            },
        })
    }

    /// Returns `true` if `config` needs any of these parts.
    pub(super) fn wanted(config: &LinkConfig) -> bool {
        let impaired = config.impairments != ImpairmentConfig::default();
        let unreliable = !config.outages.is_empty() || !config.losses.is_empty();
        let other = config.schedule.is_some() || config.thin_acks.is_some();
        unreliable || other || impaired || config.queue.discipline != Discipline::DropTail
    }

    /// Returns the cause if a packet is dropped before the queue. The transmitter is idle from the time `idle_from` on.
    #[inline(always)]
    pub(super) fn refuse(
        &mut self,
        now: Instant,
        idle_from: Instant,
        backlog: &Backlog,
        packet: &Offer,
    ) -> Option<DropCause> {
        if let Some(outages) = &mut self.outages
            && outages.down(now)
        {
            return Some(DropCause::LinkDown);
        }
        let lost = first_taker(&mut self.losses_before, now, packet);
        if lost.is_some() {
            return lost;
        }
        if let Some(thinning) = &mut self.thinning
            && thinning.drops(packet)
        {
            return Some(DropCause::Aqm);
        }
        if let Some(policer) = &mut self.policer {
            return policer.refuse(now, packet.bytes);
        }
        let red = self.red.as_mut()?;
        let idle_since = (idle_from <= now && backlog.packets() == 0).then_some(idle_from);
        let cause = red.decide(now, idle_since, backlog, packet.bytes)?;
        self.marked = Bit::when(red.marks(cause, packet.ecn));
        (!self.marked.is_set()).then_some(cause)
    }

    /// Returns the departure order and timing of packets.
    #[inline(always)]
    pub(super) const fn manner(&self) -> Manner {
        self.manner
    }

    /// Returns the managed queue, if there is one.
    #[inline(always)]
    pub(super) fn managed(&self) -> Option<&Managed> {
        self.managed.as_deref()
    }

    /// Returns the managed queue, if there is one.
    pub(super) fn managed_mut(&mut self) -> Option<&mut Managed> {
        self.managed.as_deref_mut()
    }

    /// Returns the mark of the last offered packet, and clears the mark.
    pub(super) fn take_mark(&mut self) -> Bit {
        core::mem::take(&mut self.marked)
    }

    /// Updates the state after a packet was not refused but found the buffer full.
    pub(super) const fn overflowed(&mut self) {
        self.marked = Bit::Clear;
        if let Some(red) = &mut self.red {
            red.overflowed();
        }
    }

    /// Returns `true` if packets may be lost, delayed or copied on the wire.
    pub(super) const fn touches_wire(&self) -> bool {
        self.impairments.is_some() || !self.losses_after.is_empty()
    }

    /// Returns the passage of an accepted packet. `ideal` is its arrival time on a wire without impairments.
    pub(super) fn pass(&mut self, now: Instant, ideal: Instant, packet: &Offer) -> Passage {
        let (arrival, second_copy) = match &mut self.impairments {
            None => (ideal, None),
            Some(impairments) => impairments.pass(ideal),
        };
        Passage {
            arrival,
            lost: first_taker(&mut self.losses_after, now, packet),
            second_copy,
        }
    }

    /// Returns RED's average queue, if there is RED.
    pub(super) fn red_average(&self) -> Option<f64> {
        self.red.as_ref().map(Red::average)
    }
}

/// Returns the cause of the first model that drops the packet. All models see the packet. Most links with losses have
/// one model.
#[inline(always)]
fn first_taker(losses: &mut [Loss], now: Instant, packet: &Offer) -> Option<DropCause> {
    match losses {
        [] => None,
        [loss] => loss.takes(now, packet),
        losses => first_of_many(losses, now, packet),
    }
}

#[inline(never)]
fn first_of_many(losses: &mut [Loss], now: Instant, packet: &Offer) -> Option<DropCause> {
    let mut taken = None;
    for loss in losses {
        let cause = loss.takes(now, packet);
        taken = taken.or(cause);
    }
    taken
}

fn policer_of(config: &LinkConfig) -> Option<Policer> {
    match config.queue.discipline {
        Discipline::Policer(bucket) => Some(Policer::new(bucket)),
        _ => None,
    }
}

fn red_of(config: &LinkConfig, seed: u64, name: &str) -> Option<Red> {
    let Discipline::Red(red) = config.queue.discipline else {
        return None;
    };
    let mean_packet_time = match &config.service {
        ServiceConfig::Unlimited => Duration::ZERO,
        ServiceConfig::Rate(rate) => rate.transmission_time(u64::from(red.mean_packet_bytes)),
        ServiceConfig::Trace(trace) => {
            Duration::from_secs_f64(f64::from(red.mean_packet_bytes) * 8.0 / trace.mean_rate_bps())
        }
    };
    let stream = Stream::derive(seed, &format!("{name}/red"));
    Some(Red::new(red, mean_packet_time, stream))
}
