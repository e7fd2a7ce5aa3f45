//! Transmitter of a link: constant rate, variable rate, recorded trace, or none.

use dupack_tcp::time::Instant;

use super::config::{LinkConfig, ServiceConfig, WaitRecording};
use super::extras::Extras;
use super::opportunity::OpportunityClock;
use super::rate::RateClock;
use super::schedule::ScheduledClock;
use super::transmission::Transmission;

/// The transmitter. All kinds are first-in first-out, so the times of a packet are known when it is accepted.
#[derive(Clone, Debug)]
pub(super) enum Service {
    Unlimited,
    /// Constant rate, on a link with only a rate, a delay and a queue.
    Plain(RateClock),
    /// Constant rate, on a plain link that records the waiting times of data packets.
    Timed(RateClock),
    /// Constant rate, on a link that drops, delays, copies or records packets in other ways.
    Rate(RateClock),
    /// Variable rate.
    Scheduled(Box<ScheduledClock>),
    Trace(OpportunityClock),
}

impl Service {
    pub(super) fn new(config: &LinkConfig) -> Self {
        match &config.service {
            ServiceConfig::Unlimited => Self::Unlimited,
            ServiceConfig::Rate(rate) => {
                if let Some(schedule) = &config.schedule {
                    let clock = ScheduledClock::new(schedule, *rate, config.delay);
                    return Self::Scheduled(Box::new(clock));
                }
                let clock = RateClock::new(*rate);
                match config.waits {
                    _ if Extras::wanted(config) => Self::Rate(clock),
                    WaitRecording::Off => Self::Plain(clock),
                    WaitRecording::Data | WaitRecording::DataOf(_) => Self::Timed(clock),
                    WaitRecording::All => Self::Rate(clock),
                }
            }
            ServiceConfig::Trace(trace) => Self::Trace(OpportunityClock::new(trace.clone())),
        }
    }

    /// Books a transmission of `bytes` for a packet offered at `now`. Calls must be in the order of time.
    #[inline(always)]
    pub(super) fn book(&mut self, now: Instant, bytes: u32) -> Transmission {
        match self {
            Self::Unlimited => Transmission {
                start: now,
                end: now,
            },
            Self::Plain(clock) | Self::Timed(clock) | Self::Rate(clock) => clock.book(now, bytes),
            Self::Scheduled(clock) => clock.book(now, bytes).transmission,
            Self::Trace(clock) => clock.book(now, bytes),
        }
    }

    /// Returns the time from which the transmitter is idle, as far as it is known.
    #[inline(always)]
    pub(super) fn idle_from(&self) -> Instant {
        match self {
            Self::Unlimited => Instant::ZERO,
            Self::Plain(clock) | Self::Timed(clock) | Self::Rate(clock) => clock.idle_from(),
            Self::Scheduled(clock) => clock.idle_from(),
            Self::Trace(clock) => clock.idle_from(),
        }
    }

    /// Returns the earliest time from `now` on at which the transmission of a packet that already waits may begin.
    pub(super) fn free_from(&mut self, now: Instant) -> Instant {
        match self {
            Self::Scheduled(clock) => clock.free_from(now),
            // An opportunity at `now` serves packets that already wait, so the search starts one nanosecond before.
            Self::Trace(clock) => clock.clone().book(moment_before(now), 1).start,
            _ => self.idle_from().max(now),
        }
    }

    /// Does the same as [`book`](Self::book), for a packet that already waits at `now`. `now` must be a time that
    /// [`free_from`](Self::free_from) returned.
    pub(super) fn book_waiting(&mut self, now: Instant, bytes: u32) -> Transmission {
        match self {
            Self::Trace(clock) => clock.book(moment_before(now), bytes),
            _ => self.book(now, bytes),
        }
    }

    /// Returns `true` if a packet offered at `now` would have to wait for its transmission to begin.
    #[inline(always)]
    pub(super) fn would_wait(&mut self, now: Instant) -> bool {
        match self {
            Self::Scheduled(clock) => clock.would_wait(now),
            Self::Unlimited => false,
            Self::Plain(clock) | Self::Timed(clock) | Self::Rate(clock) => clock.idle_from() > now,
            // Even an idle link waits for its next opportunity.
            Self::Trace(_) => true,
        }
    }
}

const fn moment_before(now: Instant) -> Instant {
    Instant::from_nanos(now.as_nanos().saturating_sub(1))
}
