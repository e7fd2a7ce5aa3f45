//! Packets that wait for their transmission to begin. The queue limit applies to these packets.
//!
//! The packet in transmission is not included, as in ns-2: a link with a limit of *n* packets holds *n* + 1. A packet
//! whose transmission begins at the current nanosecond no longer waits.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

/// Waiting packets, first-in first-out. Their departure times are known in advance, so the backlog removes departed
/// packets when it is queried.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Instant,
    bytes: u32,
}

impl Backlog {
    /// Removes the packets whose transmission has begun at `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant) {
        while let Some(first) = self.waiting.front() {
            if first.start > now {
                return;
            }
            self.bytes -= u64::from(first.bytes);
            self.waiting.pop_front();
        }
    }

    /// Adds a packet whose transmission begins at `start`.
    #[inline]
    pub(super) fn push(&mut self, start: Instant, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.waiting.push_back(Waiting { start, bytes });
    }

    /// Returns the number of waiting packets.
    pub(super) fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Returns the number of waiting bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
