//! Threshold that grows with the reordering seen: LE §2.3.4's future work.
//!
//! The paper proposes to combine LE with a variable duplicate count, without details. LE makes it easy: the delay of a
//! late segment is its dupCnt when it arrives, a count of ACKs in the order of transmission, and so the very quantity
//! that the threshold bounds.
//!
//! ```text
//! a transmission judged lost arrives after all, with dupCnt = d:
//!     threshold = max(threshold, d + 1), at most threshold_max
//! timeout:  threshold = dup_threshold                     (threshold_decay = timeout)
//! ```
//!
//! With `d + 1` it would not have been judged lost. Three signs show that it was only late:
//! - it is reported while still on RTXLIST, so no retransmission can have arrived;
//! - it was retransmitted, and the report cannot belong to the retransmission (`ambiguity`);
//! - a DSACK says that it arrived twice (RFC 2883; RR-TCP, Zhang et al., ICNP 2003). By then it
//!   is no longer outstanding, so the last repaired segments are remembered with their d.
//!
//! Linux's `tp->reordering` grows on the first two signs, in segments by sequence, and falls back after a timeout;
//! RR-TCP takes a percentile of past lengths; RACK stretches a time instead. It falls back at a timeout because a
//! threshold beyond what a window can count finds no loss, and a timeout is the sign of this.

use alloc::collections::VecDeque;

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::scoreboard::{Delivered, Scoreboard, SegmentId};

use super::{LargestStamps, Stamp};
use crate::catalog::Choice;

/// Number of repaired segments that are remembered for a DSACK. A DSACK comes within a round trip, and an ACK reports
/// at most one. A window that repairs more in that time forgets the oldest.
const REMEMBERED: usize = 16;

/// Use of `dup_threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum ThresholdRule {
    /// the threshold
    Fixed,
    /// the start value: the threshold grows when a segment judged lost was only late
    Adaptive,
}

/// Event that lowers the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum Decay {
    /// a timeout
    Timeout,
    /// none
    Never,
}

/// Transmission of a segment that was judged lost.
#[derive(Clone, Copy, Debug)]
struct Judged {
    stamp: Stamp,
    order: u64,
}

/// Segment that was retransmitted and arrived; it is unknown which transmission arrived.
#[derive(Clone, Copy, Debug)]
struct Repaired {
    start: u64,
    end: u64,
    /// dupCnt of the transmission judged lost, when the segment was reported.
    late_by: usize,
}

/// Transmissions judged lost. See the [module](self).
#[derive(Debug)]
pub(super) struct Reordering {
    least: usize,
    most: usize,
    decay: Decay,
    /// One entry for every outstanding segment from number `first` on, up to the last that was judged lost.
    judged: VecDeque<Option<Judged>>,
    first: u64,
    repaired: VecDeque<Repaired>,
}

impl Reordering {
    /// Returns one that begins with a threshold of `least`, and has at most `most`.
    pub(super) fn new(least: usize, most: usize, decay: Decay) -> Self {
        Self {
            least,
            most: least.max(most),
            decay,
            judged: VecDeque::new(),
            first: 0,
            repaired: VecDeque::new(),
        }
    }

    /// Returns the greatest possible threshold.
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Notes that a transmission was judged lost.
    pub(super) fn judge(&mut self, id: SegmentId, order: u64, stamp: Stamp) {
        let Some(index) = id.0.checked_sub(self.first) else {
            return;
        };
        let index = index as usize;
        if index >= self.judged.len() {
            self.judged.resize(index + 1, None);
        }
        self.judged[index] = Some(Judged { stamp, order });
    }

    /// Takes the report of an ACK, before it is counted, and returns the least threshold that it asks for. `is_last`
    /// returns `true` if a report may be attributed to the last transmission of its segment.
    pub(super) fn observe(
        &mut self,
        ack: &AckFacts<'_>,
        view: &View<'_>,
        largest: &LargestStamps,
        is_last: impl Fn(&Delivered) -> bool,
    ) -> usize {
        let mut late_by = None;
        for delivered in ack.delivered {
            let Some(judged) = self.take(delivered.id) else {
                continue;
            };
            let count = largest.above(judged.stamp);
            if delivered.segment.order == judged.order || !is_last(delivered) {
                late_by = late_by.max(Some(count));
            } else {
                self.remember(delivered, count);
            }
        }
        self.forget_acknowledged(view.scoreboard);
        late_by = late_by.max(self.received_twice(ack));
        late_by.map_or(self.least, |count| (count + 1).min(self.most))
    }

    /// Takes a timeout, which is no judgement of LE's, and returns the threshold from now on.
    pub(super) fn time_out(&mut self, threshold: usize, board: &Scoreboard) -> usize {
        self.judged.clear();
        self.first = board.first().0;
        self.repaired.clear();
        match self.decay {
            Decay::Never => threshold,
            Decay::Timeout => self.least,
        }
    }

    fn take(&mut self, id: SegmentId) -> Option<Judged> {
        let index = id.0.checked_sub(self.first)?;
        self.judged.get_mut(usize::try_from(index).ok()?)?.take()
    }

    fn remember(&mut self, delivered: &Delivered, late_by: usize) {
        if self.repaired.len() == REMEMBERED {
            self.repaired.pop_front();
        }
        self.repaired.push_back(Repaired {
            start: delivered.segment.start,
            end: delivered.segment.end(),
            late_by,
        });
    }

    fn forget_acknowledged(&mut self, board: &Scoreboard) {
        while self.first < board.first().0 && self.judged.pop_front().is_some() {
            self.first += 1;
        }
        if self.judged.is_empty() {
            self.first = board.first().0;
        }
    }

    /// Returns the dupCnt of the segment that, according to a DSACK, arrived twice.
    fn received_twice(&mut self, ack: &AckFacts<'_>) -> Option<usize> {
        let (start, end) = ack.dsack?;
        let overlaps = |r: &Repaired| start < r.end && r.start < end;
        let index = self.repaired.iter().position(overlaps)?;
        self.repaired.remove(index).map(|r| r.late_by)
    }
}
