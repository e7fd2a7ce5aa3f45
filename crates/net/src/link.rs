//! A link: one direction of a wire or radio channel with the queue in front of it.
//!
//! ```text
//!          down?   loss    RED, limit     rate, trace      loss   delay, jitter, copies
//! offer ───────▶ before ──▶ backlog ──▶ transmitter ──▶ after ───────▶ far end ──▶ take_arrival
//! ```
//!
//! It is sans-I/O: [`Link::offer`] hands it a packet and the time, [`Link::next_arrival`] says
//! when to come back, [`Link::take_arrival`] gives out what has arrived. The same link runs in a
//! simulation and in real time.
//!
//! The queue is first-in first-out, so a packet's whole future is known when it is accepted.
//! Nothing happens inside a link between an offer and an arrival.

mod backlog;
mod config;
mod delivery_trace;
mod far_end;
mod impairment;
mod loss;
mod opportunity;
mod outage;
mod rate;
mod red;
mod service;
#[cfg(test)]
mod tests;

pub use config::{
    Discipline, LinkConfig, LinkFault, QueueConfig, QueueLimit, ServiceConfig, WaitRecording,
};
pub use delivery_trace::{DeliveryTrace, OPPORTUNITY_BYTES, TraceError};
pub use far_end::{Fate, Flight};
pub use impairment::{
    Duplication, ImpairmentConfig, Jitter, JitterDistribution, JitterOrder, Reordering,
};
pub use loss::{
    GilbertElliott, GilbertElliottTimed, LossConfig, LossModel, LossPlacement, LossScript,
    MAX_SCRIPTED_PACKETS, PacketFilter, ScriptError, ScriptRule, Transmissions,
};
pub use outage::TimeWindow;
pub use red::{RedAbove, RedConfig, RedUnit};

use dupack_tcp::time::{Duration, Instant};

use self::backlog::Backlog;
use self::far_end::FarEnd;
use self::impairment::{Impairments, Passage};
use self::loss::Loss;
use self::outage::Outages;
pub(crate) use self::rate::RateClock;
use self::red::Red;
use self::service::Service;
use crate::event::InsertionNumber;
use crate::histogram::Histogram;
use crate::ids::FlowId;
use crate::packet::{PacketHandle, PacketKind};
use crate::random::Stream;

/// A packet as a link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What the link will give out at the far end.
    pub packet: PacketHandle,
    /// The packet's kind, for filters and scripts.
    pub kind: PacketKind,
    /// Its flow, for scripts.
    pub flow: FlowId,
    /// Its number within flow and kind, for scripts.
    pub number: u64,
    /// Its size on the wire.
    pub bytes: u32,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            packet: PacketHandle(0),
            kind: PacketKind::Udp,
            flow: FlowId(0),
            number: 0,
            bytes: 0,
        }
    }
}

/// What a link makes of an offered packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is on its way; come back for it at [`Link::next_arrival`].
    Accepted {
        /// How long it waits for its transmission to begin.
        wait: Duration,
    },
    /// It is gone, and the link knows nothing of it any more.
    Dropped(DropCause),
}

/// The true cause of a packet's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The buffer was full.
    QueueFull,
    /// RED dropped it by chance.
    RedEarly,
    /// RED's average was so high that it dropped everything.
    RedForced,
    /// A loss model took it.
    Random,
    /// A loss script named it.
    Script,
    /// It collided with another packet on a shared channel.
    Collision,
    /// The link was down.
    LinkDown,
}

/// What a loss says about the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossNature {
    /// More traffic than the path carries.
    Congestion,
    /// Something else; "wireless" in the literature on loss differentiation.
    Wireless,
}

impl DropCause {
    /// All causes, in the order of their discriminants.
    pub const ALL: [Self; 7] = [
        Self::QueueFull,
        Self::RedEarly,
        Self::RedForced,
        Self::Random,
        Self::Script,
        Self::Collision,
        Self::LinkDown,
    ];

    /// What the loss says about the path: drops by a queue are congestion, all others are not.
    #[must_use]
    pub const fn nature(self) -> LossNature {
        match self {
            Self::QueueFull | Self::RedEarly | Self::RedForced => LossNature::Congestion,
            Self::Random | Self::Script | Self::Collision | Self::LinkDown => LossNature::Wireless,
        }
    }

    /// The cause's name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue full",
            Self::RedEarly => "RED early",
            Self::RedForced => "RED forced",
            Self::Random => "random",
            Self::Script => "script",
            Self::Collision => "collision",
            Self::LinkDown => "link down",
        }
    }
}

/// How many packets were dropped for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropCause::ALL.len()]);

impl DropCounts {
    /// Counts one drop.
    pub const fn add(&mut self, cause: DropCause) {
        self.0[cause as usize] += 1;
    }

    /// Drops for `cause`.
    #[must_use]
    pub const fn of(&self, cause: DropCause) -> u64 {
        self.0[cause as usize]
    }

    /// Drops of a nature.
    #[must_use]
    pub fn of_nature(&self, nature: LossNature) -> u64 {
        let causes = DropCause::ALL.into_iter();
        causes
            .filter(|cause| cause.nature() == nature)
            .map(|cause| self.of(cause))
            .sum()
    }

    /// All drops.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The drops since `earlier` was counted.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] - earlier.0[i]))
    }
}

/// What has passed through a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered_packets: u64,
    /// Packets transmitted and either arrived or lost on the wire, second copies not counted.
    pub carried_packets: u64,
    /// Their bytes.
    pub carried_bytes: u64,
    /// Packets delivered twice.
    pub duplicated_packets: u64,
    /// Drops, those on the wire included.
    pub drops: DropCounts,
    /// The most packets that waited at once; not reset by differences.
    pub backlog_max_packets: u64,
}

impl LinkCounters {
    /// What has passed since `earlier` was read.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            offered_packets: self.offered_packets - earlier.offered_packets,
            carried_packets: self.carried_packets - earlier.carried_packets,
            carried_bytes: self.carried_bytes - earlier.carried_bytes,
            duplicated_packets: self.duplicated_packets - earlier.duplicated_packets,
            drops: self.drops.since(&earlier.drops),
            backlog_max_packets: self.backlog_max_packets,
        }
    }
}

/// One direction of a link at work.
#[derive(Clone, Debug)]
pub struct Link {
    service: Service,
    delay: Duration,
    limit: QueueLimit,
    backlog: Backlog,
    far_end: FarEnd,
    red: Option<Box<Red>>,
    losses_before: Vec<Loss>,
    losses_after: Vec<Loss>,
    impairments: Option<Box<Impairments>>,
    outages: Option<Box<Outages>>,
    waits: WaitRecording,
    wait_histogram: Histogram,
    counters: LinkCounters,
}

impl Link {
    /// A link called `name` in the run with `seed`; the two determine all its random numbers.
    #[must_use]
    pub fn new(config: &LinkConfig, seed: u64, name: &str) -> Self {
        let losses_at = |placement| {
            let all = config.losses.iter().enumerate();
            all.filter(|(_, loss)| loss.placement == placement)
                .map(|(i, loss)| Loss::new(loss, Stream::derive(seed, &format!("{name}/loss/{i}"))))
                .collect()
        };
        let clean = config.impairments == ImpairmentConfig::default();
        Self {
            service: Service::new(&config.service),
            delay: config.delay,
            limit: config.queue.limit,
            backlog: Backlog::default(),
            far_end: if config.impairments.reorders() {
                FarEnd::sorted()
            } else {
                FarEnd::fifo()
            },
            red: red_of(config, seed, name),
            losses_before: losses_at(LossPlacement::BeforeQueue),
            losses_after: losses_at(LossPlacement::AfterTransmission),
            impairments: (!clean)
                .then(|| Box::new(Impairments::new(config.impairments, seed, name))),
            outages: (!config.outages.is_empty()).then(|| Box::new(Outages::new(&config.outages))),
            waits: config.waits,
            wait_histogram: Histogram::default(),
            counters: LinkCounters::default(),
        }
    }

    /// Hands the link a packet at `now`; calls come in the order of time. `number` breaks ties
    /// among arrivals and must be larger than in all calls before.
    pub fn offer(&mut self, now: Instant, number: InsertionNumber, packet: &Offer) -> Verdict {
        self.counters.offered_packets += 1;
        self.backlog.advance(now);
        if let Some(cause) = self.refuse(now, packet) {
            self.counters.drops.add(cause);
            return Verdict::Dropped(cause);
        }
        let transmission = self.service.book(now, packet.bytes);
        let wait = transmission.start.since(now);
        if !wait.is_zero() {
            self.backlog.push(transmission.start, packet.bytes);
            let peak = &mut self.counters.backlog_max_packets;
            *peak = (*peak).max(self.backlog.packets());
        }
        if self.waits.covers(packet.kind) {
            self.wait_histogram.record(wait);
        }
        let ideal_arrival = transmission.end + self.delay;
        self.launch(now, number, packet, ideal_arrival);
        Verdict::Accepted { wait }
    }

    /// When the next packet arrives at the far end, and its place among arrivals at that time.
    #[must_use]
    pub fn next_arrival(&self) -> Option<(Instant, InsertionNumber)> {
        self.far_end
            .first()
            .map(|flight| (flight.arrival, flight.number))
    }

    /// Takes the next packet that has arrived at `now`, if one has. Call until it is `None`.
    pub fn take_arrival(&mut self, now: Instant) -> Option<Flight> {
        if self.far_end.first()?.arrival > now {
            return None;
        }
        let flight = self.far_end.pop()?;
        match flight.fate {
            Fate::FirstOfTwo => self.counters.duplicated_packets += 1,
            Fate::Arrived => self.carried(flight.bytes),
            Fate::Lost(cause) => {
                self.carried(flight.bytes);
                self.counters.drops.add(cause);
            }
        }
        Some(flight)
    }

    /// What has passed so far.
    #[must_use]
    pub const fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Waiting times of the packets that the configuration says.
    #[must_use]
    pub const fn waits(&self) -> &Histogram {
        &self.wait_histogram
    }

    /// Empties the histogram of waiting times, at the end of a warm-up.
    pub fn clear_waits(&mut self) {
        self.wait_histogram.clear();
    }

    /// Packets that wait for their transmission to begin at `now`.
    pub fn backlog_packets(&mut self, now: Instant) -> u64 {
        self.backlog.advance(now);
        self.backlog.packets()
    }

    /// Bytes that wait for their transmission to begin at `now`.
    pub fn backlog_bytes(&mut self, now: Instant) -> u64 {
        self.backlog.advance(now);
        self.backlog.bytes()
    }

    /// RED's average queue in its unit, if the link has RED.
    #[must_use]
    pub fn red_average(&self) -> Option<f64> {
        self.red.as_ref().map(|red| red.average())
    }

    /// Packets accepted and not yet taken at the far end, copies included.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.far_end.len()
    }

    /// Why the link does not take the packet, if it does not.
    fn refuse(&mut self, now: Instant, packet: &Offer) -> Option<DropCause> {
        if let Some(outages) = &mut self.outages
            && outages.down(now)
        {
            return Some(DropCause::LinkDown);
        }
        if let Some(cause) = first_taker(&mut self.losses_before, now, packet) {
            return Some(cause);
        }
        if let Some(red) = &mut self.red {
            let idle_from = self.service.idle_from();
            let idle_since = (idle_from <= now && self.backlog.packets() == 0).then_some(idle_from);
            if let Some(cause) = red.decide(now, idle_since, &self.backlog, packet.bytes) {
                return Some(cause);
            }
        }
        if !self.service.would_wait(now) || self.has_room(packet.bytes) {
            return None;
        }
        if let Some(red) = &mut self.red {
            red.overflowed();
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

    /// Puts an accepted packet on the wire.
    fn launch(&mut self, now: Instant, number: InsertionNumber, packet: &Offer, ideal: Instant) {
        let mut flight = Flight {
            arrival: ideal,
            number,
            fate: Fate::Arrived,
            packet: packet.packet,
            bytes: packet.bytes,
        };
        let passage = match &mut self.impairments {
            None => Passage {
                arrival: ideal,
                second_copy: None,
            },
            Some(impairments) => impairments.pass(ideal),
        };
        flight.arrival = passage.arrival;
        if let Some(cause) = first_taker(&mut self.losses_after, now, packet) {
            flight.fate = Fate::Lost(cause);
        } else if let Some(second) = passage.second_copy {
            self.far_end.push(Flight {
                fate: Fate::FirstOfTwo,
                ..flight
            });
            flight.arrival = second;
        }
        self.far_end.push(flight);
    }

    const fn carried(&mut self, bytes: u32) {
        self.counters.carried_packets += 1;
        self.counters.carried_bytes += bytes as u64;
    }
}

impl WaitRecording {
    const fn covers(self, kind: PacketKind) -> bool {
        match self {
            Self::Off => false,
            Self::Data => matches!(kind, PacketKind::Data),
            Self::All => true,
        }
    }
}

/// The first model that takes the packet; all of them see it.
fn first_taker(losses: &mut [Loss], now: Instant, packet: &Offer) -> Option<DropCause> {
    losses.iter_mut().fold(None, |taken, loss| {
        let cause = loss.takes(now, packet);
        taken.or(cause)
    })
}

fn red_of(config: &LinkConfig, seed: u64, name: &str) -> Option<Box<Red>> {
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
    Some(Box::new(Red::new(red, mean_packet_time, stream)))
}
