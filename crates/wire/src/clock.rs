//! Real time on the time axis of the endpoint and the links.
//!
//! This is the only module of the crate that reads a clock. All other modules receive the time as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

use dupack_tcp::time::Instant;

/// Monotonic clock that starts at zero when it is created.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    origin: std::time::Instant,
}

impl WallClock {
    /// Creates a clock that reads zero now. Copies of the clock agree with it.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "real packets move in real time, not in the time of an event queue"
    )]
    pub fn start() -> Self {
        Self {
            origin: std::time::Instant::now(),
        }
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn now(&self) -> Instant {
        let nanos = self.origin.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the time of day at which this clock read zero, in nanoseconds since 1970-01-01 00:00:00 UTC, according
    /// to the current system clock.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "a capture file records the time of day of its packets"
    )]
    pub fn unix_nanos_at_zero(&self) -> u64 {
        // Before 1970 or after 2554, the result is arbitrary.
        let today = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = today.unwrap_or_default().as_nanos();
        u64::try_from(nanos)
            .unwrap_or(u64::MAX)
            .saturating_sub(self.now().as_nanos())
    }
}
