//! What arrived, as an ACK tells it at the sender, or the packet itself at the receiver.

use dupack_tcp::time::{Duration, Instant};

/// Segments of which it became known at once that they have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// When.
    pub at: Instant,
    /// The places of the first and the last of them in the order of all transmissions.
    pub orders: (u64, u64),
    /// How many there are.
    pub segments: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// When the first and the last of them left, on the clock by which the delay is measured.
    pub sent: (Instant, Instant),
    /// Where in the stream the last one begins.
    pub start: u64,
    /// How long the last one was under way, and its ACK if that is what tells; `None` if that is not known.
    pub delay: Option<Duration>,
}

impl Delivery {
    /// Whether none of the transmissions between the first and the last is missing, and none between
    /// `before` and the first.
    pub(super) const fn follows(&self, before: u64) -> bool {
        let (first, last) = self.orders;
        first == before + 1 && last - first + 1 == self.segments
    }
}
