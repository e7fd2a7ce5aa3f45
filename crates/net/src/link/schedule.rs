//! A link that changes while it runs: steps of its rate and its delay, gaps, and a duty cycle.
//!
//! A [`Step`] says when it happens, whether it happens again, and what is other from then on. A gap is
//! a time in which nothing leaves: packets wait for its end. So three things of today's paths are one:
//!
//! * a sudden change of the path, which RFC 9743 asks for: a step of rate or delay;
//! * a handover: a step with a gap, which may lose what waits; repeated, with the new delay drawn anew
//!   each time, it is the grid that is seen on Starlink, whose terminals change satellites every 15 s
//!   (G. Huston, "A Transport Protocol's View of Starlink", The ISP Column, May 2024);
//! * a duty cycle: a gap in every period.
//!
//! The whole course of a link is known beforehand, so a packet's departure still is when it is
//! accepted, and the link needs no event of its own. A packet that is in transmission when the rate
//! changes goes on at the new one. Its propagation delay is that of the moment in which its last bit
//! leaves. Times are exact: what a transmission leaves of a nanosecond is carried to the next packet.

use dupack_tcp::time::{Duration, Instant};

use super::impairment::JitterOrder;
use super::transmission::Transmission;
use crate::random::Stream;
use crate::units::BitRate;

/// The changes of a link in the course of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleConfig {
    /// What happens; of what happens at the same time, what stands first comes first.
    pub steps: Vec<Step>,
    /// Whether packets that leave after a step to a shorter delay overtake those that left before.
    pub order: JitterOrder,
    /// What the steps' random values depend on. Both directions of a wire have the same, so that
    /// they change alike.
    pub draws: u64,
}

/// What happens to a link at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// When it happens first.
    pub at: Instant,
    /// After how long it happens again, and again; `None` if it does not.
    pub every: Option<Duration>,
    /// The rate from then on; `None` if it stays.
    pub rate: Option<Span<BitRate>>,
    /// The propagation delay from then on; `None` if it stays.
    pub delay: Option<Span<Duration>>,
    /// For how long nothing leaves.
    pub gap: Duration,
    /// What becomes of what has not left.
    pub queued: Queued,
}

/// A value between two, drawn evenly each time that it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// The least.
    pub min: T,
    /// The greatest.
    pub max: T,
}

impl<T: Copy> Span<T> {
    /// Always `value`.
    #[must_use]
    pub const fn of(value: T) -> Self {
        Self {
            min: value,
            max: value,
        }
    }
}

/// What becomes of packets that wait or are in transmission when a step happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queued {
    /// They leave later.
    #[default]
    Kept,
    /// They are lost.
    Lost,
}

impl Step {
    /// Nothing, at `at`.
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
    /// These steps, after which packets keep their order.
    #[must_use]
    pub const fn new(steps: Vec<Step>) -> Self {
        Self {
            steps,
            order: JitterOrder::Preserved,
            draws: 0,
        }
    }

    /// A link that lets packets leave for the first `on` of every `period`.
    #[must_use]
    pub fn duty(period: Duration, on: Duration) -> Step {
        Step {
            every: Some(period),
            gap: period.saturating_sub(on),
            ..Step::at(Instant::ZERO + on)
        }
    }

    /// Whether it can be: steps that are repeated take time, and leave time in which packets leave.
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

/// The least time after which a step may happen again: steps are walked through one by one.
const SHORTEST_PERIOD: Duration = Duration::from_micros(10);

/// A bit that leaves at 1 bit/s takes 10⁹ of these: what a rate of 1 bit/s does in a nanosecond.
const WORK_PER_BYTE: u128 = 8_000_000_000;

/// A transmitter whose rate changes, and the delay behind it.
#[derive(Clone, Debug)]
pub(super) struct ScheduledClock {
    walk: Walk,
    /// As it was at the start: for what the link could have carried.
    start: Walk,
    order: JitterOrder,
    /// The transmitter has nothing to do from here on …
    idle_from: Instant,
    /// … but for a part of a nanosecond's work.
    rest: u128,
    /// The last step that loses what has not left by then, of those that somebody waits for.
    cleared: Instant,
    last_arrival: Instant,
}

/// What a link does with a packet that it has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Booked {
    pub(super) transmission: Transmission,
    pub(super) arrival: Instant,
    /// Whether a step takes it before it has left.
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

    /// Whether a packet offered at `now` has to wait.
    pub(super) fn would_wait(&mut self, now: Instant) -> bool {
        if self.idle_from > now {
            return true;
        }
        self.walk.go_to(now);
        self.walk.shut_until > now
    }

    /// When a transmission may begin, at `now` or later: of a link that keeps what waits.
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

    /// When a packet whose last bit has just left arrives.
    pub(super) fn arrival_of(&mut self, transmission: Transmission) -> Instant {
        self.arrive(transmission.start, transmission.end).arrival
    }

    /// A packet that a step at `cleared` takes.
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

    /// What the link can carry on average from `from` to `to`, in bit/s.
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

/// The state of the link at a time that moves on.
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
    /// One for the rate and one for the delay: a direction that has no part in the one draws the
    /// same of the other.
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

    /// Does all that happens by `now`. The time of the first step of these that loses what waits.
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

    /// The step that happens next, if it is due.
    fn first_due(&self, now: Instant) -> Option<usize> {
        let steps = self.steps.iter().enumerate();
        let due = steps.filter(|(_, pending)| pending.next <= now);
        due.min_by_key(|(_, pending)| pending.next).map(|(n, _)| n)
    }

    /// When something is other than at `here`.
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
