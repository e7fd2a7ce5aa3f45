//! What the receiver holds beyond the first missing byte, where no SACK tells of it.
//!
//! With something missing, a receiver acknowledges at once whatever comes (RFC 5681 §4.2), so that an ACK which
//! answers the repair of the first missing segment and goes beyond it tells what was there before. If nothing
//! is missing, one ACK may be for two segments (RFC 1122 §4.2.3.2), or for more where hosts take them in together.
//! Two things tell that something was missing:
//!
//! - **Duplicate ACKs**: for each, the receiver holds one segment more.
//! - **How far the ACK goes**: farther than those that answer segments in order.

use dupack_tcp::facts::{AckFacts, AckKind};

/// An ACK in order may be for so many segments (RFC 1122 §4.2.3.2).
const IN_ORDER: usize = 2;

/// So many numbers of segments are told apart, the last for all above (ours: Linux takes in 64 KiB at once, 45
/// full segments).
const COUNTED: usize = 64;

/// One of so many ACKs in order may be for more segments than is usual: ACKs are lost, too (ours).
const RARE_ONE_OF: u32 = 20;

/// What the receiver holds, and how it acknowledges what comes in order.
#[derive(Debug)]
pub(super) struct Held {
    /// Segments that duplicate ACKs told of, beyond the first missing one.
    segments: u64,
    /// Segments that were outstanding beyond the first missing one when the timer expired.
    beyond: u64,
    /// How many ACKs in order were for how many segments.
    in_order: [u32; COUNTED],
    /// Whether SACK blocks have come.
    sacks: Sacks,
}

/// Whether the receiver says by itself what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sacks {
    NotSeen,
    Seen,
}

/// What had made the sender send what is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// A timeout: what duplicate ACKs answer may be what was sent again.
    Timeout,
    /// Anything else.
    Other,
}

/// Of what was outstanding beyond the first missing segment when the timer expired, duplicate ACKs had told that …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// … all of it had arrived.
    All,
    /// … part of it had, but not which.
    Some,
    /// … nothing had.
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
    /// An ACK came; `after` as it was before it.
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

    /// The timer expired while so many segments were outstanding.
    pub fn timed_out(&mut self, outstanding: usize) {
        self.beyond = (outstanding as u64).saturating_sub(1);
    }

    /// How much of what was outstanding at the timeout had arrived.
    pub fn rest(&self) -> Rest {
        match self.segments {
            0 => Rest::None,
            all if all == self.beyond => Rest::All,
            // More than there were: some answer what was sent needlessly.
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

    /// Whether the receiver says by SACK what it holds.
    pub fn is_told(&self) -> bool {
        self.sacks == Sacks::Seen
    }

    /// Whether something was missing when what an ACK for so many segments answers came.
    pub fn was_something(&self, segments: usize) -> bool {
        segments > 1 && (self.segments > 0 || segments > self.usual())
    }

    /// The most segments that an ACK in order is usually for.
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
