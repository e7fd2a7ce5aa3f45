//! For how long nothing happened, and for how long a sender may be silent before its timer expires.

use dupack_tcp::rtt::RttEstimator;
use dupack_tcp::time::{Duration, Instant};

use super::lateness::Lateness;

/// The least timeout that any sender in common use has: Linux's `TCP_RTO_MIN` and ns-2's `minrto_`
/// (RFC 6298 §2.4 asks for a second). A twentieth is taken off for clocks that are not ours.
pub(super) const RTO_MIN: Duration = Duration::from_millis(190);

/// What the answer to an ACK may take on a host that answers at once, before anything is known of it
/// (ours: interrupt, stack and capture take tens of microseconds).
const PROMPT: Duration = Duration::from_micros(200);

/// An answer is still prompt if it takes this many times the usual.
const PROMPT_FACTOR: u64 = 3;

/// Weight of an answer that took longer than the usual one, as its inverse; a sooner one has half. What
/// is late is late for other reasons (ours).
const LATER_WEIGHT: u64 = 32;

/// What is taken for the round-trip time before there is a sample: the second that RFC 6298 §2.1 has
/// for the timeout then is at least three of them.
const RTT_UNKNOWN: Duration = Duration::from_millis(300);

/// When things happened last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    departed: Option<Instant>,
    arrived: Option<Arrived>,
    /// When the retransmission timer was certainly running anew: the cumulative ACK advanced,
    /// something was sent while nothing was outstanding, or a timer expired.
    base: Option<Instant>,
    /// How long an answer to an ACK usually takes.
    answer: Duration,
    distance: Distance,
    lateness: Lateness,
}

/// How far from the sender the capture was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Distance {
    /// An ACK is at the sender when it is captured.
    #[default]
    Here,
    /// It is under way after that, and what left the sender is captured later: by how much changes with
    /// the queues between them.
    Away,
}

/// An ACK that comes to the sender later than this after it was captured was captured away from it
/// (ours: more than any host takes, less than any path that queues).
const AWAY: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
struct Arrived {
    at: Instant,
    /// How long after the one before.
    after: Duration,
    packet: u64,
    answered: bool,
}

/// How an event lies in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// When the segment left, as far as that is known.
    pub at: Instant,
    /// Whether it is known that well where the capture was not taken at the sender.
    pub departure: Known,
    /// Since the last ACK or segment.
    pub silence: Duration,
    /// Since the timer was last started anew.
    pub since_base: Duration,
    /// The ACK that it answers at once, if it does.
    pub answers: Option<u64>,
    /// How long after the ACK before that the last one came.
    pub between_acks: Duration,
    /// The last ACK before it.
    pub last_ack: Option<u64>,
    pub rtt: Rtt,
    pub distance: Distance,
}

/// Whether the time of a departure is known, away from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is, or was captured at the sender.
    Yes,
    /// It is late by the queues on the way.
    LateByQueues,
}

/// What is known of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    pub smoothed: Duration,
    pub least: Duration,
    /// No timer of a sender expires sooner.
    pub rto_least: Duration,
}

impl Rtt {
    fn of(estimator: &RttEstimator, late: Duration) -> Self {
        // Away from the sender the way of the segments is not in the samples.
        let smoothed = estimator.srtt().unwrap_or(RTT_UNKNOWN) + late;
        // Half the variance term: senders sample differently, and never know more than we do.
        let rto_least = (smoothed + estimator.rttvar() * 2).max(RTO_MIN);
        Self {
            smoothed,
            least: estimator.min().unwrap_or(smoothed),
            rto_least,
        }
    }
}

impl Clock {
    /// How a departure at `at` lies in time, before it is taken note of.
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

    /// Something left at `at`; `srtt` tells late answers from none.
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

    /// An ACK came, so long after it was captured.
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

    /// Whether the capture was taken away from the sender.
    pub fn is_away(&self) -> bool {
        self.distance == Distance::Away
    }

    /// The retransmission timer was started anew.
    pub fn restarted(&mut self, at: Instant) {
        self.base = Some(at);
    }
}
