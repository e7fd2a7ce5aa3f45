//! LE for a peer that does not permit SACK.
//!
//! Without SACK, the only unknown is the segment that caused a duplicate ACK. The paper's implementation counts dupCnt
//! of "the corresponding" segment at every duplicate ACK (§4.1, §4.3). Without SACK blocks, the only segment that is
//! certainly missing is the first. With this count, the duplicate ACKs of segments sent before its retransmission would
//! also count against the retransmission, and every third one would make it lost. Therefore the order of transmission
//! is used here as well:
//!
//! - A duplicate ACK is attributed to the oldest transmission, other than of the first segment, to
//!   which none has been attributed yet: a path that preserves the order delivers them in this order. The
//!   segment has left the network.
//! - An advance is attributed to the latest transmission of the segments that it acknowledges. Segments sent before
//!   this transmission have left the network, too.
//! - The first segment is lost when `dup_threshold` ACKs are attributed to transmissions later than its
//!   last. A partial ACK shows the next loss at once if these ACKs arrived earlier, and a lost retransmission
//!   is detected in the same way as a lost first transmission.
//! - After a timeout everything is retransmitted in order (go-back-N), and duplicate ACKs are ignored
//!   until all of it is acknowledged, because spurious retransmissions cause them.
//!
//! ```text
//! in flight = outstanding − lost − attributed to duplicate ACKs
//! ```
//!
//! Lost ACKs delay the detection of a loss, and never cause a false one. Unlike NewReno, this variant of LE has no
//! recovery phase: the window is reduced at most once per round trip, and continues to grow.
//!
//! Cost: a transmission enters and leaves a queue once. Amortised O(1).

use alloc::collections::VecDeque;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, SendReason, Sent, View};
use dupack_tcp::recovery::{
    Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::{Scoreboard, Segment, SegmentId};
use dupack_tcp::time::Instant;
use dupack_tcp::undo::{Reversal, Spurious};

use super::super::ambiguity::last_transmission_arrived;
use super::super::go_back_n::GoBackN;
use super::super::rto_policy::RtoPolicy;
use super::super::two_lists::Transmission;
use super::{FirstRetransmit, LargestStamps, LeParameters, Opening, Stamp, TRANSMISSION_ORDER};

/// Assumed state of an outstanding segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    InFlight,
    /// The segment has left the network according to a duplicate ACK, or to the ACK of a later transmission.
    Gone,
    /// To be retransmitted.
    Lost,
}

/// Outstanding segment.
#[derive(Clone, Copy, Debug)]
struct Slot {
    place: Place,
    len: u32,
}

/// LE without SACK. See the [module](self).
#[derive(Debug)]
pub(super) struct WithoutSack {
    first_retransmit: FirstRetransmit,
    opening: Opening,
    rto_timer: RtoPolicy,
    dup_threshold: usize,
    /// Transmissions to which no ACK has been attributed, in the order of sending.
    waiting: VecDeque<Transmission>,
    /// Slots of all outstanding segments.
    slots: VecDeque<Slot>,
    /// Segment number of the first slot.
    first: u64,
    /// Outstanding bytes that have left the network or are lost.
    away_bytes: u64,
    /// Orders of the latest transmissions to which ACKs were attributed.
    largest: LargestStamps,
    resend: GoBackN,
    /// End of the data that was outstanding at the last timeout.
    rto_edge: u64,
    last_loss_time: Option<Instant>,
    /// The first segment is to be retransmitted.
    retransmit: bool,
    /// The retransmission is sent even if the window does not permit it.
    fast_retransmit: bool,
}

impl WithoutSack {
    pub(super) fn new(parameters: &LeParameters) -> Self {
        let dup_threshold = parameters.counting.dup_threshold.max(1) as usize;
        Self {
            first_retransmit: parameters.first_retransmit,
            opening: parameters.opening,
            rto_timer: parameters.timer.rto_timer,
            dup_threshold,
            waiting: VecDeque::new(),
            slots: VecDeque::new(),
            first: 0,
            away_bytes: 0,
            largest: LargestStamps::new(dup_threshold),
            resend: GoBackN::default(),
            rto_edge: 0,
            last_loss_time: None,
            retransmit: false,
            fast_retransmit: false,
        }
    }

    fn place(&mut self, id: SegmentId, place: Place) {
        let index = id.0.checked_sub(self.first);
        let Some(slot) = index.and_then(|i| self.slots.get_mut(usize::try_from(i).ok()?)) else {
            return;
        };
        let len = u64::from(slot.len);
        match (slot.place, place) {
            (Place::InFlight, Place::InFlight) => {}
            (Place::InFlight, _) => self.away_bytes += len,
            (_, Place::InFlight) => self.away_bytes -= len,
            _ => {}
        }
        slot.place = place;
    }

    /// Returns `true` if the transmission is its segment's last, and in flight.
    fn is_in_flight(&self, transmission: Transmission, board: &Scoreboard) -> bool {
        let index = transmission.id.0.checked_sub(self.first);
        let slot = index.and_then(|i| self.slots.get(usize::try_from(i).ok()?));
        slot.is_some_and(|slot| slot.place == Place::InFlight)
            && board
                .get(transmission.id)
                .is_some_and(|segment| segment.order == transmission.order)
    }

    /// Removes the acknowledged segments.
    fn advance(&mut self, board: &Scoreboard) {
        while self.first < board.first().0
            && let Some(slot) = self.slots.pop_front()
        {
            self.first += 1;
            if slot.place != Place::InFlight {
                self.away_bytes -= u64::from(slot.len);
            }
        }
        // An ACK inside the first segment shortens it.
        if let (Some(slot), Some(segment)) = (self.slots.front_mut(), board.get(board.first())) {
            if slot.place != Place::InFlight {
                self.away_bytes -= u64::from(slot.len - segment.len);
            }
            slot.len = segment.len;
        }
        // The ACK shows that the first segment has not arrived, so it cannot be `Gone`.
        if self
            .slots
            .front()
            .is_some_and(|slot| slot.place == Place::Gone)
        {
            self.place(SegmentId(self.first), Place::InFlight);
        }
    }

    /// Returns the transmission to which an advance is attributed; `None` if it is unknown.
    fn cause_of_advance(ack: &AckFacts<'_>, view: &View<'_>) -> Option<u64> {
        let certain = ack
            .delivered
            .iter()
            .filter(|delivered| last_transmission_arrived(delivered, None, ack, view));
        certain.map(|delivered| delivered.segment.order).max()
    }

    /// Records that everything sent up to `order` has left the network.
    fn clear_before(&mut self, order: u64, board: &Scoreboard) {
        while let Some(&oldest) = self.waiting.front()
            && oldest.order <= order
        {
            self.waiting.pop_front();
            if oldest.id != board.first() && self.is_in_flight(oldest, board) {
                self.place(oldest.id, Place::Gone);
            }
        }
    }

    /// Returns the transmission to which a duplicate ACK is attributed.
    fn cause_of_duplicate(&mut self, board: &Scoreboard) -> Option<u64> {
        while let Some(oldest) = self.waiting.pop_front() {
            if oldest.id != board.first() && self.is_in_flight(oldest, board) {
                self.place(oldest.id, Place::Gone);
                return Some(oldest.order);
            }
        }
        None
    }

    /// Attributes an ACK to a transmission, if that is possible.
    fn attribute(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        let board = view.scoreboard;
        let cause = match ack.kind {
            AckKind::Advance => {
                let cause = Self::cause_of_advance(ack, view);
                if let Some(order) = cause {
                    self.clear_before(order, board);
                }
                cause
            }
            AckKind::Duplicate if ack.una >= self.rto_edge => self.cause_of_duplicate(board),
            AckKind::Duplicate | AckKind::Other => None,
        };
        if let Some(value) = cause {
            self.largest.push(Stamp { value, acks: 0 });
        }
    }

    /// Returns `true` if the first segment is lost.
    fn is_first_lost(&mut self, view: &View<'_>) -> bool {
        let board = view.scoreboard;
        let (Some(first), Some(reach)) = (
            board.get(board.first()),
            self.largest.kth(self.dup_threshold),
        ) else {
            return false;
        };
        if self.retransmit || board.una() < self.rto_edge || first.order >= reach.value {
            return false;
        }
        self.place(board.first(), Place::Lost);
        self.retransmit = true;
        true
    }

    /// Returns `true` if a loss detected now begins a loss event (§2.2.3).
    fn begins_event(&self, view: &View<'_>) -> bool {
        let rtt = view.rtt.srtt().unwrap_or_default();
        self.last_loss_time
            .is_none_or(|last| view.now.since(last) > rtt)
    }
}

impl Recovery for WithoutSack {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.resend.on_sent(sent);
        if sent.id == view.scoreboard.first() {
            self.retransmit = false;
            self.fast_retransmit = false;
        }
        if self.first + self.slots.len() as u64 == sent.id.0 {
            self.slots.push_back(Slot {
                place: Place::InFlight,
                len: sent.segment.len,
            });
        } else {
            self.place(sent.id, Place::InFlight);
        }
        self.waiting.push_back(Transmission {
            id: sent.id,
            order: sent.segment.order,
        });
        if self.in_flight(view) == u64::from(sent.segment.len) {
            RtoTimer::Restart
        } else {
            self.rto_timer.on_sent(sent, view)
        }
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let advanced = ack.acked_bytes > 0;
        if advanced {
            self.resend.on_ack(view);
            self.advance(view.scoreboard);
            if !ack.delivered.is_empty() {
                // The segment that was to be retransmitted has been acknowledged.
                self.retransmit = false;
                self.fast_retransmit = false;
            }
        }
        self.attribute(ack, view);
        let event = self.is_first_lost(view) && self.begins_event(view);
        if event {
            self.last_loss_time = Some(view.now);
            self.fast_retransmit = self.first_retransmit == FirstRetransmit::Immediate;
        }
        let first = view.scoreboard.first();
        Outcome {
            loss: event.then(|| LossEvent::of(first, TRANSMISSION_ORDER)),
            restore: None,
            limit: None,
            growth: if event {
                Growth::Frozen
            } else {
                self.opening.growth(ack)
            },
            rto: self.rto_timer.on_ack(ack),
            timing: Timing::Sample,
            exit: Exit::No,
        }
    }

    fn on_cut(&mut self, view: &View<'_>) {
        let board = view.scoreboard;
        self.first = board.first().0;
        let slot = |(_, segment): (_, &Segment)| Slot {
            place: Place::InFlight,
            len: segment.len,
        };
        self.slots = board.iter_from(board.first()).map(slot).collect();
        self.on_rto(view);
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.resend.begin(view, LossRule::TIMEOUT);
        self.rto_edge = view.scoreboard.nxt();
        self.waiting.clear();
        for slot in &mut self.slots {
            slot.place = Place::InFlight;
        }
        self.away_bytes = 0;
        self.last_loss_time = Some(view.now);
        self.retransmit = false;
        self.fast_retransmit = false;
    }

    fn on_spurious(&mut self, _: &Spurious, _: &View<'_>) -> Reversal {
        self.resend.stop();
        self.last_loss_time = None;
        self.retransmit = false;
        self.fast_retransmit = false;
        Reversal::Done(None)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        if self.resend.is_active() {
            return self.resend.flight_size(view);
        }
        view.flight_size().saturating_sub(self.away_bytes)
    }

    fn next(&self, view: &View<'_>) -> Next {
        if self.retransmit {
            return Next::Retransmit {
                id: view.scoreboard.first(),
                why: SendReason::Retransmit(TRANSMISSION_ORDER),
                clearance: if self.fast_retransmit {
                    Clearance::Immediate
                } else {
                    Clearance::Window
                },
            };
        }
        self.resend.next().unwrap_or(Next::New {
            why: SendReason::NewData,
            clearance: Clearance::Window,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::Entry;
    use dupack_tcp::recovery::Recovery;

    use super::*;
    use crate::recovery::adversary;
    use crate::testing::{Setup, Timeline, ack, coin};

    fn entry() -> Entry<dyn Recovery> {
        Entry::recovery("le-without-sack", file!())
            .build(|parameters: &LeParameters, _| Box::new(WithoutSack::new(parameters)))
    }

    /// Returns a timeline with ten segments sent at once. The first is acknowledged after 100 ms, which permits segment
    /// 10.
    fn ten() -> Timeline {
        let mut t = Setup::new(entry()).window(10.0).ssthresh(5.0).start(60);
        assert_eq!(t.receive(100, ack(1)), "new:10");
        t
    }

    #[test]
    fn any_network_is_survived() {
        for seed in 0..4_000 {
            adversary::transfer(entry(), seed, |setup, random| {
                let setup = adversary::any_timestamps(setup, random);
                adversary::any_threshold(setup, random)
            });
        }
    }

    #[test]
    fn a_loss_is_repaired_by_three_duplicate_acks() {
        let mut t = ten();
        // Each duplicate ACK shows that a segment has left the network, and permits one new segment.
        assert_eq!(t.receive(101, ack(1)), "new:11");
        assert_eq!(t.receive(102, ack(1)), "new:12");
        assert_eq!(t.receive(103, ack(1)), "order:1");
        assert_eq!(t.sender().duplicate_acks(), 3);
        assert_eq!(t.cwnd(), 6.0);
        // The retransmission of 1, and 5 to 12, are in flight. The ACKs of 5 to 10 do not count against the
        // retransmission.
        assert_eq!(t.in_flight(), 9.0);
        for ms in 104..110 {
            t.receive(ms, ack(1));
        }
        assert_eq!(t.sender().stats().retransmissions, 1);
        let sent = t.receive(203, ack(13)).to_owned();
        assert!(sent.starts_with("new:"), "{sent}");
        assert_eq!(t.sender().stats().timeouts, 0);
    }

    #[test]
    fn acknowledged_segments_are_no_longer_counted_as_gone() {
        let mut t = ten();
        // Segment 1 is lost, and 2 to 10 arrive.
        for ms in 101..110 {
            t.receive(ms, ack(1));
        }
        // All of these were sent before the retransmission of 1. Nothing shows that any later segment has arrived.
        t.receive(203, ack(13));
        let board = t.sender().scoreboard();
        assert_eq!(t.in_flight() * 1000.0, board.flight_size() as f64);
    }

    #[test]
    fn a_partial_ack_shows_the_next_loss_and_cuts_nothing_within_a_round_trip() {
        let mut t = ten();
        // Segments 1 and 5 are lost, so there are eight duplicate ACKs.
        for ms in 101..109 {
            t.receive(ms, ack(1));
        }
        let cut = t.cwnd();
        let sent = t.receive(203, ack(5)).to_owned();
        assert!(sent.starts_with("order:5"), "{sent}");
        assert!(t.cwnd() >= cut);
        assert_eq!(t.sender().stats().loss_events, 1);
    }

    #[test]
    fn a_lost_retransmission_is_found() {
        let mut t = ten();
        // While 2 to 10 arrive, segments 11 and 12 are sent, then the retransmission of 1, then 13 to 15.
        for ms in 101..110 {
            t.receive(ms, ack(1));
        }
        assert_eq!(t.sender().stats().retransmissions, 1);
        // 11 and 12 were sent before the retransmission, and 13 to 15 after it.
        for ms in 201..205 {
            assert!(!t.receive(ms, ack(1)).contains("order:1"));
        }
        let sent = t.receive(205, ack(1)).to_owned();
        assert!(sent.contains("order:1"), "{sent}");
    }

    #[test]
    fn many_losses_are_repaired_without_a_timeout() {
        for seed in 0..200 {
            let mut lost = coin(seed, 0.02);
            let done = Setup::new(entry()).transfer(300, |order, _| order < 280 && lost());
            assert!(done.stats.retransmissions > 0 || done.stats.segments_sent == 300);
        }
    }

    #[test]
    fn before_all_that_timed_out_is_acknowledged_nothing_is_a_loss() {
        let mut t = ten();
        // Segments 1 and 5 are lost, and the retransmission of 1, too. More than three ACKs are attributed to segments
        // sent after 5.
        for ms in 101..109 {
            t.receive(ms, ack(1));
        }
        let expiry = t.rto_at().expect("data is outstanding");
        assert_eq!(t.wait(expiry), "rto:1");
        let events = t.sender().stats().loss_events;
        // More than a round trip later, the retransmission continues in order, in slow start.
        assert_eq!(t.receive(expiry + 150, ack(5)), "rto:5 rto:6");
        assert_eq!(t.sender().stats().loss_events, events);
    }
}
