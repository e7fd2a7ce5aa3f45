//! SACK as in Fall and Floyd 1996 and in ns-2's `Sack1`: the variant `pipe = fall-floyd` of [`super::sack`].
//!
//! K. Fall and S. Floyd, Simulation-based Comparisons of Tahoe, Reno and SACK TCP, CCR 26(3), 1996; details from the
//! behaviour of ns-2.35. Outside recovery it is Reno. The third duplicate ACK halves the window and retransmits the
//! first segment; from then on the sender counts the segments in the pipe:
//!
//! ```text
//! at the third duplicate ACK   pipe = FlightSize − 3 SMSS
//! every ACK                    pipe −= SMSS
//! a partial ACK                pipe −= SMSS once more   (or two segments at once: `partial_ack`)
//! every segment sent           pipe += its length       (but the fast retransmit)
//!
//! while pipe + SMSS ≤ cwnd:  send the lowest hole not resent yet that has a SACK above it,
//!                            else new data
//! ```
//!
//! Unlike in RFC 6675, its successor, the count by ACKs does not include that lost segments have left the network. A
//! burst of losses therefore stops the ACK clock before `pipe` has fallen to the window, and the timer must help: seven
//! losses out of eleven are enough. On the other hand, a hole is retransmitted as soon as there is one SACK above it,
//! without waiting for three. A hole is retransmitted once per recovery; if the retransmission is lost, only the timer
//! detects it.
//!
//! After a timeout ns-2 forgets the SACKs and retransmits everything in order, go-back-N; `after_rto = holes` skips the
//! sacked segments. No fast retransmit follows before data beyond the data outstanding at the timeout is acknowledged.
//!
//! Cost: a count and cursors that only move forward; amortised O(1).

use core::cmp::Ordering;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, SendReason, Sent, View};
use dupack_tcp::recovery::{
    Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer, Timing,
};
use dupack_tcp::scoreboard::Scoreboard;

use super::duplicate_acks::DUPLICATE_ACKS;
use super::hole_cursor::HoleCursor;
use super::newreno;
use super::shared::{self, DupThreshold, SACKED_ABOVE};
use crate::catalog::{Choice, Context, Parameters};

/// Recovery of Fall and Floyd, with a counted pipe. See the [module](self).
#[derive(Debug)]
pub(super) struct FallFloyd {
    smss: u64,
    dup_threshold: u32,
    limited_transmit: LimitedTransmit,
    partial_ack: PartialAck,
    after_rto: AfterRto,
    phase: Phase,
    /// Number of consecutive duplicate ACKs that reported new sacked data.
    dup_acks: u32,
    duplicates: Duplicates,
    /// End of the data that was outstanding at the last timeout, until a recovery has ended.
    careful: Option<u64>,
    /// In recovery, the next hole to retransmit; after a timeout, the next segment.
    cursor: HoleCursor,
    /// With `partial_ack = resend`, the next segment that a partial ACK retransmits.
    partial_cursor: HoleCursor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitedTransmit {
    Off,
    /// No duplicate ACK permits a segment.
    Idle,
    /// A duplicate ACK permits a segment that has not been sent yet.
    Due,
}

/// Effect of a partial ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum PartialAck {
    /// reduction of the pipe by two segments
    Deflate,
    /// immediate retransmission of the next two segments that are not sacked
    Resend,
}

/// Segments that the sender retransmits after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum AfterRto {
    /// everything outstanding, including sacked segments
    GoBackN,
    /// segments that are not sacked
    Holes,
}

/// Parameters of this recovery in addition to RFC 6675's.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct FallFloydParameters {
    /// effect of a partial ACK (pipe = fall-floyd)
    #[parameter(
        source = "Fall and Floyd 1996 and ns-2's partial_ack_ false (its default), or true, as in the \
                  Momentary paper's figure 3(b)",
        default = PartialAck::Deflate,
    )]
    partial_ack: PartialAck,
    /// segments that the sender retransmits after a timeout (pipe = fall-floyd)
    #[parameter(
        source = "ns-2.35; RFC 6675 §5.1",
        default(rfc = AfterRto::Holes, linux = AfterRto::Holes, ns2 = AfterRto::GoBackN),
    )]
    after_rto: AfterRto,
}

/// Treatment of duplicate ACKs: they are ignored between a timeout and the next advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duplicates {
    Counted,
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery {
        /// Offset that ends the recovery when the data before it is acknowledged.
        until: u64,
        /// Bytes assumed to be in flight. The value is negative if more ACKs arrived than that, which permits more than
        /// the window (ns-2.35 `tcp-sack1.cc`, `recv`: `--pipe_`).
        pipe: i64,
        /// Segments that this ACK permits.
        turn: Turn,
        /// `Some` after the first partial ACK.
        partial: Partial,
    },
    /// Everything outstanding is being retransmitted; the cursor marks the progress.
    Resending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The fast retransmit.
    FastRetransmit,
    /// Nothing more: the ACK that begins a recovery permits only the fast retransmit.
    Over,
    /// This number of segments at once, for a partial ACK.
    Partial(u8),
    /// The segments that the pipe permits.
    Fill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partial {
    None,
    Some,
}

impl FallFloyd {
    pub(super) fn new(
        parameters: &FallFloydParameters,
        counting: &DupThreshold,
        limited_transmit: &shared::LimitedTransmit,
        context: &Context,
    ) -> Self {
        Self {
            smss: u64::from(context.smss),
            dup_threshold: counting.dup_threshold,
            limited_transmit: if limited_transmit.limited_transmit.is_on() {
                LimitedTransmit::Idle
            } else {
                LimitedTransmit::Off
            },
            partial_ack: parameters.partial_ack,
            after_rto: parameters.after_rto,
            phase: Phase::Open,
            dup_acks: 0,
            duplicates: Duplicates::Counted,
            careful: None,
            cursor: HoleCursor::default(),
            partial_cursor: HoleCursor::default(),
        }
    }

    /// Handles an ACK outside recovery.
    fn on_ack_open(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) -> Outcome {
        if self.limited_transmit == LimitedTransmit::Due {
            self.limited_transmit = LimitedTransmit::Idle;
        }
        if ack.acked_bytes > 0 {
            self.dup_acks = 0;
            self.duplicates = Duplicates::Counted;
            return Outcome {
                growth: Growth::Acked,
                rto: RtoTimer::Restart,
                ..Outcome::default()
            };
        }
        let news = ack.kind == AckKind::Duplicate && ack.sacked_bytes > 0;
        if !news || self.duplicates == Duplicates::Ignored {
            return Outcome::default();
        }
        self.dup_acks += 1;
        match self.dup_acks.cmp(&self.dup_threshold) {
            Ordering::Less if self.limited_transmit == LimitedTransmit::Idle => {
                self.limited_transmit = LimitedTransmit::Due;
            }
            Ordering::Equal => return self.enter(ack, board),
            Ordering::Less | Ordering::Greater => {}
        }
        Outcome::default()
    }

    fn enter(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) -> Outcome {
        if self.phase != Phase::Open || self.careful.is_some_and(|end| ack.una <= end) {
            return Outcome::default();
        }
        let hole = self.cursor.rewind_below(board, board.forward_ack());
        if hole.is_none() {
            // This case occurs only if a receiver withdraws SACKs; the timer handles it.
            return Outcome::default();
        }
        let departed = i64::from(self.dup_threshold) * self.smss as i64;
        self.phase = Phase::Recovery {
            until: board.nxt(),
            pipe: board.flight_size() as i64 - departed,
            turn: Turn::FastRetransmit,
            partial: Partial::None,
        };
        self.partial_cursor = self.cursor;
        Outcome {
            loss: Some(LossEvent::of(self.cursor.id(), DUPLICATE_ACKS)),
            rto: RtoTimer::Restart,
            ..Outcome::default()
        }
    }

    /// Handles an ACK in recovery.
    fn on_ack_recovery(&mut self, ack: &AckFacts<'_>) -> Outcome {
        let smss = self.smss as i64;
        let Phase::Recovery {
            until,
            pipe,
            turn,
            partial,
        } = &mut self.phase
        else {
            return Outcome::default();
        };
        let mut outcome = Outcome::default();
        if ack.una >= *until {
            self.phase = Phase::Open;
            self.dup_acks = 0;
            self.careful = None;
            outcome.rto = RtoTimer::Restart;
            outcome.exit = Exit::Recovery;
            return outcome;
        }
        // Every ACK counts, even one without new information, such as the ACK of a spurious retransmission (ns-2.35
        // tcp-sack1.cc, recv).
        *pipe -= smss;
        if *turn != Turn::FastRetransmit {
            *turn = Turn::Fill;
        }
        if ack.acked_bytes > 0 {
            match self.partial_ack {
                PartialAck::Deflate => {
                    *pipe -= smss;
                    outcome.rto = RtoTimer::Restart;
                    outcome.timing = Timing::KeepAndEndBackoff;
                }
                PartialAck::Resend => {
                    *pipe += smss;
                    *turn = Turn::Partial(2);
                    outcome.timing = Timing::Keep;
                    if *partial == Partial::None {
                        outcome.rto = RtoTimer::Restart;
                        outcome.timing = Timing::KeepAndEndBackoff;
                    }
                }
            }
            *partial = Partial::Some;
        }
        outcome
    }

    /// After a timeout, ends the retransmission if the cursor has reached the end.
    fn end_resending(&mut self, board: &Scoreboard) {
        if self.phase != Phase::Resending {
            return;
        }
        if self.after_rto == AfterRto::Holes {
            self.cursor.skip_sacked(board);
        }
        if self.cursor.id() >= board.end() {
            self.phase = Phase::Open;
        }
    }

    /// Returns the next segment outside recovery: a new one or, after a timeout, a retransmission.
    fn next_in_order(&self, view: &View<'_>) -> Next {
        let (reason, clearance) = if self.dup_acks == 0 {
            (SendReason::NewData, Clearance::Window)
        } else if self.limited_transmit == LimitedTransmit::Due && self.limited_transmit_fits(view)
        {
            (SendReason::LimitedTransmit, Clearance::Immediate)
        } else {
            return Next::Nothing;
        };
        if self.phase == Phase::Resending {
            return Next::Retransmit {
                id: self.cursor.id(),
                why: SendReason::Retransmit(LossRule::TIMEOUT),
                clearance,
            };
        }
        Next::New {
            why: reason,
            clearance,
        }
    }

    /// Returns `true` if a duplicate ACK may permit one segment. The segment must be within the window plus one segment
    /// per duplicate ACK (RFC 3042 §2).
    fn limited_transmit_fits(&self, view: &View<'_>) -> bool {
        let enlarged = view.window.whole_bytes() + u64::from(self.dup_acks) * self.smss;
        let len = match self.phase {
            Phase::Resending => view.scoreboard.get(self.cursor.id()).map_or(0, |s| s.len),
            _ => view.new_len,
        };
        self.in_flight(view) + u64::from(len) <= enlarged
    }
}

impl Recovery for FallFloyd {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        let board = view.scoreboard;
        if self.limited_transmit == LimitedTransmit::Due {
            self.limited_transmit = LimitedTransmit::Idle;
        }
        match &mut self.phase {
            Phase::Open => {}
            Phase::Resending => {
                if sent.id == self.cursor.id() {
                    self.cursor.step(board);
                }
                self.end_resending(board);
            }
            Phase::Recovery { pipe, turn, .. } => {
                match *turn {
                    Turn::FastRetransmit => *turn = Turn::Over,
                    Turn::Partial(left) => {
                        *turn = if left > 1 {
                            Turn::Partial(left - 1)
                        } else {
                            Turn::Fill
                        };
                        self.partial_cursor.pass(sent.id, board);
                    }
                    Turn::Fill | Turn::Over => *pipe += i64::from(sent.segment.len),
                }
                if sent.segment.transmissions > 1 {
                    self.cursor.pass(sent.id, board);
                }
            }
        }
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let board = view.scoreboard;
        self.cursor.on_ack(ack, board);
        self.partial_cursor.on_ack(ack, board);
        if let Phase::Recovery { .. } = self.phase {
            self.cursor.skip_sacked(board);
            self.partial_cursor.skip_sacked(board);
            return self.on_ack_recovery(ack);
        }
        self.end_resending(board);
        self.on_ack_open(ack, board)
    }

    fn on_rto(&mut self, view: &View<'_>) {
        let board = view.scoreboard;
        self.phase = Phase::Resending;
        self.dup_acks = 0;
        self.duplicates = Duplicates::Ignored;
        if self.limited_transmit == LimitedTransmit::Due {
            self.limited_transmit = LimitedTransmit::Idle;
        }
        self.careful = Some(board.nxt());
        // The first outstanding segment is not sacked; otherwise the sender would have removed it.
        self.cursor.rewind(board);
        self.partial_cursor = self.cursor;
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        match self.phase {
            Phase::Open => view.flight_size(),
            Phase::Recovery { pipe, .. } => pipe.max(0) as u64,
            Phase::Resending => self.cursor.offset(view.scoreboard) - view.scoreboard.una(),
        }
    }

    fn allowance(&self, view: &View<'_>) -> u64 {
        let window = view.window.whole_bytes();
        match self.phase {
            Phase::Recovery { pipe, .. } => window.saturating_add_signed(-pipe),
            Phase::Open | Phase::Resending => window.saturating_sub(self.in_flight(view)),
        }
    }

    fn next(&self, view: &View<'_>) -> Next {
        let Phase::Recovery { until, turn, .. } = self.phase else {
            return self.next_in_order(view);
        };
        let board = view.scoreboard;
        let (cursor, limit, why, clearance) = match turn {
            Turn::Over => return Next::Nothing,
            Turn::FastRetransmit => (
                &self.cursor,
                until,
                SendReason::Retransmit(DUPLICATE_ACKS),
                Clearance::Immediate,
            ),
            Turn::Partial(_) => (
                &self.partial_cursor,
                board.nxt(),
                SendReason::Retransmit(newreno::PARTIAL_ACK),
                Clearance::Immediate,
            ),
            Turn::Fill => (
                &self.cursor,
                board.forward_ack(),
                SendReason::Retransmit(SACKED_ABOVE),
                Clearance::Window,
            ),
        };
        match cursor.hole(board, limit) {
            Some(_) => Next::Retransmit {
                id: cursor.id(),
                why,
                clearance,
            },
            // ns-2.35 sends new data on a partial ACK regardless of the pipe, and sends it twice (tcp-sack1.cc,
            // partial_ack_action). This is not reproduced.
            None => Next::New {
                why: SendReason::NewData,
                clearance: Clearance::Window,
            },
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = u64::from(to);
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::sender::DuplicateAckRule;

    use crate::catalog::{Dialect, Value};
    use crate::recovery::sack;
    use crate::testing::{Setup, Timeline, ack};

    fn fall_floyd() -> Setup {
        Setup::new(sack::entry()).set("pipe", "fall-floyd")
    }

    /// Returns a timeline with ten segments in flight, of which 0 is lost. Segments 1 to 3 have arrived, and limited
    /// transmit has sent 10 and 11.
    fn entered(setup: Setup) -> Timeline {
        let mut t = setup.window(10.0).ssthresh(2.0).start(100);
        assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:10");
        assert_eq!(t.receive(101, ack(0).sack(1, 3)), "limited:11");
        assert_eq!(t.receive(102, ack(0).sack(1, 4)), "dupacks:0");
        // FlightSize is 12, minus three. The timer restarts: 102 ms plus one second.
        assert_eq!((t.cwnd(), t.in_flight()), (5.0, 9.0));
        assert_eq!(t.rto_at(), Some(1102));
        t
    }

    #[test]
    fn every_ack_takes_a_segment_off_the_pipe() {
        let mut t = entered(fall_floyd());
        // 9 minus 4 fills the window of 5; the next ACK permits a segment.
        for end in 5..=8 {
            assert_eq!(t.receive(98 + u64::from(end), ack(0).sack(1, end)), "");
        }
        assert_eq!(t.in_flight(), 5.0);
        assert_eq!(t.receive(107, ack(0).sack(1, 9)), "new:12");
        assert_eq!(t.receive(108, ack(0).sack(1, 10)), "new:13");
        // An ACK without new information also reduces the pipe.
        assert_eq!(t.receive(109, ack(0).sack(1, 10)), "new:14");
        assert_eq!(t.in_flight(), 5.0);
        // Everything up to 11 is acknowledged: 12 to 14 are in flight, and the recovery is over.
        assert_eq!(t.receive(203, ack(12)), "new:15 new:16");
        assert_eq!((t.cwnd(), t.in_flight()), (5.0, 5.0));
        assert_eq!(t.sender().stats().recoveries, 1);
        assert_eq!(t.rto_at(), Some(1203));
    }

    #[test]
    fn without_limited_transmit_only_the_third_duplicate_releases_something() {
        let setup = fall_floyd().set("limited_transmit", "off");
        let mut t = setup.window(10.0).ssthresh(2.0).start(100);
        assert_eq!(t.receive(100, ack(0).sack(1, 2)), "");
        assert_eq!(t.receive(101, ack(0).sack(1, 3)), "");
        assert_eq!(t.receive(102, ack(0).sack(1, 4)), "dupacks:0");
    }

    #[test]
    fn an_ack_that_sacks_nothing_new_is_no_duplicate() {
        let setup = fall_floyd().configure(|c| c.duplicate_ack = DuplicateAckRule::AckNumberOnly);
        let mut t = setup.window(10.0).ssthresh(2.0).start(100);
        assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:10");
        for ms in 101..105 {
            assert_eq!(t.receive(ms, ack(0).sack(1, 2)), "");
        }
    }

    /// Returns a timeline in which segment 5 is also lost: 6 to 9 arrive, and the pipe permits the hole.
    fn second_hole(setup: Setup) -> Timeline {
        let mut t = entered(setup);
        assert_eq!(t.receive(103, ack(0).sack(1, 5)), "");
        for end in 7..=9 {
            let sacked = ack(0).sack(6, end).sack(1, 5);
            assert_eq!(t.receive(97 + u64::from(end), sacked), "");
        }
        let sent = t.receive(107, ack(0).sack(6, 10).sack(1, 5));
        assert!(sent.ends_with(":5") && !sent.contains("new"), "{sent}");
        t
    }

    #[test]
    fn a_hole_below_a_sack_goes_before_new_data_and_once() {
        let mut t = second_hole(fall_floyd());
        assert_eq!(t.receive(200, ack(0).sack(6, 11).sack(1, 5)), "new:12");
        // A partial ACK reduces the pipe of 5 by two segments, and the timer restarts.
        assert_eq!(t.receive(202, ack(5).sack(6, 11)), "new:13 new:14");
        assert_eq!(t.rto_at(), Some(1202));
        assert_eq!(t.sender().stats().retransmissions, 2);
    }

    #[test]
    fn a_partial_ack_may_resend_two_at_once() {
        let mut t = second_hole(fall_floyd().set("partial_ack", "resend"));
        assert_eq!(t.receive(200, ack(0).sack(6, 11).sack(1, 5)), "new:12");
        // Segment 5 is retransmitted, and 11, which is not sacked; the pipe does not change.
        let before = t.in_flight();
        let sent = t.receive(202, ack(5).sack(6, 11)).to_owned();
        let numbers: Vec<&str> = sent
            .split(' ')
            .filter_map(|s| s.split(':').nth(1))
            .collect();
        assert_eq!(numbers, ["5", "11"]);
        assert_eq!(t.in_flight(), before);
    }

    /// Returns a timeline with six segments in flight, of which 2 is sacked. The timer expires, and segment 0 is
    /// retransmitted.
    fn timed_out(setup: Setup) -> Timeline {
        let mut t = setup.window(6.0).ssthresh(2.0).start(100);
        t.receive(100, ack(0).sack(2, 3));
        assert!(t.wait(1100).ends_with("rto:0"));
        t
    }

    #[test]
    fn after_a_timeout_sacked_segments_are_skipped_or_not() {
        // Segment 2 is below the cursor, so it counts as in flight.
        let mut t = timed_out(fall_floyd());
        assert_eq!(t.receive(1200, ack(1).sack(2, 3)), "rto:1");
        assert_eq!(t.in_flight(), 2.0);
        assert_eq!(t.receive(1300, ack(3)), "rto:3 rto:4 rto:5");
        let mut t = timed_out(fall_floyd().dialect(Dialect::Ns2));
        assert_eq!(t.receive(1200, ack(1)), "rto:1 rto:2");
    }

    #[test]
    fn no_recovery_begins_before_more_than_the_timed_out_data_is_acknowledged() {
        // One SACK is enough here. Segments 0 to 5 were outstanding at the timeout.
        let setup = fall_floyd().set_value("dup_threshold", Value::Integer(1));
        let mut t = timed_out(setup);
        let before = t.sender().stats().loss_events;
        t.receive(1200, ack(1).sack(2, 3));
        assert!(t.receive(1300, ack(6)).starts_with("new:6 new:7"));
        t.receive(1400, ack(6).sack(7, 8));
        assert_eq!(t.sender().stats().loss_events, before);
        assert!(t.receive(1401, ack(8)).starts_with("new:"));
        t.receive(1501, ack(8).sack(9, 10));
        assert_eq!(t.sender().stats().loss_events, before + 1);
    }
}
