//! Arrival of segments, as an ACK shows it at the sender, or the packet itself at the receiver.

use dupack_tcp::time::{Duration, Instant};

/// Segments whose arrival became known at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Time at which the arrival became known.
    pub at: Instant,
    /// Positions of the first and the last segment in the order of all transmissions.
    pub orders: (u64, u64),
    /// Number of segments.
    pub segments: u64,
    /// Bytes on the wire, headers included.
    pub bytes: u64,
    /// Departure times of the first and the last segment, on the clock that measures the delay.
    pub sent: (Instant, Instant),
    /// Offset of the last segment in the stream.
    pub start: u64,
    /// Delay of the last segment, including that of its ACK if the ACK shows the arrival; `None` if it is unknown.
    pub delay: Option<Duration>,
    /// Promptness of the report.
    pub news: News,
    /// Data still in flight at that time.
    pub rest: Rest,
}

/// Data in flight when an arrival becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// More data is in flight.
    More,
    /// No data is in flight: a receiver may have delayed the ACK of an odd segment because no other came (RFC 9293
    /// §3.8.6.3).
    Nothing,
}

/// Promptness of the report of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// As prompt as usual.
    AsAlways,
    /// Earlier data was missing: a receiver may delay the ACKs of later data, as Linux does by up to a millisecond
    /// (`tcp_comp_sack_delay_ns`).
    PerhapsHeld,
}

impl Delivery {
    /// Returns `true` if no transmission is missing between the first and the last, nor between `before` and the first.
    pub(super) const fn follows(&self, before: u64) -> bool {
        let (first, last) = self.orders;
        first == before + 1 && last - first + 1 == self.segments
    }
}
