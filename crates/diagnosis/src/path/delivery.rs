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
    /// Whether the receiver may have held back what tells of it.
    pub news: News,
    /// Whether more was under way by then.
    pub rest: Rest,
}

/// Whether more is under way when it becomes known that something has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// There is.
    More,
    /// There is not: a receiver may have held back the ACK of an odd segment, as no other came (RFC 9293 §3.8.6.3).
    Nothing,
}

/// How soon it becomes known that something has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// As soon as always.
    AsAlways,
    /// Something before it was missing: a receiver may hold back the ACKs of what comes then, as Linux does for up to
    /// a millisecond (`tcp_comp_sack_delay_ns`).
    PerhapsHeld,
}

impl Delivery {
    /// Whether none of the transmissions between the first and the last is missing, and none between
    /// `before` and the first.
    pub(super) const fn follows(&self, before: u64) -> bool {
        let (first, last) = self.orders;
        first == before + 1 && last - first + 1 == self.segments
    }
}
