//! Durations between events, and the minimum time after which a sender's timer expires.

use dupack_tcp::rtt::RttEstimator;
use dupack_tcp::time::{Duration, Instant};

use super::lateness::Lateness;

/// Minimum timeout of common senders: Linux's `TCP_RTO_MIN` and ns-2's `minrto_` (RFC 6298 §2.4 requires one second).
/// It is reduced by a twentieth, because the sender's clock may differ from the clock of the capture.
pub(super) const RTO_MIN: Duration = Duration::from_millis(190);

/// Assumed time of a prompt response to an ACK before any measurement (our choice: interrupt, stack and capture take
/// tens of microseconds).
const PROMPT: Duration = Duration::from_micros(200);

/// Maximum time of a prompt response, as a multiple of the usual response time; [`PROMPT`] is added to it.
const PROMPT_FACTOR: u64 = 3;

/// Inverse of the weight of a response that took longer than usual. A faster response has the weight 1/2. Late
/// responses have a small weight, because an ACK may not be their cause (our choice).
const LATER_WEIGHT: u64 = 32;

/// Assumed round-trip time before the first sample. The initial timeout of one second (RFC 6298 §2.1) is at least three
/// times as long.
const RTT_UNKNOWN: Duration = Duration::from_millis(300);

/// Times of the last events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    departed: Option<Instant>,
    arrived: Option<Arrived>,
    /// Last time at which the retransmission timer certainly restarted: the cumulative ACK advanced, data was sent
    /// while no data was outstanding, or a timer expired.
    base: Option<Instant>,
    /// Usual time from an ACK to the response.
    answer: Duration,
    distance: Distance,
    lateness: Lateness,
}

/// Distance of the capture point from the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Distance {
    /// The capture point is at the sender: an ACK arrives at the time when it is captured.
    #[default]
    Here,
    /// The capture point is away from the sender: a captured ACK is still in transit, and a segment is captured after
    /// it was sent. This delay varies because of queues on the path.
    Away,
}

/// Time from the capture of an ACK to its arrival at the sender above which the ACK was captured away from the sender
/// (our choice: a host takes less time, and a path with queues takes more).
const AWAY: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: Instant,
    /// Time since the previous ACK.
    after: Duration,
    packet: u64,
    answered: bool,
}

/// Times that relate a departure to earlier events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Time at which the segment was sent, as far as it is known.
    pub at: Instant,
    /// Accuracy of `at` if the capture was not taken at the sender.
    pub departure: Known,
    /// Time since the last ACK or segment.
    pub silence: Duration,
    /// Time since the last restart of the timer.
    pub since_base: Duration,
    /// Packet number of the ACK to which the segment is a prompt response; `None` if there is none.
    pub answers: Option<u64>,
    /// Time between the last ACK and the previous one.
    pub between_acks: Duration,
    /// Packet number of the last ACK.
    pub last_ack: Option<u64>,
    pub rtt: Rtt,
    pub distance: Distance,
}

/// Accuracy of a departure time in a capture away from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The time is known, or the segment was captured at the sender.
    Yes,
    /// The time includes the delay of queues on the path.
    LateByQueues,
}

/// Estimates of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    pub smoothed: Duration,
    pub least: Duration,
    /// Lower bound of the sender's timeouts.
    pub rto_least: Duration,
}

impl Rtt {
    fn of(estimator: &RttEstimator, late: Duration) -> Self {
        // Away from the sender, the samples do not include the delay of segments from the sender to the capture point.
        let smoothed = estimator.srtt().unwrap_or(RTT_UNKNOWN) + late;
        // Only half of the variance term is used, because senders take different samples, and never know more than the
        // capture shows.
        let rto_least = (smoothed + estimator.rttvar() * 2).max(RTO_MIN);
        Self {
            smoothed,
            least: estimator.min().unwrap_or(smoothed),
            rto_least,
        }
    }
}

impl Clock {
    /// Returns the times of a departure at `at`. The departure must not have been recorded.
    pub fn timing(&mut self, at: Instant, stamp: Option<u32>, rtt: &RttEstimator) -> Timing {
        let late = self.lateness.of(at, stamp);
        let (late, departure) = match (self.distance, late) {
            (Distance::Here, _) => (Duration::ZERO, Known::Yes),
            (Distance::Away, Some(late)) => (late, Known::Yes),
            (Distance::Away, None) => (Duration::ZERO, Known::LateByQueues),
        };
        let at = at - late;
        let since_arrival = self.arrived.map(|arrived| at.since(arrived.at));
        let since_departure = self.departed.map(|departed| at.since(departed));
        let silence = match (since_arrival, since_departure) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other).unwrap_or(Duration::ZERO),
        };
        let prompt = |arrived: &Arrived| at.since(arrived.at) <= self.prompt();
        Timing {
            at,
            departure,
            silence,
            since_base: self.base.map_or(Duration::ZERO, |base| at.since(base)),
            answers: self.arrived.filter(prompt).map(|arrived| arrived.packet),
            between_acks: self.arrived.map_or(Duration::MAX, |arrived| arrived.after),
            last_ack: self.arrived.map(|arrived| arrived.packet),
            rtt: Rtt::of(rtt, late),
            distance: self.distance,
        }
    }

    fn prompt(&self) -> Duration {
        PROMPT + self.answer.saturating_mul(PROMPT_FACTOR)
    }

    /// Records a departure at `at`. The time of a response is limited by `srtt`.
    pub fn departed(&mut self, at: Instant, srtt: Option<Duration>) {
        self.departed = Some(at);
        let Some(arrived) = self.arrived.as_mut().filter(|arrived| !arrived.answered) else {
            return;
        };
        arrived.answered = true;
        let took = at.since(arrived.at);
        if took <= srtt.unwrap_or(RTT_UNKNOWN) / 2 {
            let weight = if took < self.answer { 2 } else { LATER_WEIGHT };
            self.answer = self.answer - self.answer / weight + took / weight;
        }
    }

    /// Records an ACK that reached the sender `under_way` after it was captured.
    pub fn arrived(&mut self, at: Instant, packet: u64, under_way: Duration) {
        self.distance = if under_way > AWAY {
            Distance::Away
        } else {
            Distance::Here
        };
        let before = self.arrived.map(|arrived| arrived.at);
        self.arrived = Some(Arrived {
            at,
            after: before.map_or(Duration::MAX, |before| at.since(before)),
            packet,
            answered: false,
        });
    }

    /// `true` if the capture was taken away from the sender.
    pub fn is_away(&self) -> bool {
        self.distance == Distance::Away
    }

    /// Records a restart of the retransmission timer.
    pub fn restarted(&mut self, at: Instant) {
        self.base = Some(at);
    }
}
