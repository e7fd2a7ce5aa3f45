//! Threshold that grows with the observed reordering: LE §2.3.4's future work.
//!
//! The paper proposes to combine LE with a variable duplicate count, without details. LE makes this easy: the delay of
//! a late segment is its dupCnt when it arrives. This is a count of ACKs in the order of transmission, which is exactly
//! the quantity that the threshold bounds.
//!
//! ```text
//! a transmission judged lost arrives after all, with dupCnt = d:
//!     threshold = max(threshold, d + 1), at most threshold_max
//! timeout:  threshold = dup_threshold                     (threshold_decay = timeout)
//! ```
//!
//! With `d + 1` the transmission would not have been judged lost. Three signs show that it was only late:
//! - it is reported while still on RTXLIST, so no retransmission can have arrived;
//! - it was retransmitted, and the report cannot belong to the retransmission (`ambiguity`);
//! - a DSACK reports that it arrived twice (RFC 2883; RR-TCP, Zhang et al., ICNP 2003). By then it
//!   is no longer outstanding, so the last repaired segments are stored with their d.
//!
//! Linux's `tp->reordering` grows on the first two signs, in segments by sequence number, and is reset after a timeout;
//! RR-TCP uses a percentile of past lengths; RACK extends a time instead. The threshold is reset at a timeout because a
//! threshold that exceeds the number of segments in a window detects no loss, and a timeout is the sign of this.

use alloc::collections::VecDeque;

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::scoreboard::{Delivered, Scoreboard, SegmentId};

use super::{LargestStamps, Stamp};
use crate::catalog::Choice;

/// Number of repaired segments that are stored for a DSACK. A DSACK arrives within a round trip, and an ACK reports at
/// most one. If a window repairs more segments in that time, the oldest are forgotten.
const REMEMBERED: usize = 16;

/// Use of `dup_threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum ThresholdRule {
    /// the threshold is `dup_threshold`
    Fixed,
    /// initial value; the threshold grows when a segment that was judged lost was only late
    Adaptive,
}

/// Event that resets the threshold.
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
    /// dupCnt of the transmission that was judged lost, at the time when the segment was reported.
    late_by: usize,
}

/// Transmissions judged lost. See the [module](self).
#[derive(Debug)]
pub(super) struct Reordering {
    least: usize,
    most: usize,
    decay: Decay,
    /// Entries for all outstanding segments from number `first` on, up to the last one that was judged lost.
    judged: VecDeque<Option<Judged>>,
    first: u64,
    repaired: VecDeque<Repaired>,
}

impl Reordering {
    /// Creates a state with an initial threshold of `least` and a maximum of `most`.
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

    /// Returns the maximum threshold.
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Records that a transmission was judged lost.
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

    /// Processes the reports of an ACK, before it is counted, and returns the minimum threshold that they require.
    /// `is_last` returns `true` if a report may be attributed to the last transmission of its segment.
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

    /// Handles a timeout, which is not part of LE's loss detection, and returns the new threshold.
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

    /// Returns the dupCnt of the segment that arrived twice according to a DSACK.
    fn received_twice(&mut self, ack: &AckFacts<'_>) -> Option<usize> {
        let (start, end) = ack.dsack?;
        let overlaps = |r: &Repaired| start < r.end && r.start < end;
        let index = self.repaired.iter().position(overlaps)?;
        self.repaired.remove(index).map(|r| r.late_by)
    }
}
