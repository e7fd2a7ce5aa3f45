//! Arrival of segments. In a capture at the sender, an ACK reports the arrival. In a capture at the receiver, the
//! captured packet is the arrival.

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
    /// Size on the wire in bytes, including headers.
    pub bytes: u64,
    /// Departure times of the first and the last segment, on the clock that measures the delay.
    pub sent: (Instant, Instant),
    /// Offset of the last segment in the stream.
    pub start: u64,
    /// Delay of the last segment, including the delay of its ACK if an ACK reported the arrival; `None` if it is
    /// unknown.
    pub delay: Option<Duration>,
    /// Promptness with which the arrival was reported.
    pub news: News,
    /// Presence of data in flight at the time `at`.
    pub rest: Rest,
}

/// Presence of data in flight when an arrival becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// More data is in flight.
    More,
    /// No data is in flight. The receiver may have delayed the ACK of a single segment because no other segment arrived
    /// (RFC 9293 §3.8.6.3).
    Nothing,
}

/// Promptness of the report of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The report is as prompt as usual.
    AsAlways,
    /// Earlier data was missing. The receiver may have delayed the ACKs of later data, as Linux does by up to a
    /// millisecond (`tcp_comp_sack_delay_ns`).
    PerhapsHeld,
}

impl Delivery {
    /// `true` if no transmission is missing between the first and the last one, nor between `before` and the first one.
    pub(super) const fn follows(&self, before: u64) -> bool {
        let (first, last) = self.orders;
        first == before + 1 && last - first + 1 == self.segments
    }
}
