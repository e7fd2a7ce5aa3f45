//! What a link's transmitter does with time: constant rate, recorded trace, or none at all.

use dupack_tcp::time::Instant;

use super::ServiceConfig;
use super::opportunity::OpportunityClock;
use super::rate::RateClock;

/// When a packet is on the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// When its first bit goes out.
    pub(crate) start: Instant,
    /// When its last bit is out.
    pub(crate) end: Instant,
}

/// The transmitter. All kinds serve first-in first-out, so a packet's times are known when it
/// is accepted.
#[derive(Clone, Debug)]
pub(super) enum Service {
    Unlimited,
    Rate(RateClock),
    Trace(OpportunityClock),
}

impl Service {
    pub(super) fn new(config: &ServiceConfig) -> Self {
        match config {
            ServiceConfig::Unlimited => Self::Unlimited,
            ServiceConfig::Rate(rate) => Self::Rate(RateClock::new(*rate)),
            ServiceConfig::Trace(trace) => Self::Trace(OpportunityClock::new(trace.clone())),
        }
    }

    /// Books a transmission of `bytes` for a packet offered at `now`; calls come in the order
    /// of time.
    pub(super) fn book(&mut self, now: Instant, bytes: u32) -> Transmission {
        match self {
            Self::Unlimited => Transmission {
                start: now,
                end: now,
            },
            Self::Rate(clock) => clock.book(now, bytes),
            Self::Trace(clock) => clock.book(now, bytes),
        }
    }

    /// The instant from which the transmitter has nothing to do, as far as is known.
    pub(super) fn idle_from(&self) -> Instant {
        match self {
            Self::Unlimited => Instant::ZERO,
            Self::Rate(clock) => clock.idle_from(),
            Self::Trace(clock) => clock.idle_from(),
        }
    }

    /// Whether a packet offered at `now` would have to wait for its transmission to begin.
    pub(super) fn would_wait(&self, now: Instant) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Rate(clock) => clock.idle_from() > now,
            // Even an idle link waits for its next opportunity.
            Self::Trace(_) => true,
        }
    }
}
