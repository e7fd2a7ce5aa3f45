//! dupCnt by the sequence number, as LE's implementation counts it (§4.3).
//!
//! Section 2.2.1 counts an ACK against the segments sent before the transmission that caused it. The code in the kernel
//! counts it against every segment on WAITLIST that ends below the highest byte in a SACK block and is not itself
//! acknowledged:
//!
//! ```text
//! an ACK comes while something is sacked:  dupCnt + 1 for all in flight below the highest SACK
//! dupCnt = dup_threshold (3)               → end of RTXLIST
//! retransmitted                            dupCnt = 0                          (§2.2.2)
//! ```
//!
//! The difference concerns retransmissions. A retransmission is below the highest SACK as soon as it is sent, so the
//! next three ACKs make it lost again, long before its own ACK can arrive: the same hole is filled repeatedly for a
//! round trip. These copies use up window space, but a lost retransmission hardly ever has to wait for the timer.
//!
//! Readings: the highest byte is the highest that any SACK block has named so far, because one ACK cannot contain all
//! blocks. An ACK counts if it is an advance or a duplicate.
//!
//! **No scan.** All segments in flight below the highest SACK gain one with each ACK, so only the time at which the
//! highest SACK passed a segment matters. The segments are queued in the order of these times, and the front is lost
//! first. A segment enters when the highest SACK passes it, and each time it is retransmitted: amortised O(1).

use alloc::collections::VecDeque;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, RuleWords, Sent};
use dupack_tcp::scoreboard::{Reported, Scoreboard, SegmentId};

use super::super::two_lists::Transmission;
use crate::catalog::Choice;

/// Rule of three ACKs while a segment above was sacked (LE §4.3).
pub const SEQUENCE_ORDER: LossRule = LossRule::new(&RuleWords {
    name: "passed",
    meaning: "ACKs with later data sacked",
});

/// Transmissions against which an ACK counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum DupCount {
    // §2.2.1.
    /// those sent before the transmission that caused the ACK
    Order,
    // §4.3.
    /// those below the highest SACK
    Sequence,
}

/// Segments in flight below the highest SACK. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct BySequence {
    /// Number of ACKs that counted.
    acks: u64,
    /// Transmissions below the highest SACK, each with the value of `acks` when it was added.
    below: VecDeque<(Transmission, u64)>,
    /// First segment that the highest SACK has not passed.
    passed: SegmentId,
}

impl BySequence {
    /// Records a transmission.
    pub(super) fn sent(&mut self, sent: &Sent) {
        if sent.id < self.passed {
            let transmission = Transmission {
                id: sent.id,
                order: sent.segment.order,
            };
            self.below.push_back((transmission, self.acks));
        }
    }

    /// Records an ACK, which the scoreboard already contains.
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

    /// Returns the next transmission whose dupCnt has reached `threshold`, whether it is still in flight or not.
    pub(super) fn next_lost(&mut self, threshold: usize) -> Option<Transmission> {
        let (transmission, since) = *self.below.front()?;
        if self.acks - since < threshold as u64 {
            return None;
        }
        self.below.pop_front();
        Some(transmission)
    }

    /// Clears the list. After a timeout, or a change of the segment size, nothing is in flight.
    pub(super) fn clear(&mut self) {
        self.below.clear();
    }

    /// Clears the list because the segment numbers have changed.
    pub(super) fn renumbered(&mut self) {
        self.below.clear();
        self.passed = SegmentId::default();
    }
}

#[cfg(test)]
mod tests;
