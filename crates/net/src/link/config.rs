//! What a link is made of: transmitter, delay, queue, losses, impairments, outages.

use dupack_tcp::time::Duration;

use super::delivery_trace::DeliveryTrace;
use super::impairment::ImpairmentConfig;
use super::loss::{LossConfig, LossModel, LossPlacement, PacketFilter};
use super::outage::TimeWindow;
use super::red::RedConfig;
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
}

/// Whose waiting times (arrival to start of transmission) a link records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitRecording {
    /// Nobody's: there is no histogram.
    #[default]
    Off,
    /// TCP data packets'.
    Data,
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

    /// What is wrong with this configuration, if anything is.
    #[must_use]
    pub fn fault(&self) -> Option<LinkFault> {
        if matches!(
            self.queue.limit,
            QueueLimit::Packets(0) | QueueLimit::Bytes(0)
        ) {
            return Some(LinkFault::NoBuffer);
        }
        match self.queue.discipline {
            Discipline::Red(red) if !red.is_valid() => Some(LinkFault::RedParameters),
            Discipline::Red(_) if self.service == ServiceConfig::Unlimited => {
                Some(LinkFault::RedWithoutQueue)
            }
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
        }
    }
}
