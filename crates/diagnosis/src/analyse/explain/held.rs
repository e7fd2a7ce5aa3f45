//! Data that the receiver holds after the first missing byte and that is not reported by SACK.
//!
//! A receiver with a hole acknowledges every segment at once (RFC 5681 §4.2). Therefore, if an ACK responds to the
//! retransmission of the first missing segment and advances beyond this segment, the receiver already held the data up
//! to the ACK number. Without a hole, one ACK may cover two segments (RFC 1122 §4.2.3.2), or more if the host receives
//! them together. Two kinds of evidence show a hole:
//!
//! - **Duplicate ACKs**: for each of them, the receiver holds one more segment.
//! - **The number of segments that the ACK covers**: it is greater than for segments in order.

use dupack_tcp::facts::{AckFacts, AckKind};

/// Maximum number of segments that one ACK for segments in order may cover (RFC 1122 §4.2.3.2).
const IN_ORDER: usize = 2;

/// Number of counters, one for each number of segments per ACK. The last one counts all greater numbers (our choice:
/// Linux receives 64 KiB at once, which is 45 full segments).
const COUNTED: usize = 64;

/// Inverse of the maximum fraction of ACKs for segments in order that cover more segments than usual. Because ACKs may
/// be lost, this fraction is not zero (our choice).
const RARE_ONE_OF: u32 = 20;

/// Data that the receiver holds, and statistics of the number of segments that its ACKs cover.
#[derive(Debug)]
pub(super) struct Held {
    /// Number of segments after the first missing one that duplicate ACKs reported.
    segments: u64,
    /// Number of segments that were outstanding after the first missing one when the timer expired.
    beyond: u64,
    /// Number of ACKs in order, for each number of segments that an ACK covered.
    in_order: [u32; COUNTED],
    /// Presence of SACK blocks.
    sacks: Sacks,
}

/// Presence of SACK blocks from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sacks {
    NotSeen,
    Seen,
}

/// Cause of the transmissions to which an ACK responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// A timeout. Duplicate ACKs may respond to retransmissions.
    Timeout,
    /// Any other cause.
    Other,
}

/// Part of the data outstanding after the first missing segment that had arrived before a timeout, according to
/// duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// All of this data had arrived.
    All,
    /// An unknown part of this data had arrived.
    Some,
    /// None of this data had arrived.
    None,
}

impl Default for Held {
    fn default() -> Self {
        Self {
            segments: 0,
            beyond: 0,
            in_order: [0; COUNTED],
            sacks: Sacks::NotSeen,
        }
    }
}

impl Held {
    /// Records an ACK; `after` is the state before it.
    pub fn acknowledged(&mut self, facts: &AckFacts<'_>, after: After) {
        if facts.sacked_bytes > 0 {
            self.sacks = Sacks::Seen;
        }
        match facts.kind {
            AckKind::Duplicate if after == After::Other => self.segments += 1,
            AckKind::Advance => self.advanced(facts),
            _ => {}
        }
    }

    /// Records a timeout with this number of outstanding segments.
    pub fn timed_out(&mut self, outstanding: usize) {
        self.beyond = (outstanding as u64).saturating_sub(1);
    }

    /// Returns the part of the data outstanding at the timeout that had arrived.
    pub fn rest(&self) -> Rest {
        match self.segments {
            0 => Rest::None,
            all if all == self.beyond => Rest::All,
            // If there are more duplicate ACKs than outstanding segments, some of them respond to spurious
            // retransmissions.
            _ => Rest::Some,
        }
    }

    fn advanced(&mut self, facts: &AckFacts<'_>) {
        let segments = facts.delivered.len();
        let once = facts.delivered.iter().all(|d| d.segment.transmissions == 1);
        if !once {
            let filled = (segments as u64).saturating_sub(1);
            self.segments = self.segments.saturating_sub(filled);
            self.beyond = self.beyond.saturating_sub(segments as u64);
            return;
        }
        if self.segments == 0
            && let Some(count) = self.in_order.get_mut(segments.clamp(1, COUNTED) - 1)
        {
            *count = count.saturating_add(1);
        }
        self.segments = 0;
    }

    /// `true` if the receiver reports by SACK the data that it holds.
    pub fn is_told(&self) -> bool {
        self.sacks == Sacks::Seen
    }

    /// `true` if data was missing at the receiver when it sent an ACK for this number of segments.
    pub fn was_something(&self, segments: usize) -> bool {
        segments > 1 && (self.segments > 0 || segments > self.usual())
    }

    /// Returns the maximum number of segments that an ACK in order usually covers.
    fn usual(&self) -> usize {
        let all: u32 = self
            .in_order
            .iter()
            .fold(0, |sum, &n| sum.saturating_add(n));
        let rare = all / RARE_ONE_OF;
        let mut above = 0_u32;
        let counts = self.in_order.iter().enumerate().rev();
        let usual = counts
            .map(|(place, &count)| (place + 1, count))
            .find(|(_, count)| {
                above = above.saturating_add(*count);
                above > rare
            });
        usual.map_or(IN_ORDER, |(segments, _)| segments.max(IN_ORDER))
    }
}
