//! dupCnt as LE's implementation counts it (§4.3): by the sequence number.
//!
//! Section 2.2.1 counts an ACK against what was sent before the transmission that caused it. The
//! code in the kernel counts it against every segment on WAITLIST that ends below the highest
//! byte in a SACK block and is not acknowledged itself:
//!
//! ```text
//! an ACK comes while something is sacked:  dupCnt + 1 for all in flight below the highest SACK
//! dupCnt = dup_threshold (3)               → end of RTXLIST
//! sent again                               dupCnt = 0                          (§2.2.2)
//! ```
//!
//! The difference is what becomes of a retransmission. It lies below the highest SACK as soon as
//! it leaves, so the next three ACKs make it lost again, long before its own ACK can be back: a
//! hole is filled again and again for a round trip. That costs room in the window, and a lost
//! retransmission is hardly ever a matter for the timer.
//!
//! Readings: the highest byte is the highest that SACK blocks have named so far, as a block has
//! no room for all of them; and an ACK counts unless it is neither an advance nor a duplicate.
//!
//! **No scan.** All in flight below the highest SACK gain one with each ACK, so what matters is
//! since when a segment is there. They queue in that order; the front is lost first. A segment
//! enters as the highest SACK passes it, and each time it is sent again: amortised O(1).

use alloc::collections::VecDeque;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, RuleWords, Sent};
use dupack_tcp::scoreboard::{Reported, Scoreboard, SegmentId};

use super::super::two_lists::Transmission;
use crate::catalog::Choice;

/// The rule: three ACKs came while something above it was sacked (LE §4.3).
pub const SEQUENCE_ORDER: LossRule = LossRule::new(&RuleWords {
    name: "passed",
    meaning: "ACKs with later data sacked",
});

/// Against which transmissions an ACK counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum DupCount {
    // §2.2.1.
    /// those sent before the one that caused it
    Order,
    // §4.3.
    /// those below the highest SACK
    Sequence,
}

/// What is in flight below the highest SACK. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct BySequence {
    /// ACKs that counted.
    acks: u64,
    /// Transmissions below the highest SACK, each with `acks` as it came to be there.
    below: VecDeque<(Transmission, u64)>,
    /// The first segment that the highest SACK has not passed.
    passed: SegmentId,
}

impl BySequence {
    /// A transmission went out.
    pub(super) fn sent(&mut self, sent: &Sent) {
        if sent.id < self.passed {
            let transmission = Transmission {
                id: sent.id,
                order: sent.segment.order,
            };
            self.below.push_back((transmission, self.acks));
        }
    }

    /// An ACK came, and the scoreboard has it.
    pub(super) fn acked(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) {
        self.passed = self.passed.max(board.first());
        let edge = board.id_at(board.forward_ack());
        while self.passed < edge {
            if let Some(segment) = board.get(self.passed)
                && segment.reported == Reported::Missing
            {
                let transmission = Transmission {
                    id: self.passed,
                    order: segment.order,
                };
                self.below.push_back((transmission, self.acks));
            }
            self.passed = self.passed.next();
        }
        if ack.kind != AckKind::Other && board.sacked_segments() > 0 {
            self.acks += 1;
        }
    }

    /// The next transmission whose dupCnt has come to `threshold`, if it is still in flight.
    pub(super) fn next_lost(&mut self, threshold: usize) -> Option<Transmission> {
        let (transmission, since) = *self.below.front()?;
        if self.acks - since < threshold as u64 {
            return None;
        }
        self.below.pop_front();
        Some(transmission)
    }

    /// Nothing is in flight any more: a timeout, or other segments than before.
    pub(super) fn clear(&mut self) {
        self.below.clear();
    }

    /// Segments have other numbers than before.
    pub(super) fn renumbered(&mut self) {
        self.below.clear();
        self.passed = SegmentId::default();
    }
}

#[cfg(test)]
mod tests;
