//! A link: one direction of a wire or radio channel, with the queue in front of it.
//!
//! ```text
//!          down?   loss    RED, limit     rate, trace      loss   delay, jitter, copies
//! offer ───────▶ before ──▶ backlog ──▶ transmitter ──▶ after ───────▶ far end ──▶ take_arrival
//! ```
//!
//! A link is sans-I/O: [`Link::offer`] hands it a packet and the time, [`Link::next_arrival`] returns the time of the
//! next arrival, and [`Link::take_arrival`] returns a packet that has arrived. The same link runs in a simulation and
//! in real time.
//!
//! The queue is first-in first-out, so the complete schedule of a packet is known when it is accepted. Nothing happens
//! inside a link between an offer and an arrival.
//!
//! A link with a [managed queue](Discipline::is_managed) differs: it also acts when its transmitter becomes free
//! ([`Link::transmit`] at [`Link::next_transmission`]). The packets that its queue drops or marks are fetched with
//! [`Link::take_drop`] and [`Link::take_mark`].

mod backlog;
mod config;
mod counters;
mod delivery_trace;
mod extras;
mod far_end;
mod impairment;
mod loss;
mod managed;
mod offer;
mod opportunity;
mod outage;
mod queue;
mod rate;
mod red;
mod schedule;
mod scheduled;
mod service;
#[cfg(test)]
mod tests;
mod thinning;
mod transmission;

pub use config::{
    Discipline, LinkConfig, LinkFault, QueueConfig, QueueLimit, ServiceConfig, WaitRecording,
};
pub use counters::{DropCause, DropCounts, LinkCounters, LossNature};
pub use delivery_trace::{DeliveryTrace, OPPORTUNITY_BYTES, TraceError};
pub use far_end::{Fate, Flight};
pub use impairment::{
    Duplication, ImpairmentConfig, Jitter, JitterDistribution, JitterOrder, Reordering,
};
pub use loss::{
    GilbertElliott, GilbertElliottTimed, LossConfig, LossModel, LossPlacement, LossScript,
    MAX_SCRIPTED_PACKETS, PacketFilter, ScriptError, ScriptRule, Transmissions,
};
pub use offer::{Admission, Offer};
pub use outage::TimeWindow;
pub use queue::cake::{CakeConfig, Hosts, Isolation};
pub use queue::cobalt::CobaltConfig;
pub use queue::codel::{CoDelConfig, CoDelLike};
pub use queue::dual_pi2::{DualPi2Config, DualScheduler};
pub use queue::fq_codel::FqCoDelConfig;
pub use queue::pie::{PieConfig, PieDelay, PieSpread};
pub use queue::token_bucket::TokenBucketConfig;
pub use red::{Capable, RedAbove, RedConfig, RedLike, RedUnit};
pub use schedule::{Queued, ScheduleConfig, Span, Step};

use dupack_tcp::time::{Duration, Instant};

use self::backlog::Backlog;
use self::extras::{Extras, Manner};
use self::far_end::FarEnd;
pub(crate) use self::rate::RateClock;
use self::service::Service;
use crate::event::InsertionNumber;
use crate::histogram::Histogram;
use crate::packet::PacketKind;

/// One direction of a link at run time.
///
/// Most links are plain. Optional parts are boxed, so that a network of thousands of links stays in the cache.
///
/// The fields are stored in this order. The state that every packet needs comes first and fills two cache lines: one
/// for the transmitter, and one for the far end and the first counters.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Link {
    service: Service,
    delay: Duration,
    far_end: FarEnd,
    counters: LinkCounters,
    backlog: Backlog,
    limit: QueueLimit,
    extras: Option<Box<Extras>>,
    waits: Option<Box<Waits>>,
}

/// Checks the cache line of the transmitter, and the space for counters in the cache line of the far end. With pointers
/// of fewer than 64 bits, the fields are closer together; the best layout for that case has not been measured.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    core::mem::offset_of!(Link, far_end) == 64 && core::mem::offset_of!(Link, counters) == 104
);

/// Recorded waiting times.
#[derive(Clone, Debug)]
struct Waits {
    whose: WaitRecording,
    histogram: Histogram,
}

impl Link {
    /// Creates the link called `name` in the run with `seed`. Name and seed determine all its random numbers.
    #[must_use]
    pub fn new(config: &LinkConfig, seed: u64, name: &str) -> Self {
        Self {
            service: Service::new(config),
            delay: config.delay,
            limit: config.queue.limit,
            backlog: Backlog::default(),
            far_end: FarEnd::new(config.reorders()),
            extras: Extras::new(config, seed, name).map(Box::new),
            waits: (config.waits != WaitRecording::Off).then(|| {
                Box::new(Waits {
                    whose: config.waits,
                    histogram: Histogram::default(),
                })
            }),
            counters: LinkCounters::default(),
        }
    }

    /// Returns `true` if the link reads the flow and number of packets. Otherwise, these fields of an [`Offer`] may
    /// have any value.
    #[must_use]
    pub fn tells_packets_apart(&self) -> bool {
        let of_one = |waits: &Waits| matches!(waits.whose, WaitRecording::DataOf(_));
        self.extras.is_some() || self.waits.as_deref().is_some_and(of_one)
    }

    /// Offers a packet to the link at `now`. Calls must be in the order of time. `number` determines the order of
    /// packets that arrive at the same time, and must be larger than in all earlier calls.
    #[inline(always)]
    pub fn offer(&mut self, now: Instant, number: InsertionNumber, packet: &Offer) -> Admission {
        self.counters.offered_packets += 1;
        if let Some(extras) = &self.extras {
            match extras.manner() {
                Manner::Fifo => {}
                Manner::Managed => return self.offer_managed(now, number, packet),
                Manner::Scheduled => return self.offer_scheduled(now, number, packet),
            }
        }
        self.backlog.advance(now);
        if let Some(cause) = self.refuse(now, packet) {
            self.counters.drops.add(cause);
            return Admission::Dropped(cause);
        }
        let transmission = self.service.book(now, packet.bytes);
        let wait = transmission.start.since(now);
        if !wait.is_zero() {
            self.backlog.push(transmission.start, packet.bytes);
            let peak = &mut self.counters.backlog_max_packets;
            *peak = (*peak).max(self.backlog.packets());
        }
        if let Some(waits) = &mut self.waits
            && waits.whose.covers(packet)
        {
            waits.histogram.record(wait);
        }
        self.launch(now, number, packet, transmission.end + self.delay);
        if let Some(extras) = &mut self.extras
            && extras.take_mark().is_set()
        {
            self.counters.marked_packets += 1;
            return Admission::Marked { wait };
        }
        Admission::Accepted { wait }
    }

    /// Accepts a packet on an idle plain link and returns its arrival time. This is the fast path of
    /// [`offer`](Self::offer) for most packets on most links: the packet does not wait, no random number is drawn, and
    /// no waiting time is recorded. Returns `None` if the fast path does not apply. Otherwise, the caller must call
    /// [`launch_plain`](Self::launch_plain).
    #[inline(always)]
    pub(crate) fn pass_at_once(
        &mut self,
        now: Instant,
        kind: PacketKind,
        bytes: u32,
    ) -> Option<Instant> {
        let clock = match &mut self.service {
            Service::Plain(clock) => clock,
            Service::Timed(clock) if kind != PacketKind::Data => clock,
            _ => return None,
        };
        if clock.idle_from() > now {
            return None;
        }
        self.counters.offered_packets += 1;
        Some(clock.book(now, bytes).end + self.delay)
    }

    /// Puts a packet on the wire of a plain link. Returns `true` if this packet is the next to arrive.
    #[inline(always)]
    pub(crate) fn launch_plain(&mut self, flight: Flight) -> bool {
        self.far_end.push_last(flight);
        self.far_end.len() == 1
    }

    /// Returns the time of the next arrival at the far end, and its insertion number among arrivals at that time.
    #[inline(always)]
    #[must_use]
    pub fn next_arrival(&self) -> Option<(Instant, InsertionNumber)> {
        self.far_end
            .first()
            .map(|flight| (flight.arrival, flight.number))
    }

    /// Takes the next packet that has arrived at `now`. Must be called until it returns `None`.
    #[inline(always)]
    pub fn take_arrival(&mut self, now: Instant) -> Option<Flight> {
        let first = *self.far_end.first()?;
        if first.arrival > now {
            return None;
        }
        Some(self.take_first(first))
    }

    /// Takes the packet that arrives next, if the fabric knows that it is due.
    #[inline(always)]
    pub(crate) fn take_due(&mut self) -> Option<Flight> {
        let first = *self.far_end.first()?;
        Some(self.take_first(first))
    }

    #[inline(always)]
    fn take_first(&mut self, flight: Flight) -> Flight {
        self.far_end.drop_first();
        if flight.fate == Fate::Arrived {
            self.counters.carried(flight.bytes);
        } else {
            self.count_special(flight.fate, flight.bytes);
        }
        flight
    }

    #[cold]
    fn count_special(&mut self, fate: Fate, bytes: u32) {
        match fate {
            Fate::Arrived => {}
            Fate::FirstOfTwo => self.counters.duplicated_packets += 1,
            Fate::Lost(cause) => {
                // A packet that was lost because the link went down did not use the link.
                if cause != DropCause::LinkDown {
                    self.counters.carried(bytes);
                }
                self.counters.drops.add(cause);
            }
        }
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Returns the counters, for a fabric that counts the packets of a medium on this link.
    pub(crate) const fn counters_mut(&mut self) -> &mut LinkCounters {
        &mut self.counters
    }

    /// Returns the waiting times that the link is configured to record.
    #[must_use]
    pub fn waits(&self) -> Option<&Histogram> {
        self.waits.as_ref().map(|waits| &waits.histogram)
    }

    /// Clears the histogram of waiting times, at the end of a warm-up.
    pub fn clear_waits(&mut self) {
        if let Some(waits) = &mut self.waits {
            waits.histogram.clear();
        }
    }

    /// Returns the number of packets that wait for their transmission to begin at `now`.
    pub fn backlog_packets(&mut self, now: Instant) -> u64 {
        if let Some((packets, _)) = self.managed_backlog() {
            return packets;
        }
        self.backlog.advance(now);
        self.backlog.packets()
    }

    /// Returns the number of bytes that wait for their transmission to begin at `now`.
    pub fn backlog_bytes(&mut self, now: Instant) -> u64 {
        if let Some((_, bytes)) = self.managed_backlog() {
            return bytes;
        }
        self.backlog.advance(now);
        self.backlog.bytes()
    }

    /// Returns RED's average queue in its unit, if the link has RED.
    #[must_use]
    pub fn red_average(&self) -> Option<f64> {
        self.extras.as_ref()?.red_average()
    }

    /// Returns the number of packets that were accepted and have not yet been taken at the far end, including second
    /// copies.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.far_end.len()
    }

    /// Returns the cause of the drop if the link drops the packet before or at the queue.
    #[inline(always)]
    fn refuse(&mut self, now: Instant, packet: &Offer) -> Option<DropCause> {
        if let Some(extras) = &mut self.extras {
            let idle_from = self.service.idle_from();
            let cause = extras.refuse(now, idle_from, &self.backlog, packet);
            if cause.is_some() {
                return cause;
            }
        }
        if !self.service.would_wait(now) || self.has_room(packet.bytes) {
            return None;
        }
        if let Some(extras) = &mut self.extras {
            extras.overflowed();
        }
        Some(DropCause::QueueFull)
    }

    fn has_room(&self, bytes: u32) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => self.backlog.packets() < limit,
            QueueLimit::Bytes(limit) => self.backlog.bytes() + u64::from(bytes) <= limit,
        }
    }

    /// Puts an accepted packet on the wire. `ideal` is its arrival time on a wire without impairments.
    #[inline(always)]
    fn launch(&mut self, now: Instant, number: InsertionNumber, packet: &Offer, ideal: Instant) {
        let mut flight = Flight::of(packet, number, ideal);
        if let Some(extras) = &mut self.extras
            && extras.touches_wire()
        {
            let passage = extras.pass(now, ideal, packet);
            flight.arrival = passage.arrival;
            if let Some(cause) = passage.lost {
                flight.fate = Fate::Lost(cause);
            } else if let Some(second) = passage.second_copy {
                self.far_end.push(Flight {
                    fate: Fate::FirstOfTwo,
                    ..flight
                });
                flight.arrival = second;
            }
        }
        self.far_end.push(flight);
    }
}

impl WaitRecording {
    fn covers(self, packet: &Offer) -> bool {
        let is_data = packet.kind == PacketKind::Data;
        match self {
            Self::Off => false,
            Self::Data => is_data,
            Self::DataOf(flow) => is_data && packet.flow == flow,
            Self::All => true,
        }
    }
}
