//! Links that change during a run: steps of rate and delay, gaps, and a duty cycle.
//!
//! A [`Step`] consists of its time, its repetition, and the new values. During a gap, no packet leaves: packets wait
//! for the end of the gap. This covers three properties of current paths:
//!
//! * a sudden change of the path, as RFC 9743 requires: a step of rate or delay;
//! * a handover: a step with a gap, which may lose waiting packets. Repeated, with a new random delay
//!   each time, it models Starlink, whose terminals change satellites every 15 s
//!   (G. Huston, "A Transport Protocol's View of Starlink", The ISP Column, May 2024);
//! * a duty cycle: a gap in every period.
//!
//! All changes of a link are known in advance, so the departure of a packet is still known when it is accepted, and the
//! link needs no events. A packet that is in transmission when the rate changes continues at the new rate. Its
//! propagation delay is the delay of the link at the time when its last bit leaves. Times are exact: fractions of a
//! nanosecond are carried to the next packet.

use dupack_tcp::time::{Duration, Instant};

use super::impairment::JitterOrder;
use super::transmission::Transmission;
use crate::random::Stream;
use crate::units::BitRate;

/// Changes of a link during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleConfig {
    /// Steps. Steps at the same time happen in the order of this list.
    pub steps: Vec<Step>,
    /// Order of packets after a step to a shorter delay: they arrive in order, or later packets overtake.
    pub order: JitterOrder,
    /// Seed of the steps' random values. Both directions of a wire have the same seed, so that they change in the same
    /// way.
    pub draws: u64,
}

/// A change of a link at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Time of the first occurrence.
    pub at: Instant,
    /// Interval after which the step repeats; `None` if it does not.
    pub every: Option<Duration>,
    /// New rate; `None` if it does not change.
    pub rate: Option<Span<BitRate>>,
    /// New propagation delay; `None` if it does not change.
    pub delay: Option<Span<Duration>>,
    /// Duration in which no packet leaves.
    pub gap: Duration,
    /// Fate of packets that have not left the link.
    pub queued: Queued,
}

/// Range of values, from which a value is drawn uniformly at each use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// Minimum.
    pub min: T,
    /// Maximum.
    pub max: T,
}

impl<T: Copy> Span<T> {
    /// Creates a range that contains only `value`.
    #[must_use]
    pub const fn of(value: T) -> Self {
        Self {
            min: value,
            max: value,
        }
    }
}

/// Fate of packets that wait or are in transmission when a step happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queued {
    /// The packets leave later.
    #[default]
    Kept,
    /// The packets are lost.
    Lost,
}

impl Step {
    /// Creates a step at `at` that changes nothing.
    #[must_use]
    pub const fn at(at: Instant) -> Self {
        Self {
            at,
            every: None,
            rate: None,
            delay: None,
            gap: Duration::ZERO,
            queued: Queued::Kept,
        }
    }
}

impl ScheduleConfig {
    /// Creates a schedule of `steps` after which packets keep their order.
    #[must_use]
    pub const fn new(steps: Vec<Step>) -> Self {
        Self {
            steps,
            order: JitterOrder::Preserved,
            draws: 0,
        }
    }

    /// Returns a step for a link that transmits only during the first `on` of every `period`.
    #[must_use]
    pub fn duty(period: Duration, on: Duration) -> Step {
        Step {
            every: Some(period),
            gap: period.saturating_sub(on),
            ..Step::at(Instant::ZERO + on)
        }
    }

    /// Returns `true` if the schedule is valid: repeated steps have a minimum interval and leave time to transmit.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let repeated = || self.steps.iter().filter_map(|s| Some((s, s.every?)));
        let shut: f64 = repeated()
            .map(|(step, every)| step.gap.as_secs_f64() / every.as_secs_f64())
            .sum();
        let spans = self.steps.iter().all(|step| {
            step.rate.is_none_or(|rate| rate.min <= rate.max)
                && step.delay.is_none_or(|delay| delay.min <= delay.max)
        });
        spans && shut < 1.0 && repeated().all(|(_, every)| every >= SHORTEST_PERIOD)
    }
}

/// Minimum interval after which a step may repeat, because steps are processed one by one.
const SHORTEST_PERIOD: Duration = Duration::from_micros(10);

/// Work of one byte: with a rate of 1 bit/s, one unit of work is done per nanosecond, so one bit takes 10⁹ units.
const WORK_PER_BYTE: u128 = 8_000_000_000;

/// Transmitter with a variable rate, and the delay behind it.
#[derive(Clone, Debug)]
pub(super) struct ScheduledClock {
    walk: Walk,
    /// Initial state, for computing the capacity of the link.
    start: Walk,
    order: JitterOrder,
    /// Time from which the transmitter is idle, in whole nanoseconds.
    idle_from: Instant,
    /// Work that is carried over to the next packet, less than the work of one nanosecond.
    rest: u128,
    /// Time of the last step that loses packets, among the steps that booked packets have reached.
    cleared: Instant,
    last_arrival: Instant,
}

/// Schedule of a packet that the link has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Booked {
    pub(super) transmission: Transmission,
    pub(super) arrival: Instant,
    /// `true` if a step loses the packet before it has left.
    pub(super) lost: bool,
}

impl ScheduledClock {
    pub(super) fn new(config: &ScheduleConfig, rate: BitRate, delay: Duration) -> Self {
        let walk = Walk::new(config, rate, delay);
        Self {
            start: walk.clone(),
            walk,
            order: config.order,
            idle_from: Instant::ZERO,
            rest: 0,
            cleared: Instant::ZERO,
            last_arrival: Instant::ZERO,
        }
    }

    pub(super) const fn idle_from(&self) -> Instant {
        self.idle_from
    }

    /// Returns `true` if a packet offered at `now` has to wait.
    pub(super) fn would_wait(&mut self, now: Instant) -> bool {
        if self.idle_from > now {
            return true;
        }
        self.walk.go_to(now);
        self.walk.shut_until > now
    }

    /// Returns the earliest time from `now` on at which a transmission may begin, for a link that keeps waiting
    /// packets.
    pub(super) fn free_from(&mut self, now: Instant) -> Instant {
        let mut free = self.idle_from.max(now);
        loop {
            self.walk.go_to(free);
            let open = self.walk.shut_until.max(free);
            if open == free {
                return free;
            }
            free = open;
        }
    }

    /// Books a transmission of `bytes` offered at `now`.
    pub(super) fn book(&mut self, now: Instant, bytes: u32) -> Booked {
        if now < self.cleared {
            return self.lose(self.cleared, self.cleared);
        }
        if now > self.idle_from {
            self.idle_from = now;
            self.rest = 0;
        }
        let mut here = self.idle_from;
        let mut work = u128::from(bytes) * WORK_PER_BYTE + self.rest;
        let mut start = None;
        loop {
            if let Some(cleared) = self.walk.go_to(here)
                && now < cleared
            {
                return self.lose(start.unwrap_or(cleared), cleared);
            }
            let until = self.walk.next_change(here);
            if self.walk.shut_until <= here {
                let begun = *start.get_or_insert(here);
                let rate = u128::from(self.walk.rate);
                if work <= rate * u128::from(until.since(here).as_nanos()) {
                    let nanos = u64::try_from(work / rate).unwrap_or(u64::MAX);
                    let end = here + Duration::from_nanos(nanos);
                    self.idle_from = end;
                    self.rest = work % rate;
                    return self.arrive(begun, end);
                }
                work -= rate * u128::from(until.since(here).as_nanos());
            }
            if until == Instant::FAR_FUTURE {
                return self.arrive(until, until);
            }
            here = until;
        }
    }

    /// Returns the arrival time of a packet whose last bit has just left.
    pub(super) fn arrival_of(&mut self, transmission: Transmission) -> Instant {
        self.arrive(transmission.start, transmission.end).arrival
    }

    /// Books a packet that a step at `cleared` loses.
    fn lose(&mut self, start: Instant, cleared: Instant) -> Booked {
        self.cleared = cleared;
        self.idle_from = cleared;
        self.rest = 0;
        Booked {
            lost: true,
            ..self.arrive(start, cleared)
        }
    }

    fn arrive(&mut self, start: Instant, end: Instant) -> Booked {
        let mut arrival = end + self.walk.delay;
        if self.order == JitterOrder::Preserved {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        Booked {
            transmission: Transmission { start, end },
            arrival,
            lost: false,
        }
    }

    /// Returns the mean capacity of the link from `from` to `to`, in bit/s.
    pub(super) fn mean_rate_bps(&self, from: Instant, to: Instant) -> f64 {
        let mut walk = self.start.clone();
        let (mut here, mut bits) = (from, 0.0);
        while here < to {
            walk.go_to(here);
            let until = walk.next_change(here).min(to);
            if walk.shut_until <= here {
                bits += walk.rate as f64 * until.since(here).as_secs_f64();
            }
            here = until;
        }
        bits / to.since(from).as_secs_f64()
    }
}

/// State of the link at the current time.
#[derive(Clone, Debug)]
struct Walk {
    steps: Vec<Pending>,
    rate: u64,
    delay: Duration,
    shut_until: Instant,
}

#[derive(Clone, Debug)]
struct Pending {
    step: Step,
    next: Instant,
    /// Rates and delays have separate streams: a direction that uses only one of them draws the same values for it.
    rates: Stream,
    delays: Stream,
}

impl Walk {
    fn new(config: &ScheduleConfig, rate: BitRate, delay: Duration) -> Self {
        let steps = config.steps.iter().enumerate().map(|(n, step)| Pending {
            step: *step,
            next: step.at,
            rates: Stream::derive(config.draws, &format!("rate of step {n}")),
            delays: Stream::derive(config.draws, &format!("delay of step {n}")),
        });
        Self {
            steps: steps.collect(),
            rate: rate.as_bps(),
            delay,
            shut_until: Instant::ZERO,
        }
    }

    /// Applies all steps up to `now`. Returns the time of the first of these steps that loses waiting packets.
    fn go_to(&mut self, now: Instant) -> Option<Instant> {
        let mut cleared = None;
        while let Some(n) = self.first_due(now) {
            let pending = &mut self.steps[n];
            let at = pending.next;
            pending.next = match pending.step.every {
                Some(every) => at + every,
                None => Instant::FAR_FUTURE,
            };
            let step = pending.step;
            if let Some(rate) = step.rate {
                let more = rate.max.as_bps() - rate.min.as_bps();
                self.rate = rate.min.as_bps() + pending.rates.below(more.saturating_add(1));
            }
            if let Some(delay) = step.delay {
                self.delay = pending.delays.between(delay.min, delay.max);
            }
            self.shut_until = self.shut_until.max(at + step.gap);
            if step.queued == Queued::Lost {
                cleared = cleared.or(Some(at));
            }
        }
        cleared
    }

    /// Returns the index of the next step, if it is due.
    fn first_due(&self, now: Instant) -> Option<usize> {
        let steps = self.steps.iter().enumerate();
        let due = steps.filter(|(_, pending)| pending.next <= now);
        due.min_by_key(|(_, pending)| pending.next).map(|(n, _)| n)
    }

    /// Returns the time of the next change after `here`.
    fn next_change(&self, here: Instant) -> Instant {
        let next = self.steps.iter().map(|pending| pending.next).min();
        let next = next.unwrap_or(Instant::FAR_FUTURE);
        if self.shut_until > here {
            next.min(self.shut_until)
        } else {
            next
        }
    }
}

#[cfg(test)]
mod tests;
