//! What a link is made of: transmitter, delay, queue, losses, impairments, outages.

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

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinkConfig {
    /// How fast packets go out.
    pub service: ServiceConfig,
    /// Propagation delay, from the end of the transmission to the arrival.
    pub delay: Duration,
    /// How many packets may wait.
    pub queue: QueueConfig,
    /// Loss models; all are consulted for every packet.
    pub losses: Vec<LossConfig>,
    /// Jitter, reordering, duplication.
    pub impairments: ImpairmentConfig,
    /// When the link is down.
    pub outages: Vec<TimeWindow>,
    /// Of how many ACKs of a flow one passes; `None` if all do. An ACK that says more than how far
    /// the data came passes in any case.
    pub thin_acks: Option<u32>,
    /// How rate and delay change; only with a rate.
    pub schedule: Option<ScheduleConfig>,
    /// Whose waiting times go into the link's histogram.
    pub waits: WaitRecording,
}

/// How fast packets go out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceConfig {
    /// At once: a pure delay.
    Unlimited,
    /// At a constant rate.
    Rate(BitRate),
    /// At the opportunities of a recorded trace.
    Trace(DeliveryTrace),
}

/// How many packets may wait for their transmission to begin, and who is dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueConfig {
    /// The buffer. The packet in transmission is not in it.
    pub limit: QueueLimit,
    /// Who is dropped before the buffer is full.
    pub discipline: Discipline,
}

/// The size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// No limit. Memory then grows with an overload that does not react, such as datagrams.
    Unlimited,
    /// So many packets.
    Packets(u64),
    /// So many bytes.
    Bytes(u64),
}

/// Who is dropped before the buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Discipline {
    /// Nobody: packets are dropped when it is full, those that come then.
    #[default]
    DropTail,
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    CoDel(CoDelConfig),
    /// A line for each flow, with CoDel in each.
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced.
    Pie(PieConfig),
    /// Two lines, for L4S and for the rest, under a coupled controller.
    DualPi2(DualPi2Config),
    /// A token bucket that drops what does not conform, before a DropTail queue.
    Policer(TokenBucketConfig),
    /// A token bucket for which packets wait.
    Shaper(TokenBucketConfig),
    /// A shaper without bursts, fairness among hosts and flows, COBALT in each line.
    Cake(CakeConfig),
    /// Nobody but ACKs that still wait when a later one of their flow says more, and those that come
    /// when it is full.
    AckFilter,
}

impl Discipline {
    /// Whether the queue decides when packets leave, and not only when they come.
    #[must_use]
    pub const fn is_managed(&self) -> bool {
        !matches!(self, Self::DropTail | Self::Red(_) | Self::Policer(_))
    }

    /// What is wrong with its parameters, if anything is.
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

/// Whose waiting times (arrival to start of transmission) a link records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitRecording {
    /// Nobody's: there is no histogram.
    #[default]
    Off,
    /// TCP data packets'.
    Data,
    /// TCP data packets' of one flow: where each flow has a queue of its own, flows wait differently.
    DataOf(FlowId),
    /// Every packet's.
    All,
}

impl LinkConfig {
    /// A clean link with an unlimited DropTail queue.
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

    /// A clean link of constant rate.
    #[must_use]
    pub const fn rate(rate: BitRate, delay: Duration) -> Self {
        Self::new(ServiceConfig::Rate(rate), delay)
    }

    /// A clean link that only delays.
    #[must_use]
    pub const fn pure_delay(delay: Duration) -> Self {
        Self::new(ServiceConfig::Unlimited, delay)
    }

    /// This link with room for `limit`.
    #[must_use]
    pub fn with_queue(mut self, limit: QueueLimit) -> Self {
        self.queue.limit = limit;
        self
    }

    /// This link with random early detection.
    #[must_use]
    pub fn with_red(mut self, red: RedConfig) -> Self {
        self.queue.discipline = Discipline::Red(red);
        self
    }

    /// This link with another way to queue.
    #[must_use]
    pub const fn with_discipline(mut self, discipline: Discipline) -> Self {
        self.queue.discipline = discipline;
        self
    }

    /// This link with another loss model: before the queue, for every packet.
    #[must_use]
    pub fn with_loss(mut self, model: LossModel) -> Self {
        self.losses.push(LossConfig {
            model,
            placement: LossPlacement::BeforeQueue,
            filter: PacketFilter::All,
        });
        self
    }

    /// This link losing each packet with probability `p` before the queue.
    #[must_use]
    pub fn with_bernoulli(self, p: Probability) -> Self {
        self.with_loss(LossModel::Bernoulli(p))
    }

    /// This link with a histogram of waiting times.
    #[must_use]
    pub fn recording_waits(mut self, waits: WaitRecording) -> Self {
        self.waits = waits;
        self
    }

    /// Whether packets may arrive in another order than they were sent in.
    pub(super) fn reorders(&self) -> bool {
        let overtaking = |schedule: &ScheduleConfig| schedule.order == JitterOrder::Overtaking;
        self.impairments.reorders() || self.schedule.as_ref().is_some_and(overtaking)
    }

    /// What is wrong with this configuration, if anything is.
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

/// Why a link cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkFault {
    /// The queue limit is zero.
    NoBuffer,
    /// RED's thresholds, probability or weight are out of range.
    RedParameters,
    /// RED on a link whose queue is always empty.
    RedWithoutQueue,
    /// A managed queue on a link whose queue is always empty.
    ManagedWithoutQueue,
    /// CoDel's target or interval are out of range.
    CoDelParameters,
    /// FQ-CoDel's numbers or its CoDel are out of range.
    FqCoDelParameters,
    /// PIE's times, weights or probabilities are out of range.
    PieParameters,
    /// DualPI2's times, coupling or share are out of range.
    DualPi2Parameters,
    /// CAKE's times, quantum or lines are out of range.
    CakeParameters,
    /// A token bucket that holds nothing.
    NoBucket,
    /// Changes of a rate that the link does not have.
    ScheduleWithoutRate,
    /// Changes that follow each other too fast, leave no time to send, or draw from nothing.
    ScheduleParameters,
    /// A managed queue that is to lose what waits.
    ManagedAndLost,
}

impl LinkFault {
    /// What is wrong, and the remedy.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NoBuffer => "its queue holds nothing: give it room for at least one packet",
            Self::RedParameters => {
                "its RED parameters make no sense: they need 0 <= min < max, 0 < max_p <= 1, \
                 0 < w_q <= 1 and a mean packet size above zero"
            }
            Self::RedWithoutQueue => {
                "it has RED but transmits at once, so no queue ever builds: give it a rate"
            }
            Self::ManagedWithoutQueue => {
                "it manages its queue but transmits at once, so no queue ever builds: give it a rate"
            }
            Self::CoDelParameters => {
                "its CoDel parameters make no sense: they need 0 < target <= interval"
            }
            Self::FqCoDelParameters => {
                "its FQ-CoDel parameters make no sense: they need 0 < target <= interval, a quantum \
                 and a batch above zero, and 1 to 65536 flows"
            }
            Self::PieParameters => {
                "its PIE parameters make no sense: they need a target, an update interval, alpha and \
                 beta above zero, probabilities from 0 to 1, and a threshold of 1 to 65536 bytes"
            }
            Self::DualPi2Parameters => {
                "its DualPI2 parameters make no sense: they need a target, a longest round trip and \
                 an update interval above zero, a coupling of at least 1, and a classic share of \
                 at most a half"
            }
            Self::CakeParameters => {
                "its CAKE parameters make no sense: they need 0 < target <= interval, a quantum and ways \
                 above zero, and 1 to 65536 lines, a multiple of the ways"
            }
            Self::NoBucket => "its token bucket holds nothing: give it a burst above zero",
            Self::ScheduleWithoutRate => {
                "it changes in the course of the run, and has no rate that could: give it a rate \
                 instead of a trace"
            }
            Self::ScheduleParameters => {
                "its changes make no sense: what is repeated needs at least 10 us and gaps that are \
                 shorter than that, and the greatest rate or delay is no less than the least"
            }
            Self::ManagedAndLost => {
                "it loses what waits at a change, and its queue is managed: keep what waits, or give \
                 it a FIFO"
            }
        }
    }
}
