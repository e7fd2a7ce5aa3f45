//! LE, *Loss rEsilience*: recovery by the order of transmission, without a recovery phase.
//!
//! Kang, Park, Mo, "Implementation and evaluation of a new TCP loss recovery architecture", EURASIP JWCN 2012:149.
//!
//! WAITLIST contains the segments in flight in the order in which they were sent, RTXLIST the segments known to be
//! lost; see `two_lists.rs`. An ACK is attributed to the transmission X that caused it, and counts once against every
//! unacknowledged transmission that is not newer than X:
//!
//! ```text
//! dupCnt = number of ACKs since it was sent whose X is not older       (§2.2.1)
//! lost:    dupCnt = dup_threshold (3)              → end of RTXLIST
//! send:    while in flight < cwnd: RTXLIST first, then new data        (§2.2.2)
//! reduce:  on a loss, unless the last reduction is within one RTT      (§2.2.3)
//! RTO:     set by a transmission into an empty pipe, reset by an advance of the cumulative ACK
//! ```
//!
//! For comparison: SACK and FACK count segments *above* a hole, so they never detect a lost retransmission. LE and
//! RACK-TLP count segments sent *later*, so they do. RACK waits for a time, LE for a number of ACKs. Neither Momentary
//! nor LE freezes the window, but Momentary still has one loss episode at a time; LE has none. The number of bytes in
//! flight is exact even when most of a window is lost, so the ACK clock continues: this is the main point of LE.
//!
//! # Why there is no scan
//!
//! The rule in the paper scans WAITLIST on every ACK. This is not necessary. Number the ACKs that count. Stamp a
//! transmission with *(its value, ACKs counted before it)*, where the value is its TSval or its order, and ACK number n
//! with *(value of its X, n)*. Values never decrease with the order of sending.
//!
//! **A transmission e is lost exactly if the k-th largest ACK stamp so far exceeds its own**, in lexicographic order,
//! where k is `dup_threshold`. Proof: an ACK raises e's dupCnt if and only if e was on WAITLIST when the ACK came and
//! value(X) ≥ value(e). If value(X) > value(e), X was sent after e, so e had been sent when the ACK came: the first
//! component decides, correctly. If the values are equal, e had been sent if and only if n > ACKs counted before e: the
//! second component decides, correctly. So dupCnt(e) is the number of ACK stamps above e's stamp, and this number is at
//! least k if and only if the k-th largest is above it. (An acknowledged transmission never comes back, so an e that is
//! still unacknowledged was unacknowledged at every ACK.) ∎
//!
//! Stamps never decrease along WAITLIST, so the lost transmissions are always a prefix of it: they are removed from its
//! head until one is not lost. ACK stamps mostly arrive in ascending order; a late one is inserted from the back among
//! the k stamps that are kept. Everything is therefore amortised O(1).
//!
//! The argument does not need a constant k: dupCnt(e) depends only on stamps, and the rule holds at every ACK with the
//! current k, *the k-th newest transmission acknowledged*. Therefore `threshold = adaptive`, which raises k with the
//! observed reordering (§2.3.4's future work, `le/reordering.rs`), has the same cost: the number of stamps kept is the
//! maximum of k. Transmissions that were judged lost before k was raised stay lost; k is lowered only when a timeout
//! has emptied WAITLIST.
//!
//! # Readings
//! - Every acknowledged entry is removed from WAITLIST, older than X or not (§4.3 rather than §2.2.1).
//! - `first_retransmit`: §2.2.2 sends while in flight < cwnd. The proof of the observation
//!   in §2.2.4 needs more: the third duplicate ACK sends the head of RTXLIST *while* it reduces
//!   the window. Otherwise, if three segments in the middle of a window survive, the bytes in flight stay above
//!   the new window, nothing is sent, no ACK arrives, and only the timer helps.
//! - `opening`: §3.3.1 replaces the loss recovery of Reno and nothing else, so the window grows
//!   as in Reno, on ACKs that advance the cumulative acknowledgment. Since there is no
//!   separate period for recovery (§2.2.3), another reading is that every ACK that delivers something
//!   increases the window: `delivery`. The ACK that begins a loss event does not.
//! - `dup_count`: §2.2.1 counts by the order of transmission, the kernel code of §4.3 by the
//!   sequence number (`sequence`, `le/by_sequence.rs`). There the echoed order (§4.2) is used to time
//!   segments and not to detect losses.
//! - `rto_timer`: §2.2.4 restarts the timer when the cumulative ACK advances, and at no other time
//!   while something is in flight. LE continues to send while a segment is being repaired, so this may take several
//!   round trips. Optionally, a retransmission of the first segment restarts the timer.
//! - "An RTT" is the smoothed round-trip time. A timeout is a reduction, too.
//! - For a peer that does not permit SACK, LE is a different algorithm, which counts duplicate ACKs (§4.3):
//!   `le/without_sack.rs`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use dupack_tcp::facts::{AckFacts, LossRule, RuleWords, SendReason, Sent, View};
use dupack_tcp::recovery::{
    Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::SegmentId;
use dupack_tcp::time::Instant;
use dupack_tcp::undo::{Reduction, Reversal, Spurious};

use super::ambiguity::last_transmission_arrived;
use super::rto_policy::{RtoPolicy, RtoTimerParameters};
use super::shared::DupThreshold;
use super::two_lists::TwoLists;
use crate::catalog::{Choice, Entry, Linux, Needs, Parameters};

mod by_sequence;
mod reordering;
#[cfg(test)]
mod tests;
mod without_sack;

use self::by_sequence::{BySequence, DupCount, SEQUENCE_ORDER};
use self::reordering::{Decay, Reordering, ThresholdRule};
use self::without_sack::WithoutSack;

/// Rule of three acknowledged later transmissions (LE §2.2.1).
pub const TRANSMISSION_ORDER: LossRule = LossRule::new(&RuleWords {
    name: "order",
    meaning: "later transmissions acknowledged",
});

/// Method to find the transmission that caused an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Cause {
    // The alternative of §4.2: the latest of the transmissions that the ACK reports.
    /// from the segments that the ACK reports for the first time
    Inferred,
    // §2.2.1.
    /// by a timestamp of fine resolution, which the ACK echoes
    Timestamp,
    // §4.2.
    /// by the transmission order, which the ACK echoes
    OrderEcho,
}

/// Condition for the first retransmission of a loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum FirstRetransmit {
    /// none: the segment is sent when the window is reduced
    Immediate,
    /// the window permits it
    Window,
}

/// ACKs that increase the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Opening {
    /// all ACKs that deliver something, duplicate or not
    Delivery,
    /// ACKs that advance the cumulative acknowledgment
    Advance,
}

impl Opening {
    fn growth(self, ack: &AckFacts<'_>) -> Growth {
        match self {
            Self::Delivery if ack.delivered_bytes > 0 => Growth::EveryAck,
            Self::Advance => Growth::Acked,
            Self::Delivery => Growth::Frozen,
        }
    }
}

/// Position in the order of sending, or the position up to which an ACK counts. Stamps are compared by `value`, then by
/// `acks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    /// TSval (unwrapped) or order of the transmission.
    value: u64,
    /// Number of ACKs counted before the transmission, or up to and including the ACK.
    acks: u64,
}

/// State of a segment's last transmission.
#[derive(Clone, Copy, Debug)]
struct Tag {
    stamp: Stamp,
    timestamp: Option<u32>,
}

/// Largest stamps of ACKs so far, in ascending order.
#[derive(Clone, Debug)]
struct LargestStamps {
    stamps: VecDeque<Stamp>,
    kept: usize,
}

impl LargestStamps {
    /// Keeps the `kept` largest stamps. `kept` must be the maximum threshold that will be used.
    fn new(kept: usize) -> Self {
        Self {
            stamps: VecDeque::new(),
            kept,
        }
    }

    fn push(&mut self, stamp: Stamp) {
        let behind = self.stamps.iter().rev().take_while(|&&s| s > stamp).count();
        self.stamps.insert(self.stamps.len() - behind, stamp);
        if self.stamps.len() > self.kept {
            self.stamps.pop_front();
        }
    }

    /// Returns the number of kept stamps that are larger than `stamp`.
    fn above(&self, stamp: Stamp) -> usize {
        self.stamps.len() - self.stamps.partition_point(|&s| s <= stamp)
    }

    /// Returns the `k`-th largest stamp, if there are that many.
    fn kth(&self, k: usize) -> Option<Stamp> {
        let index = self.stamps.len().checked_sub(k)?;
        self.stamps.get(index).copied()
    }
}

/// LE's recovery. See the [module](self).
#[derive(Debug)]
pub struct Le {
    cause: Cause,
    first_retransmit: FirstRetransmit,
    opening: Opening,
    rto_timer: RtoPolicy,
    /// Current threshold.
    dup_threshold: usize,
    /// Count by sequence number; `None` if the count is by the order of transmission.
    by_sequence: Option<Box<BySequence>>,
    /// Observed reordering, if the threshold is adaptive.
    reordering: Option<Box<Reordering>>,
    lists: TwoLists<Tag>,
    largest: LargestStamps,
    acks: u64,
    /// Value of the last transmission.
    last_value: Option<u64>,
    /// Value of the last ACK's X.
    last_cause: Option<u64>,
    last_loss_time: Option<Instant>,
    /// The next retransmission is sent even if the window does not permit it.
    fast_retransmit: bool,
}

impl Le {
    fn new(parameters: &LeParameters) -> Self {
        let dup_threshold = parameters.counting.dup_threshold.max(1) as usize;
        let by_sequence = parameters.dup_count == DupCount::Sequence;
        let adaptive = parameters.threshold == ThresholdRule::Adaptive && !by_sequence;
        let reordering = adaptive.then(|| {
            let most = parameters.threshold_max as usize;
            Box::new(Reordering::new(
                dup_threshold,
                most,
                parameters.threshold_decay,
            ))
        });
        let most = reordering.as_ref().map_or(dup_threshold, |r| r.most());
        Self {
            cause: parameters.cause,
            first_retransmit: parameters.first_retransmit,
            opening: parameters.opening,
            rto_timer: parameters.timer.rto_timer,
            dup_threshold,
            by_sequence: by_sequence.then(Box::default),
            reordering,
            lists: TwoLists::new(),
            largest: LargestStamps::new(most),
            acks: 0,
            last_value: None,
            last_cause: None,
            last_loss_time: None,
            fast_retransmit: false,
        }
    }

    /// Returns the value of a transmission. Values never decrease.
    fn value(&self, sent: &Sent) -> u64 {
        match (self.cause, sent.timestamp) {
            (Cause::Timestamp, Some(timestamp)) => match self.last_value {
                Some(last) => last + u64::from(timestamp.wrapping_sub(last as u32)),
                None => u64::from(timestamp),
            },
            _ => sent.segment.order,
        }
    }

    /// Returns the value of the transmission that caused the ACK; `None` if it is unknown.
    fn value_of_cause(&self, ack: &AckFacts<'_>, view: &View<'_>) -> Option<u64> {
        let echoed = match self.cause {
            Cause::Timestamp => self.echoed_value(ack),
            Cause::OrderEcho => ack.order_echo,
            Cause::Inferred => None,
        };
        if let Some(value) = echoed {
            // A window update repeats an echo although nothing arrived.
            let repeated = ack.delivered.is_empty() && self.last_cause == Some(value);
            return (!repeated).then_some(value);
        }
        if self.cause == Cause::Timestamp && ack.timestamp_echo.is_some() {
            return None;
        }
        self.inferred_value(ack, view)
    }

    /// Returns the echoed timestamp as a value; `None` if it was never sent.
    fn echoed_value(&self, ack: &AckFacts<'_>) -> Option<u64> {
        let last = self.last_value?;
        let behind = (last as u32).wrapping_sub(ack.timestamp_echo?);
        if (behind as i32) < 0 {
            return None;
        }
        last.checked_sub(u64::from(behind))
    }

    /// Returns the value of the latest transmission among those that the ACK reports for the first time. This
    /// transmission caused the ACK, unless a later one did.
    fn inferred_value(&self, ack: &AckFacts<'_>, view: &View<'_>) -> Option<u64> {
        let values = ack.delivered.iter().filter_map(|delivered| {
            let tag = self.lists.tag(delivered.id)?;
            last_transmission_arrived(delivered, tag.timestamp, ack, view)
                .then_some(tag.stamp.value)
        });
        values.max()
    }

    /// Raises the threshold, if it is adaptive, by the reordering that the ACK shows. Must be called before the ACK is
    /// counted.
    fn adapt(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let Some(reordering) = &mut self.reordering else {
            return;
        };
        let lists = &self.lists;
        let least = reordering.observe(ack, view, &self.largest, |delivered| {
            let timestamp = lists.tag(delivered.id).and_then(|tag| tag.timestamp);
            last_transmission_arrived(delivered, timestamp, ack, view)
        });
        self.dup_threshold = self.dup_threshold.max(least);
        if view.scoreboard.is_empty() {
            // All later transmissions are newer than these stamps.
            self.largest.stamps.clear();
        }
    }

    /// Returns the rule of loss detection.
    const fn rule(&self) -> LossRule {
        match self.by_sequence {
            None => TRANSMISSION_ORDER,
            Some(_) => SEQUENCE_ORDER,
        }
    }

    /// Moves every lost transmission to RTXLIST, and returns the first.
    fn find_lost(&mut self, view: &View<'_>) -> Option<SegmentId> {
        if let Some(by_sequence) = &mut self.by_sequence {
            let mut found = None;
            while let Some(passed) = by_sequence.next_lost(self.dup_threshold) {
                if self.lists.is_in_flight(passed, view.scoreboard) {
                    let rule = SEQUENCE_ORDER;
                    self.lists.condemn(passed.id, rule, view.scoreboard);
                    found.get_or_insert(passed.id);
                }
            }
            return found;
        }
        let reach = self.largest.kth(self.dup_threshold)?;
        let mut found = None;
        while let Some(oldest) = self.lists.oldest() {
            let tag = self.lists.tag(oldest.id);
            let Some(stamp) = tag.map(|tag| tag.stamp).filter(|&stamp| stamp < reach) else {
                break;
            };
            if let Some(reordering) = &mut self.reordering {
                reordering.judge(oldest.id, oldest.order, stamp);
            }
            let rule = TRANSMISSION_ORDER;
            self.lists.condemn(oldest.id, rule, view.scoreboard);
            found.get_or_insert(oldest.id);
        }
        found
    }

    /// Returns `true` if a loss detected now begins a loss event (§2.2.3).
    fn begins_event(&self, view: &View<'_>) -> bool {
        let rtt = view.rtt.srtt().unwrap_or_default();
        self.last_loss_time
            .is_none_or(|last| view.now.since(last) > rtt)
    }
}

impl Recovery for Le {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        let value = self.value(sent);
        self.last_value = Some(value);
        let tag = Tag {
            stamp: Stamp {
                value,
                acks: self.acks,
            },
            timestamp: sent.timestamp,
        };
        self.lists.sent(sent, tag, view.scoreboard);
        if let Some(by_sequence) = &mut self.by_sequence {
            by_sequence.sent(sent);
        }
        if sent.segment.transmissions > 1 {
            self.fast_retransmit = false;
        }
        let alone = self.lists.in_flight(view.scoreboard) == u64::from(sent.segment.len);
        if alone {
            RtoTimer::Restart
        } else {
            self.rto_timer.on_sent(sent, view)
        }
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let cause = self.value_of_cause(ack, view);
        self.adapt(ack, view);
        self.lists.delivered(ack.delivered, view.scoreboard);
        if let Some(by_sequence) = &mut self.by_sequence {
            by_sequence.acked(ack, view.scoreboard);
        } else if let Some(value) = cause {
            self.last_cause = cause;
            self.acks += 1;
            self.largest.push(Stamp {
                value,
                acks: self.acks,
            });
        }
        let found = self.find_lost(view);
        let event = found.filter(|_| self.begins_event(view));
        if event.is_some() {
            self.last_loss_time = Some(view.now);
            self.fast_retransmit = self.first_retransmit == FirstRetransmit::Immediate;
        } else if self.lists.next_lost().is_none() {
            self.fast_retransmit = false;
        }
        Outcome {
            loss: event.map(|segment| LossEvent::of(segment, self.rule())),
            restore: None,
            limit: None,
            growth: match event {
                None => self.opening.growth(ack),
                Some(_) => Growth::Frozen,
            },
            rto: self.rto_timer.on_ack(ack),
            timing: Timing::Sample,
            exit: Exit::No,
        }
    }

    /// After a change of the segment size, all segments count as lost, because no echo refers to the new segments.
    /// Their new stamps do not matter, because they will be retransmitted.
    fn on_cut(&mut self, view: &View<'_>) {
        let unsent = Tag {
            stamp: Stamp {
                value: self.last_value.unwrap_or_default(),
                acks: self.acks,
            },
            timestamp: None,
        };
        self.lists.cut(view.scoreboard, unsent);
        if let Some(by_sequence) = &mut self.by_sequence {
            by_sequence.renumbered();
        }
        self.on_rto(view);
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.lists.time_out(view.scoreboard, |_, _| true);
        if let Some(by_sequence) = &mut self.by_sequence {
            by_sequence.clear();
        }
        if let Some(reordering) = &mut self.reordering {
            self.dup_threshold = reordering.time_out(self.dup_threshold, view.scoreboard);
        }
        self.last_loss_time = Some(view.now);
        self.fast_retransmit = false;
    }

    /// The segments that a timeout considered lost are in flight again. Losses detected by the order of transmission
    /// remain, because the ACKs have not changed. There is no recovery to leave.
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        if spurious.after == Reduction::Timeout {
            let by_timer = |rule| rule == LossRule::TIMEOUT;
            self.lists.acquit(view.scoreboard, by_timer);
        }
        self.last_loss_time = None;
        Reversal::Done(None)
    }

    // `allowance` calls this for each segment.
    #[inline(always)]
    fn lost_bytes(&self) -> Option<u64> {
        Some(self.lists.judged_bytes())
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.lists.in_flight(view.scoreboard)
    }

    fn next(&self, _: &View<'_>) -> Next {
        match self.lists.next_lost() {
            Some((id, rule)) => Next::Retransmit {
                id,
                why: SendReason::Retransmit(rule),
                clearance: if self.fast_retransmit {
                    Clearance::Immediate
                } else {
                    Clearance::Window
                },
            },
            None => Next::New {
                why: SendReason::NewData,
                clearance: Clearance::Window,
            },
        }
    }
}

/// LE's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct LeParameters {
    /// method to find the transmission that caused an ACK
    #[parameter(
        basic,
        source = "LE §2.2.1, §4.2; `inferred` is the only one that needs no help from the peer",
        default = Cause::Inferred,
    )]
    cause: Cause,
    #[embed]
    counting: DupThreshold,
    /// transmissions against which an ACK counts
    #[parameter(
        source = "LE §2.2.1; §4.3, the code in Linux 2.6.17, has `sequence`",
        default = DupCount::Order,
    )]
    dup_count: DupCount,
    /// condition for the first retransmission of a loss event
    #[parameter(
        source = "LE §2.2.4, the proof of the observation; §2.2.2 would be `window`",
        default = FirstRetransmit::Immediate,
    )]
    first_retransmit: FirstRetransmit,
    /// ACKs that increase the window
    #[parameter(
        source = "LE §3.3.1 replaces Reno's loss recovery and nothing else, and Reno's window opens \
                  with new ACKs",
        default = Opening::Advance,
    )]
    opening: Opening,
    #[embed(change(rto_timer(
        source = "LE §2.2.4 (advance); RFC 6675 §6 and Linux restart it with the first segment, too",
        default = RtoPolicy::Advance,
    )))]
    timer: RtoTimerParameters,
    /// use of `dup_threshold`: fixed threshold, or initial value (dup_count = order)
    #[parameter(
        basic,
        source = "LE §2.2.1; §2.3.4 proposes a variable one",
        default = ThresholdRule::Fixed,
    )]
    threshold: ThresholdRule,
    /// maximum of an adaptive threshold (threshold = adaptive)
    #[parameter(
        source = "Linux, sysctl tcp_max_reordering",
        range = 1..=1000,
        unit = "ACKs",
        default = 300,
    )]
    threshold_max: u32,
    /// event that resets the threshold to `dup_threshold` (threshold = adaptive)
    #[parameter(source = "Linux, tcp_enter_loss", default = Decay::Timeout)]
    threshold_decay: Decay,
}

fn needs(parameters: &LeParameters) -> Needs {
    let needs = match parameters.cause {
        Cause::Inferred => Needs::SACK,
        Cause::Timestamp => Needs::SACK.and_trigger_timestamps(),
        Cause::OrderEcho => Needs::SACK.and_order_echo(),
    };
    match parameters.threshold {
        ThresholdRule::Fixed => needs,
        ThresholdRule::Adaptive => needs.and_dsack(),
    }
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("le", file!())
        .summary(
            "two lists in transmission order: constant recovery, lost retransmissions found too",
        )
        .citation("Kang, Park, Mo, EURASIP JWCN 2012:149")
        .needs(needs)
        .linux(Linux::missing("with SACK it has RACK-TLP").near("rack"))
        .without_sack(
            "le, which attributes duplicate ACKs to the oldest transmissions",
            |parameters, _| Box::new(WithoutSack::new(parameters)),
        )
        .build(|parameters, _| Box::new(Le::new(parameters)))
}
