//! Ground truth of a TCP flow: the actual fate of its packets, as opposed to the sender's beliefs.
//!
//! No state is kept for packets that were not lost. A lost transmission is stored until its bytes are acknowledged, so
//! the memory is bounded by the window.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dupack_tcp::facts::LossCause;
use dupack_tcp::scoreboard::Segment;

use crate::link::{DropCause, DropCounts, LossNature};
use crate::packet::{Copy, Data};

/// Actual fate of a flow's data.
#[derive(Debug, Default)]
pub struct FlowTruth {
    in_flight_packets: u64,
    in_flight_bytes: u64,
    losses: Losses,
    counters: TruthCounters,
}

/// Losses of a flow. The flow's truth and its informed differentiation share them. Both belong to one flow, which runs
/// in one thread, so there is no contention for the lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Lost ranges above the cumulative acknowledgment, sorted by start.
    lost: VecDeque<Lost>,
    judgements: Judgements,
}

/// Loss events by true cause and by judged cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgements {
    /// Congestion losses judged as congestion.
    pub congestion_right: u64,
    /// Congestion losses judged as wireless.
    pub congestion_wrong: u64,
    /// Wireless losses judged as wireless.
    pub wireless_right: u64,
    /// Wireless losses judged as congestion.
    pub wireless_wrong: u64,
    /// Loss events whose segment was not lost, or whose true cause is not known.
    pub unknown: u64,
}

impl Judgements {
    /// Returns the counts since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            congestion_right: self.congestion_right - earlier.congestion_right,
            congestion_wrong: self.congestion_wrong - earlier.congestion_wrong,
            wireless_right: self.wireless_right - earlier.wireless_right,
            wireless_wrong: self.wireless_wrong - earlier.wireless_wrong,
            unknown: self.unknown - earlier.unknown,
        }
    }

    /// Counts one loss event.
    fn record(&mut self, truth: Option<LossCause>, judged: LossCause) {
        let counter = match (truth, judged) {
            (Some(LossCause::Congestion), LossCause::Congestion) => &mut self.congestion_right,
            (Some(LossCause::Congestion), LossCause::Wireless) => &mut self.congestion_wrong,
            (Some(LossCause::Wireless), LossCause::Wireless) => &mut self.wireless_right,
            (Some(LossCause::Wireless), LossCause::Congestion) => &mut self.wireless_wrong,
            (None, _) => &mut self.unknown,
        };
        *counter += 1;
    }
}

/// Counters of a flow since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TruthCounters {
    /// Data packets sent, including retransmissions but not window probes.
    pub data_packets: u64,
    /// Payload bytes of these packets.
    pub data_bytes: u64,
    /// Retransmissions of bytes of which no copy had arrived or was in flight.
    pub needed_retransmissions: u64,
    /// Retransmissions of bytes of which a copy had arrived or was in flight.
    pub spurious_retransmissions: u64,
    /// Data packets dropped, by cause, without copies that a link made.
    pub data_drops: DropCounts,
    /// ACKs dropped, by cause.
    pub ack_drops: DropCounts,
    /// Data packets that arrived with a congestion mark (CE).
    pub marked_packets: u64,
}

impl TruthCounters {
    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            data_packets: self.data_packets - earlier.data_packets,
            data_bytes: self.data_bytes - earlier.data_bytes,
            needed_retransmissions: self.needed_retransmissions - earlier.needed_retransmissions,
            spurious_retransmissions: self.spurious_retransmissions
                - earlier.spurious_retransmissions,
            data_drops: self.data_drops.since(&earlier.data_drops),
            ack_drops: self.ack_drops.since(&earlier.ack_drops),
            marked_packets: self.marked_packets - earlier.marked_packets,
        }
    }

    /// Returns the number of all retransmissions.
    #[must_use]
    pub const fn retransmissions(&self) -> u64 {
        self.needed_retransmissions + self.spurious_retransmissions
    }
}

/// A range of the stream of which a transmission was lost.
#[derive(Clone, Copy, Debug)]
struct Lost {
    start: u64,
    end: u64,
    /// Number of the latest lost transmission of the range. `cause` is the cause of this loss.
    order: u64,
    cause: DropCause,
    gap: Gap,
    answer: Answer,
}

/// Effect of a loss on the receiver's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// The receiver lacks the bytes: no other copy is known to exist.
    Open,
    /// Another copy had arrived or was in flight.
    Covered,
}

/// Reaction of the sender after the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    None,
    Resent,
}

impl FlowTruth {
    /// Counts a first transmission that leaves the sender.
    pub(crate) fn sent_first(&mut self, len: u32) {
        self.count_sent(len);
    }

    /// Counts a retransmission of `start..start + len` that leaves the sender, and returns its kind. `arrived` is
    /// `true` if the receiver has the first of the bytes.
    pub(crate) fn sent_again(&mut self, start: u64, len: u32, arrived: bool) -> Copy {
        self.count_sent(len);
        if self.losses.known().resent(start, start + u64::from(len)) && !arrived {
            self.counters.needed_retransmissions += 1;
            Copy::Needed
        } else {
            self.counters.spurious_retransmissions += 1;
            Copy::Spurious
        }
    }

    /// Counts a data packet that has arrived at the receiver.
    pub(crate) fn arrived(&mut self, data: &Data) {
        if data.copy.is_senders() {
            self.landed(data.segment.len);
        }
    }

    /// Counts a data packet that has arrived with a congestion mark.
    pub(crate) const fn arrived_marked(&mut self) {
        self.counters.marked_packets += 1;
    }

    /// Records that a data packet was dropped. `una` is the sender's cumulative acknowledgment: bytes below it will not
    /// be needed again. `arrived` is `true` if the receiver has the bytes.
    pub(crate) fn dropped(&mut self, data: &Data, cause: DropCause, una: u64, arrived: bool) {
        if !data.copy.is_senders() {
            return;
        }
        self.landed(data.segment.len);
        self.counters.data_drops.add(cause);
        let mut known = self.losses.known();
        known.forget_below(una);
        let end = data.offset + u64::from(data.segment.len);
        if end <= una {
            return;
        }
        let gap = if arrived || data.copy == Copy::Spurious {
            Gap::Covered
        } else {
            Gap::Open
        };
        known.remember(Lost {
            start: data.offset,
            end,
            order: data.order,
            cause,
            gap,
            answer: Answer::None,
        });
    }

    /// Counts an ACK that was dropped.
    pub(crate) fn ack_dropped(&mut self, cause: DropCause) {
        self.counters.ack_drops.add(cause);
    }

    /// Returns the number of data packets in flight: sent, and neither arrived nor dropped.
    #[must_use]
    pub const fn in_flight_packets(&self) -> u64 {
        self.in_flight_packets
    }

    /// Returns the payload bytes in flight.
    #[must_use]
    pub const fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> &TruthCounters {
        &self.counters
    }

    /// Returns the true cause if the last transmission of the byte at `offset` was lost; `None` if it was not lost, or
    /// has not been lost yet.
    #[must_use]
    pub fn drop_cause(&self, offset: u64) -> Option<DropCause> {
        let known = self.losses.known();
        let lost = known.lost_at(offset)?;
        (lost.answer == Answer::None).then_some(lost.cause)
    }

    /// Returns the sender's judgements of its loss events, compared with the truth.
    #[must_use]
    pub fn judgements(&self) -> Judgements {
        self.losses.known().judgements
    }

    /// Returns the losses, for the flow's differentiation.
    pub(crate) fn losses(&self) -> Losses {
        self.losses.clone()
    }

    /// Returns the number of lost ranges in memory.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.losses.known().lost.len()
    }

    fn count_sent(&mut self, len: u32) {
        self.counters.data_packets += 1;
        self.counters.data_bytes += u64::from(len);
        self.in_flight_packets += 1;
        self.in_flight_bytes += u64::from(len);
    }

    fn landed(&mut self, len: u32) {
        debug_assert!(self.in_flight_packets > 0);
        self.in_flight_packets -= 1;
        self.in_flight_bytes -= u64::from(len);
    }
}

impl Losses {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the true cause of the loss of `segment`. This is the cause of the loss of the last transmission of its
    /// bytes; if these bytes were retransmitted afterwards, the lost transmission must be the one named in `segment`.
    /// Returns `None` if that transmission was not lost, or if the loss is no longer stored.
    pub(crate) fn cause(&self, segment: &Segment) -> Option<LossCause> {
        let known = self.known();
        let lost = known.lost_at(segment.start)?;
        let named = lost.answer == Answer::None || lost.order == segment.order;
        named.then(|| match lost.cause.nature() {
            LossNature::Congestion => LossCause::Congestion,
            LossNature::Wireless => LossCause::Wireless,
        })
    }

    /// Counts one loss event.
    pub(crate) fn record(&self, truth: Option<LossCause>, judged: LossCause) {
        self.known().judgements.record(truth, judged);
    }
}

impl Known {
    /// Returns the lost range that contains the byte at `offset`.
    fn lost_at(&self, offset: u64) -> Option<&Lost> {
        let index = self.lost.partition_point(|lost| lost.end <= offset);
        self.lost.get(index).filter(|lost| lost.start <= offset)
    }

    /// Records that the sender has retransmitted `start..end`. Returns `true` if some of the bytes were missing.
    fn resent(&mut self, start: u64, end: u64) -> bool {
        let from = self.lost.partition_point(|lost| lost.end <= start);
        let mut missing = false;
        let overlapping = self.lost.iter_mut().skip(from);
        for lost in overlapping.take_while(|lost| lost.start < end) {
            missing |= lost.gap == Gap::Open && lost.answer == Answer::None;
            lost.answer = Answer::Resent;
        }
        missing
    }

    /// Removes acknowledged ranges, because they will not be needed again.
    fn forget_below(&mut self, una: u64) {
        while self.lost.front().is_some_and(|lost| lost.end <= una) {
            self.lost.pop_front();
        }
    }

    fn remember(&mut self, new: Lost) {
        let index = self.lost.partition_point(|lost| lost.start < new.start);
        match self.lost.get_mut(index) {
            Some(old) if old.start == new.start => {
                old.end = old.end.max(new.end);
                if new.gap == Gap::Open {
                    old.gap = Gap::Open;
                }
                if new.order >= old.order {
                    old.order = new.order;
                    old.cause = new.cause;
                    old.answer = Answer::None;
                }
            }
            _ => self.lost.insert(index, new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::facts::SendReason;
    use dupack_tcp::segment::{Bit, Codepoint, DataSegment};

    fn data(offset: u64, order: u64, copy: Copy) -> Data {
        Data {
            segment: DataSegment {
                len: 1000,
                ..DataSegment::default()
            },
            offset,
            order,
            copy,
            why: SendReason::NewData,
            ecn: Codepoint::NotEct,
            cwr: Bit::Clear,
        }
    }

    #[test]
    fn in_flight_excludes_arrived_and_dropped_packets() {
        let mut truth = FlowTruth::default();
        for _ in 0..3 {
            truth.sent_first(1000);
        }
        truth.arrived(&data(0, 1, Copy::First));
        truth.dropped(&data(1000, 2, Copy::First), DropCause::QueueFull, 0, false);
        assert_eq!(
            (truth.in_flight_packets(), truth.in_flight_bytes()),
            (1, 1000)
        );
    }

    #[test]
    fn a_retransmission_is_needed_if_the_last_copy_was_lost() {
        let mut truth = FlowTruth::default();
        truth.sent_first(1000);
        assert_eq!(truth.sent_again(0, 1000, false), Copy::Spurious);
        truth.sent_first(1000);
        truth.dropped(&data(1000, 3, Copy::First), DropCause::Random, 0, false);
        assert_eq!(truth.sent_again(1000, 1000, false), Copy::Needed);
        // The second copy is in flight.
        assert_eq!(truth.sent_again(1000, 1000, false), Copy::Spurious);
        // The second copy is lost as well, so a fourth copy is needed. The third copy does not count.
        truth.dropped(&data(1000, 5, Copy::Spurious), DropCause::Random, 0, false);
        truth.dropped(&data(1000, 4, Copy::Needed), DropCause::Random, 0, false);
        assert_eq!(truth.sent_again(1000, 1000, false), Copy::Needed);
        assert_eq!(truth.counters().needed_retransmissions, 2);
        assert_eq!(truth.counters().spurious_retransmissions, 2);
    }

    #[test]
    fn the_loss_of_a_spurious_copy_leaves_no_gap() {
        let mut truth = FlowTruth::default();
        truth.sent_first(1000);
        truth.sent_again(0, 1000, true);
        truth.dropped(&data(0, 2, Copy::Spurious), DropCause::Random, 0, true);
        assert_eq!(truth.drop_cause(0), Some(DropCause::Random));
        assert_eq!(truth.sent_again(0, 1000, true), Copy::Spurious);
    }

    #[test]
    fn the_cause_is_that_of_the_last_transmission() {
        let mut truth = FlowTruth::default();
        truth.sent_first(1000);
        truth.sent_first(1000);
        assert_eq!(truth.drop_cause(0), None);
        truth.dropped(&data(0, 1, Copy::First), DropCause::QueueFull, 0, false);
        truth.dropped(&data(1000, 2, Copy::First), DropCause::Script, 0, false);
        assert_eq!(truth.drop_cause(0), Some(DropCause::QueueFull));
        assert_eq!(truth.drop_cause(1500), Some(DropCause::Script));
        assert_eq!(truth.drop_cause(2000), None);
        truth.sent_again(0, 1000, false);
        assert_eq!(truth.drop_cause(0), None);
        truth.dropped(&data(0, 3, Copy::Needed), DropCause::Random, 0, false);
        assert_eq!(truth.drop_cause(0), Some(DropCause::Random));
    }

    #[test]
    fn acknowledged_ranges_are_forgotten() {
        let mut truth = FlowTruth::default();
        for n in 0..100 {
            truth.sent_first(1000);
            let una = (n * 1000_u64).saturating_sub(3000);
            truth.dropped(
                &data(n * 1000, n + 1, Copy::First),
                DropCause::Random,
                una,
                false,
            );
        }
        assert_eq!(truth.remembered(), 4);
    }
}
