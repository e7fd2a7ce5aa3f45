//! The packets that wait for their transmission to begin: what a queue limit counts.
//!
//! The packet in transmission is not among them, as in ns-2: a link with a limit of *n* packets
//! holds *n* + 1. A packet whose transmission begins at this very nanosecond no longer waits.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

/// Waiting packets, first-in first-out. Their departures are known in advance, so nobody has to
/// tell the backlog that one has left: it looks when it is asked.
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
    /// Forgets the packets whose transmission has begun at `now`.
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

    /// Packets waiting.
    pub(super) fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Bytes waiting.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
