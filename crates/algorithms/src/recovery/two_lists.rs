//! Two lists: the segments in flight, in order of transmission, and the lost segments, in order of detection (LE §2.1).
//!
//! A scoreboard in sequence order does not show which of two segments was sent later once one of them was
//! retransmitted. LE's two lists do: a transmission is appended to WAITLIST; when it is judged lost, it moves to the
//! end of RTXLIST; a retransmission is appended to WAITLIST again. RACK's time-ordered list (RFC 8985 §5.2) is the
//! first of the two. The caller determines which segments are lost.
//!
//! ```text
//! in flight = outstanding − sacked − lost            (bytes; exact, and O(1))
//! ```
//!
//! **Cost.** Every operation is amortised O(1). Entries are deleted lazily: an entry of WAITLIST counts only while its
//! segment is outstanding, unsacked, not lost, and has not been retransmitted since. Dead entries are removed when they
//! reach the front. The lost segments are a prefix of WAITLIST, so behind its head there is at most one entry for each
//! segment (two for a segment that was used as a probe). The number of entries is therefore at most the number of
//! segments that are outstanding, or were outstanding when the head was sent.

use alloc::collections::VecDeque;
use core::fmt::Debug;

use dupack_tcp::facts::{LossRule, Sent};
use dupack_tcp::scoreboard::{Delivered, Reported, Scoreboard, Segment, SegmentId};

/// Transmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Segment.
    pub(crate) id: SegmentId,
    /// Position in the order of all transmissions.
    pub(crate) order: u64,
}

/// WAITLIST and RTXLIST, with a tag of the caller on the last transmission of every outstanding segment. See the
/// [module](self).
#[derive(Clone, Debug)]
pub(crate) struct TwoLists<T> {
    waiting: VecDeque<Transmission>,
    lost: VecDeque<SegmentId>,
    /// One slot for every outstanding segment, in sequence order.
    slots: VecDeque<Slot<T>>,
    /// Segment number of the first slot.
    first: u64,
    /// Bytes on RTXLIST.
    lost_bytes: u64,
    /// Bytes that were ever added to RTXLIST.
    judged_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    tag: T,
    lost: Option<Lost>,
}

/// State of a segment on RTXLIST.
#[derive(Clone, Copy, Debug)]
struct Lost {
    rule: LossRule,
    /// Length of the segment that is counted in `lost_bytes`.
    len: u32,
}

impl<T: Copy + Debug> TwoLists<T> {
    /// Creates two empty lists, for a connection that has not sent anything yet.
    pub(crate) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            lost: VecDeque::new(),
            slots: VecDeque::new(),
            first: 0,
            lost_bytes: 0,
            judged_bytes: 0,
        }
    }

    /// Records a transmission: it is appended to WAITLIST, and removed from RTXLIST if it was there.
    pub(crate) fn sent(&mut self, sent: &Sent, tag: T, scoreboard: &Scoreboard) {
        let repeated = sent.segment.transmissions > 1;
        if repeated {
            self.unmark(sent.id);
        }
        if self.first + self.slots.len() as u64 == sent.id.0 {
            self.slots.push_back(Slot { tag, lost: None });
        } else {
            self.set_tag(sent.id, tag);
        }
        self.waiting.push_back(Transmission {
            id: sent.id,
            order: sent.segment.order,
        });
        // A new segment makes no other entry dead.
        if repeated {
            self.tidy(scoreboard);
        }
    }

    /// Tags the last transmission of a segment, and creates slots up to this segment if they are missing.
    fn set_tag(&mut self, id: SegmentId, tag: T) {
        while self.first + (self.slots.len() as u64) <= id.0 {
            self.slots.push_back(Slot { tag, lost: None });
        }
        if let Some(slot) = self.slot_mut(id) {
            slot.tag = tag;
        }
    }

    /// Removes from both lists the segments that an ACK reported for the first time.
    pub(crate) fn delivered(&mut self, delivered: &[Delivered], scoreboard: &Scoreboard) {
        for segment in delivered {
            self.unmark(segment.id);
        }
        while self.first < scoreboard.first().0 && self.slots.pop_front().is_some() {
            self.first += 1;
        }
        // An ACK inside the first segment shortens it.
        if let Some(segment) = scoreboard.get(SegmentId(self.first))
            && let Some(lost) = self.slots.front_mut().and_then(|s| s.lost.as_mut())
        {
            self.lost_bytes -= u64::from(lost.len - segment.len);
            lost.len = segment.len;
        }
        self.tidy(scoreboard);
    }

    /// Moves a segment to the end of RTXLIST. Returns its length, or 0 if it is not in flight.
    pub(crate) fn condemn(
        &mut self,
        id: SegmentId,
        rule: LossRule,
        scoreboard: &Scoreboard,
    ) -> u32 {
        let Some(segment) = scoreboard
            .get(id)
            .filter(|s| s.reported == Reported::Missing)
        else {
            return 0;
        };
        let len = segment.len;
        match self.slot_mut(id) {
            Some(slot) if slot.lost.is_none() => slot.lost = Some(Lost { rule, len }),
            _ => return 0,
        }
        self.lost_bytes += u64::from(len);
        self.judged_bytes += u64::from(len);
        self.lost.push_back(id);
        self.tidy(scoreboard);
        len
    }

    /// Rebuilds both lists from the scoreboard after the outstanding data was split into other segments with other ids:
    /// everything unsacked is lost. The last transmission of each segment has `tag`.
    pub(crate) fn cut(&mut self, scoreboard: &Scoreboard, tag: T) {
        self.first = scoreboard.first().0;
        self.slots.clear();
        // Segments that were lost before are counted again below.
        self.judged_bytes -= self.lost_bytes;
        self.slots
            .resize(scoreboard.len(), Slot { tag, lost: None });
        self.time_out(scoreboard, |_, _| true);
    }

    /// Rebuilds both lists from the scoreboard after a timeout. All unsacked segments for which `is_lost` returns
    /// `true`, and all that were lost before, are lost now, in sequence order; the others are in flight.
    pub(crate) fn time_out(
        &mut self,
        scoreboard: &Scoreboard,
        mut is_lost: impl FnMut(SegmentId, &Segment) -> bool,
    ) {
        self.waiting.clear();
        self.lost.clear();
        self.lost_bytes = 0;
        for (id, segment) in scoreboard.iter_from(scoreboard.first()) {
            if segment.reported == Reported::Sacked {
                continue;
            }
            let index = (id.0 - self.first) as usize;
            let Some(slot) = self.slots.get_mut(index) else {
                break;
            };
            let known = slot.lost.is_some();
            if known || is_lost(id, segment) {
                self.judged_bytes += if known { 0 } else { u64::from(segment.len) };
                slot.lost = Some(Lost {
                    rule: LossRule::TIMEOUT,
                    len: segment.len,
                });
                self.lost_bytes += u64::from(segment.len);
                self.lost.push_back(id);
            } else {
                self.waiting.push_back(Transmission {
                    id,
                    order: segment.order,
                });
            }
        }
        self.waiting
            .make_contiguous()
            .sort_unstable_by_key(|t| t.order);
    }

    /// Withdraws every loss whose rule `is_acquitted` accepts: these segments are in flight again, and WAITLIST is
    /// rebuilt from the scoreboard.
    pub(crate) fn acquit(
        &mut self,
        scoreboard: &Scoreboard,
        mut is_acquitted: impl FnMut(LossRule) -> bool,
    ) {
        self.waiting.clear();
        for (id, segment) in scoreboard.iter_from(scoreboard.first()) {
            if segment.reported == Reported::Sacked {
                continue;
            }
            let index = (id.0 - self.first) as usize;
            let Some(slot) = self.slots.get_mut(index) else {
                break;
            };
            if let Some(lost) = slot.lost {
                if !is_acquitted(lost.rule) {
                    continue;
                }
                self.lost_bytes -= u64::from(lost.len);
                slot.lost = None;
            }
            self.waiting.push_back(Transmission {
                id,
                order: segment.order,
            });
        }
        self.waiting
            .make_contiguous()
            .sort_unstable_by_key(|t| t.order);
        let (first, slots) = (self.first, &self.slots);
        self.lost.retain(|id| {
            let index = id.0.checked_sub(first);
            let slot = index.and_then(|index| slots.get(index as usize));
            slot.is_some_and(|slot| slot.lost.is_some())
        });
    }

    /// Returns the bytes in flight, which are exactly those on WAITLIST.
    pub(crate) fn in_flight(&self, scoreboard: &Scoreboard) -> u64 {
        let outstanding = scoreboard.flight_size() - scoreboard.sacked_bytes();
        outstanding.saturating_sub(self.lost_bytes)
    }

    /// Returns the bytes of all transmissions that were ever judged lost, whether they are still on RTXLIST or not.
    pub(crate) const fn judged_bytes(&self) -> u64 {
        self.judged_bytes
    }

    /// Returns the head of WAITLIST: the oldest transmission in flight.
    pub(crate) fn oldest(&self) -> Option<Transmission> {
        self.waiting.front().copied()
    }

    /// Removes the oldest transmission from WAITLIST if it precedes the transmission `order`, without marking it as
    /// lost. The transmission still counts as in flight.
    pub(crate) fn take_oldest_before(
        &mut self,
        order: u64,
        scoreboard: &Scoreboard,
    ) -> Option<Transmission> {
        let oldest = self.oldest().filter(|t| t.order < order)?;
        self.waiting.pop_front();
        self.tidy(scoreboard);
        Some(oldest)
    }

    /// Returns the head of RTXLIST, and the rule by which it is lost.
    pub(crate) fn next_lost(&self) -> Option<(SegmentId, LossRule)> {
        let id = *self.lost.front()?;
        Some((id, self.slot(id)?.lost?.rule))
    }

    /// Returns the tag of a segment's last transmission, if it was outstanding at the last call of
    /// [`delivered`](Self::delivered).
    pub(crate) fn tag(&self, id: SegmentId) -> Option<T> {
        self.slot(id).map(|slot| slot.tag)
    }

    /// Returns `true` if a transmission is in flight: not acknowledged, not lost, and not retransmitted since.
    pub(crate) fn is_in_flight(&self, sent: Transmission, scoreboard: &Scoreboard) -> bool {
        let current = scoreboard
            .get(sent.id)
            .is_some_and(|s| s.order == sent.order && s.reported == Reported::Missing);
        current && (self.lost_bytes == 0 || !self.is_lost(sent.id))
    }

    /// Returns the transmissions on WAITLIST.
    #[cfg(test)]
    pub(crate) fn waiting<'a>(
        &'a self,
        scoreboard: &'a Scoreboard,
    ) -> impl Iterator<Item = SegmentId> + 'a {
        let live = |t: &&Transmission| self.is_in_flight(**t, scoreboard);
        self.waiting.iter().filter(live).map(|t| t.id)
    }

    /// Returns the segments on RTXLIST.
    #[cfg(test)]
    pub(crate) fn lost(&self) -> impl Iterator<Item = SegmentId> + '_ {
        self.lost.iter().copied().filter(|&id| self.is_lost(id))
    }

    /// Returns the number of entries of the longer list, including dead entries.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> usize {
        self.waiting.len().max(self.lost.len())
    }

    fn is_lost(&self, id: SegmentId) -> bool {
        self.slot(id).is_some_and(|s| s.lost.is_some())
    }

    fn slot(&self, id: SegmentId) -> Option<&Slot<T>> {
        let index = id.0.checked_sub(self.first)?;
        self.slots.get(usize::try_from(index).ok()?)
    }

    fn slot_mut(&mut self, id: SegmentId) -> Option<&mut Slot<T>> {
        let index = id.0.checked_sub(self.first)?;
        self.slots.get_mut(usize::try_from(index).ok()?)
    }

    #[inline]
    fn unmark(&mut self, id: SegmentId) {
        // Usually nothing is lost, and the check can be skipped.
        if self.lost_bytes > 0
            && let Some(lost) = self.slot_mut(id).and_then(|s| s.lost.take())
        {
            self.lost_bytes -= u64::from(lost.len);
        }
    }

    /// Removes dead entries from the front of both lists.
    fn tidy(&mut self, scoreboard: &Scoreboard) {
        while let Some(&oldest) = self.waiting.front()
            && !self.is_in_flight(oldest, scoreboard)
        {
            self.waiting.pop_front();
        }
        while let Some(&id) = self.lost.front()
            && !self.is_lost(id)
        {
            self.lost.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::facts::SendReason;
    use dupack_tcp::testing::{self, SMSS};
    use dupack_tcp::time::Instant;

    use super::*;

    #[test]
    fn a_lost_segment_is_not_lost_again() {
        let board = testing::outstanding(3, Instant::ZERO);
        let mut lists = TwoLists::new();
        for (id, segment) in board.iter_from(board.first()) {
            let sent = testing::sent(id, *segment, SendReason::NewData);
            lists.sent(&sent, (), &board);
        }
        let mut condemn = || lists.condemn(SegmentId(1), LossRule::PROBE, &board);
        assert_eq!([condemn(), condemn()], [SMSS, 0]);
        assert_eq!(lists.in_flight(&board), 2 * u64::from(SMSS));
        assert_eq!(lists.lost().collect::<Vec<_>>(), [SegmentId(1)]);
    }

    #[test]
    fn each_transmission_is_judged_lost_once() {
        let board = testing::outstanding(3, Instant::ZERO);
        let mut lists = TwoLists::new();
        for (id, segment) in board.iter_from(board.first()) {
            lists.sent(
                &testing::sent(id, *segment, SendReason::NewData),
                (),
                &board,
            );
        }
        lists.condemn(SegmentId(1), LossRule::PROBE, &board);
        assert_eq!(lists.judged_bytes(), u64::from(SMSS));
        // The timeout marks the other two as lost.
        lists.time_out(&board, |_, _| true);
        assert_eq!(lists.judged_bytes(), 3 * u64::from(SMSS));
        // Another transmission of the first segment is lost, too. An acquittal does not reduce the count.
        let mut again = *board.get(SegmentId(0)).expect("it is outstanding");
        again.transmissions = 2;
        lists.sent(
            &testing::sent(SegmentId(0), again, SendReason::NewData),
            (),
            &board,
        );
        lists.condemn(SegmentId(0), LossRule::PROBE, &board);
        assert_eq!(lists.judged_bytes(), 4 * u64::from(SMSS));
        lists.acquit(&board, |_| true);
        assert_eq!(lists.judged_bytes(), 4 * u64::from(SMSS));
        // A cut marks all segments as lost; those that were on RTXLIST count only once.
        lists.condemn(SegmentId(2), LossRule::PROBE, &board);
        lists.cut(&board, ());
        assert_eq!(lists.judged_bytes(), 7 * u64::from(SMSS));
    }
}
