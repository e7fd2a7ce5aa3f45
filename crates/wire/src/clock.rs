//! Real time on the time axis of the endpoint and the links.
//!
//! The one place of this crate that looks at a clock. Everything else is handed the time.

use std::time::{SystemTime, UNIX_EPOCH};

use dupack_tcp::time::Instant;

/// A monotonic clock that starts at zero when it is made.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    origin: std::time::Instant,
}

impl WallClock {
    /// A clock that reads zero now. Copies of it agree.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "real packets move in real time, not in that of an event queue"
    )]
    pub fn start() -> Self {
        Self {
            origin: std::time::Instant::now(),
        }
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Instant {
        let nanos = self.origin.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The time of day when this clock read zero, in nanoseconds since 1970-01-01 00:00:00 UTC,
    /// as the system's clock has it now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "a capture file says when its packets were seen"
    )]
    pub fn unix_nanos_at_zero(&self) -> u64 {
        // Before 1970, or after 2554, it is anything.
        let today = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = today.unwrap_or_default().as_nanos();
        u64::try_from(nanos)
            .unwrap_or(u64::MAX)
            .saturating_sub(self.now().as_nanos())
    }
}
