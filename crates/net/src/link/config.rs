//! Configuration of a link: transmitter, delay, queue, losses, impairments, outages.

use dupack_tcp::time::Duration;

use super::delivery_trace::DeliveryTrace;
use super::impairment::{ImpairmentConfig, JitterOrder};
use super::loss::{LossConfig, LossModel, LossPlacement, PacketFilter};
use super::outage::TimeWindow;
use super::queue::cake::CakeConfig;
use super::queue::codel::CoDelConfig;
use super::queue::dual_pi2::DualPi2Config;
use super::queue::fq_codel::FqCoDelConfig;
use super::queue::pie::PieConfig;
use super::queue::token_bucket::TokenBucketConfig;
use super::red::RedConfig;
use super::schedule::{Queued, ScheduleConfig};
use crate::ids::FlowId;
use crate::units::{BitRate, Probability};

/// Configuration of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkConfig {
    /// Transmission rate.
    pub service: ServiceConfig,
    /// Propagation delay, from the end of the transmission to the arrival.
    pub delay: Duration,
    /// Buffer and queue discipline.
    pub queue: QueueConfig,
    /// Loss models; each one sees every packet.
    pub losses: Vec<LossConfig>,
    /// Jitter, reordering, duplication.
    pub impairments: ImpairmentConfig,
    /// Times at which the link is down.
    pub outages: Vec<TimeWindow>,
    /// Passes one of every n ACKs of a flow; `None` passes all ACKs. An ACK that carries more information than the
    /// acknowledged data always passes.
    pub thin_acks: Option<u32>,
    /// Changes of rate and delay; only for a link with a rate.
    pub schedule: Option<ScheduleConfig>,
    /// Packets whose waiting times are recorded in the link's histogram.
    pub waits: WaitRecording,
}

/// Transmission rate of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceConfig {
    /// Transmits at once: a pure delay.
    Unlimited,
    /// Transmits at a constant rate.
    Rate(BitRate),
    /// Transmits at the opportunities of a recorded trace.
    Trace(DeliveryTrace),
}

/// Buffer and discipline of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueConfig {
    /// Size of the buffer, without the packet in transmission.
    pub limit: QueueLimit,
    /// Queue discipline: decides which packets are dropped or marked before the buffer is full.
    pub discipline: Discipline,
}

/// Size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// No limit. If the traffic does not react to an overload, as with datagrams, the memory in use grows without
    /// bound.
    Unlimited,
    /// This number of packets.
    Packets(u64),
    /// This number of bytes.
    Bytes(u64),
}

/// Queue discipline: decides which packets are dropped or marked before the buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Discipline {
    /// Drops only packets that arrive when the buffer is full.
    #[default]
    DropTail,
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    CoDel(CoDelConfig),
    /// A queue for each flow, each with CoDel.
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced.
    Pie(PieConfig),
    /// Two queues, for L4S and for classic traffic, under a coupled controller.
    DualPi2(DualPi2Config),
    /// A token bucket that drops non-conforming packets, before a DropTail queue.
    Policer(TokenBucketConfig),
    /// A token bucket that delays non-conforming packets.
    Shaper(TokenBucketConfig),
    /// A shaper without bursts, fairness among hosts and flows, and COBALT in each queue.
    Cake(CakeConfig),
    /// Drops waiting ACKs that a later ACK of the same flow supersedes, and packets that arrive when the buffer is
    /// full.
    AckFilter,
}

impl Discipline {
    /// Returns `true` if the queue also decides when packets leave it.
    #[must_use]
    pub const fn is_managed(&self) -> bool {
        !matches!(self, Self::DropTail | Self::Red(_) | Self::Policer(_))
    }

    /// Returns the fault in the parameters, if there is one.
    #[must_use]
    pub fn fault(&self) -> Option<LinkFault> {
        match self {
            Self::DropTail | Self::AckFilter => None,
            Self::Red(red) => (!red.is_valid()).then_some(LinkFault::RedParameters),
            Self::CoDel(codel) => (!codel.is_valid()).then_some(LinkFault::CoDelParameters),
            Self::FqCoDel(fair) => (!fair.is_valid()).then_some(LinkFault::FqCoDelParameters),
            Self::Pie(pie) => (!pie.is_valid()).then_some(LinkFault::PieParameters),
            Self::Cake(cake) => (!cake.is_valid()).then_some(LinkFault::CakeParameters),
            Self::DualPi2(dual) => (!dual.is_valid()).then_some(LinkFault::DualPi2Parameters),
            Self::Policer(bucket) | Self::Shaper(bucket) => {
                (!bucket.is_valid()).then_some(LinkFault::NoBucket)
            }
        }
    }
}

/// Packets whose waiting times (arrival to start of transmission) a link records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitRecording {
    /// No packets: there is no histogram.
    #[default]
    Off,
    /// TCP data packets.
    Data,
    /// TCP data packets of one flow. Useful if each flow has its own queue, because flows then wait differently.
    DataOf(FlowId),
    /// All packets.
    All,
}

impl LinkConfig {
    /// Creates a link without impairments, with an unlimited DropTail queue.
    #[must_use]
    pub const fn new(service: ServiceConfig, delay: Duration) -> Self {
        Self {
            service,
            delay,
            queue: QueueConfig {
                limit: QueueLimit::Unlimited,
                discipline: Discipline::DropTail,
            },
            losses: Vec::new(),
            impairments: ImpairmentConfig {
                jitter: None,
                reordering: None,
                duplication: None,
            },
            outages: Vec::new(),
            thin_acks: None,
            schedule: None,
            waits: WaitRecording::Off,
        }
    }

    /// Creates a link of constant rate without impairments.
    #[must_use]
    pub const fn rate(rate: BitRate, delay: Duration) -> Self {
        Self::new(ServiceConfig::Rate(rate), delay)
    }

    /// Creates a link without impairments that only delays packets.
    #[must_use]
    pub const fn pure_delay(delay: Duration) -> Self {
        Self::new(ServiceConfig::Unlimited, delay)
    }

    /// Sets the size of the buffer.
    #[must_use]
    pub fn with_queue(mut self, limit: QueueLimit) -> Self {
        self.queue.limit = limit;
        self
    }

    /// Sets the queue discipline to random early detection.
    #[must_use]
    pub fn with_red(mut self, red: RedConfig) -> Self {
        self.queue.discipline = Discipline::Red(red);
        self
    }

    /// Sets the queue discipline.
    #[must_use]
    pub const fn with_discipline(mut self, discipline: Discipline) -> Self {
        self.queue.discipline = discipline;
        self
    }

    /// Adds a loss model before the queue, which applies to every packet.
    #[must_use]
    pub fn with_loss(mut self, model: LossModel) -> Self {
        self.losses.push(LossConfig {
            model,
            placement: LossPlacement::BeforeQueue,
            filter: PacketFilter::All,
        });
        self
    }

    /// Adds a random loss of probability `p` before the queue.
    #[must_use]
    pub fn with_bernoulli(self, p: Probability) -> Self {
        self.with_loss(LossModel::Bernoulli(p))
    }

    /// Enables the histogram of waiting times.
    #[must_use]
    pub fn recording_waits(mut self, waits: WaitRecording) -> Self {
        self.waits = waits;
        self
    }

    /// Returns `true` if packets may be reordered.
    pub(super) fn reorders(&self) -> bool {
        let overtaking = |schedule: &ScheduleConfig| schedule.order == JitterOrder::Overtaking;
        self.impairments.reorders() || self.schedule.as_ref().is_some_and(overtaking)
    }

    /// Returns the fault in this configuration, if there is one.
    #[must_use]
    pub fn fault(&self) -> Option<LinkFault> {
        if matches!(
            self.queue.limit,
            QueueLimit::Packets(0) | QueueLimit::Bytes(0)
        ) {
            return Some(LinkFault::NoBuffer);
        }
        if let Some(schedule) = &self.schedule {
            let loses = schedule.steps.iter().any(|s| s.queued == Queued::Lost);
            if !matches!(self.service, ServiceConfig::Rate(_)) {
                return Some(LinkFault::ScheduleWithoutRate);
            }
            if !schedule.is_valid() {
                return Some(LinkFault::ScheduleParameters);
            }
            if loses && self.queue.discipline.is_managed() {
                return Some(LinkFault::ManagedAndLost);
            }
        }
        let fault = self.queue.discipline.fault();
        if fault.is_some() || self.service != ServiceConfig::Unlimited {
            return fault;
        }
        match self.queue.discipline {
            Discipline::Red(_) => Some(LinkFault::RedWithoutQueue),
            _ if self.queue.discipline.is_managed() => Some(LinkFault::ManagedWithoutQueue),
            _ => None,
        }
    }
}

/// Reason why a link cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkFault {
    /// The queue limit is zero.
    NoBuffer,
    /// RED's thresholds, probability or weight are out of range.
    RedParameters,
    /// RED is used on a link whose queue is always empty.
    RedWithoutQueue,
    /// A managed queue is used on a link whose queue is always empty.
    ManagedWithoutQueue,
    /// CoDel's target or interval is out of range.
    CoDelParameters,
    /// FQ-CoDel's quantum, number of queues or drop batch, or its CoDel parameters, are out of range.
    FqCoDelParameters,
    /// PIE's times, weights or probabilities are out of range.
    PieParameters,
    /// DualPI2's times, coupling factor or classic share are out of range.
    DualPi2Parameters,
    /// CAKE's times, quantum or numbers of queues are out of range.
    CakeParameters,
    /// The token bucket has size zero.
    NoBucket,
    /// A schedule is used on a link without a rate.
    ScheduleWithoutRate,
    /// Steps follow each other too fast, leave no time to transmit, or have an empty range.
    ScheduleParameters,
    /// A managed queue on a link with a step that loses waiting packets.
    ManagedAndLost,
}

impl LinkFault {
    /// Returns the fault and its remedy.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NoBuffer => "its queue limit is zero: give it room for at least one packet",
            Self::RedParameters => {
                "its RED parameters are invalid: expected 0 <= min < max, 0 < max_p <= 1, \
                 0 < w_q <= 1 and a mean packet size above zero"
            }
            Self::RedWithoutQueue => {
                "it has RED but transmits at once, so its queue is always empty: give it a rate"
            }
            Self::ManagedWithoutQueue => {
                "its queue is managed but it transmits at once, so the queue is always empty: give it a \
                 rate"
            }
            Self::CoDelParameters => {
                "its CoDel parameters are invalid: expected 0 < target <= interval"
            }
            Self::FqCoDelParameters => {
                "its FQ-CoDel parameters are invalid: expected 0 < target <= interval, a quantum \
                 and a batch above zero, and 1 to 65536 flows"
            }
            Self::PieParameters => {
                "its PIE parameters are invalid: expected a target, an update interval, alpha and \
                 beta above zero, probabilities from 0 to 1, and a threshold of 1 to 65536 bytes"
            }
            Self::DualPi2Parameters => {
                "its DualPI2 parameters are invalid: expected a target, a maximum round-trip time and \
                 an update interval above zero, a coupling of at least 1, and a classic share of \
                 at most a half"
            }
            Self::CakeParameters => {
                "its CAKE parameters are invalid: expected 0 < target <= interval, a quantum and ways \
                 above zero, and 1 to 65536 lines, a multiple of the ways"
            }
            Self::NoBucket => "its token bucket has size zero: give it a burst above zero",
            Self::ScheduleWithoutRate => {
                "it changes during the run but has no rate: give it a rate instead of a trace"
            }
            Self::ScheduleParameters => {
                "its changes are invalid: a repeated change needs an interval of at least 10 us and a \
                 gap shorter than the interval, and no maximum may be below its minimum"
            }
            Self::ManagedAndLost => {
                "a change loses the packets that wait in its managed queue: keep these packets, or give \
                 the link a FIFO"
            }
        }
    }
}
