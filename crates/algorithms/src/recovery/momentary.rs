//! Momentary: no recovery phase; the window is halved once, and additive increase continues.
//!
//! J.-H. Hwang, S.-H. Yoo and C. Yoo, Momentary Recovery Algorithm: A New Look at the Traditional Problem of TCP, IEICE
//! Trans. Commun. E92-B(12), 2009, algorithms 1 and 2. Loss detection and the window are decoupled: after three
//! duplicate ACKs the holes below the forward ACK are lost and the window is halved. From then on the window slides and
//! grows as if the lost segments had arrived.
//!
//! ```text
//! moment_ack  normal mode: the cumulative ACK;   recovery mode: the forward ACK
//! may send    (moment_ack, moment_ack + cwnd − retransmit]
//!             here: in flight = snd.nxt − moment_ack + retransmit
//! order       holes first, lowest first; then new data
//! growth      in recovery mode, every ACK, duplicate or not, causes one increase
//! ends        when everything outstanding at the loss is cumulatively acknowledged
//! ```
//!
//! `retransmit` is the data that has been retransmitted and is neither acknowledged nor sacked. There is no fast
//! retransmit beyond the window: the third duplicate ACK moves `moment_ack` to the forward ACK at once, and then the
//! halved window determines what is sent. In normal mode, each of the first two duplicate ACKs permits one new segment
//! (figure 3(d): "2 + 3").
//!
//! Three parameters are readings of algorithm 1. `slide=next-ack`, `exit=repaired` and `new_loss=ignore` are the
//! algorithm as printed. Both readings of each send the same segments in figures 2 and 3(d). The defaults are others
//! than the print because of these cases:
//! - `slide`: the printed branch that detects the loss halves the window and leaves `moment_ack` at the cumulative ACK.
//!   The next ACK moves it to the forward ACK. If the third duplicate ACK is the last one, the holes wait for the ACKs of
//!   limited transmit, a round trip later, or for the timer. This is the case for the eight losses of figure 5,
//!   where the paper's Momentary is the fastest. By default, the detection itself moves it (`at-loss`), as the text on
//!   figure 2 opens the window when the loss is detected.
//! - `exit`: the print ends recovery mode when the cumulative ACK covers all lost segments. The sender knows only the
//!   losses below the forward ACK. If the last segment of the window is also lost, recovery mode ends before this is
//!   known, and the same window of data halves cwnd twice. By default, recovery mode ends when everything outstanding at
//!   the loss is acknowledged (`covered`), so a window of data halves cwnd once.
//! - `new_loss`: the print has no branch for a loss in recovery mode, so a segment that is first sent after the loss was
//!   detected and is lost before recovery mode ends leaves cwnd unchanged (`ignore`). If a segment is lost in every round
//!   trip, recovery mode never ends and cwnd grows on. By default, such a loss is a new loss event, which is our addition
//!   (`halve`). It is detected like the first one, by three ACKs that report something above the segment. The report
//!   takes a round trip, so there is at most one event per round trip.
//!
//! Readings without a parameter:
//! - A lost retransmission is detected only by the timer.
//! - After a timeout everything outstanding is lost, recovery mode ends, sacked segments are not
//!   retransmitted, and no loss event begins before all of this data is acknowledged.
//!
//! For comparison: FACK slides its window by the same forward ACK, but does not wait for three duplicate ACKs, sends
//! nothing before the loss is detected, and does not let the window grow before the end. SACK considers a hole lost
//! only if enough data above it is sacked.
//!
//! Cost: two cursors that only move forward (`hole_cursor`); amortised O(1).

#[cfg(test)]
mod tests;

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, AckKind, LossRule, RuleWords, SendReason, Sent, View};
use dupack_tcp::recovery::{Clearance, Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::scoreboard::{DeliveredBy, Scoreboard};
use dupack_tcp::undo::{Reduction, Reversal, Spurious};

use super::hole_cursor::HoleCursor;
use super::rto_policy::{RtoPolicy, RtoTimerParameters};
use super::shared::{DupThreshold, LimitedTransmit};
use crate::catalog::{Choice, Context, Entry, Linux, Needs, Parameters, Switch};

/// Rule of a hole below the forward ACK after three duplicate ACKs (Momentary §3.1).
pub const HOLE_BELOW_FORWARD_ACK: LossRule = LossRule::new(&RuleWords {
    name: "hole",
    meaning: "hole below the forward ACK",
});

/// Momentary recovery. See the [module](self).
#[derive(Debug)]
struct Momentary {
    smss: u32,
    dup_threshold: u32,
    limited_transmit: Switch,
    slide: Slide,
    exit: ExitRule,
    new_loss: NewLoss,
    rto_timer: RtoPolicy,
    mode: Mode,
    /// Next hole to retransmit; the missing bytes below it are `retransmit`.
    holes: HoleCursor,
    /// First segment that is not sacked and belongs to no loss event yet.
    fresh: HoleCursor,
    /// Number of ACKs that reported something above the current position of `fresh`. In normal mode, these are the
    /// duplicate ACKs.
    reports: u32,
    /// End of the data that was outstanding at the last timeout; all of it is lost.
    rto_edge: u64,
}

/// Time at which the left edge of the window becomes the forward ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum Slide {
    /// at once, with the ACK that detects the loss
    AtLoss,
    /// with the next ACK
    NextAck,
}

/// End of recovery mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum ExitRule {
    /// when everything outstanding at the loss is acknowledged
    Covered,
    /// when every segment known to be lost is acknowledged
    Repaired,
}

/// Treatment of a loss among segments first sent after the loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum NewLoss {
    /// a new loss event, at most one per round trip
    Halve,
    /// part of the same event: the segment is retransmitted, and the window is unchanged
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Normal,
    Recovery {
        /// End of the data that was outstanding at the loss event.
        until: u64,
        left: LeftEdge,
    },
}

/// Left edge of the window in recovery mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftEdge {
    CumulativeAck,
    ForwardAck,
}

impl Momentary {
    fn new(parameters: &MomentaryParameters, context: &Context) -> Self {
        Self {
            smss: context.smss,
            dup_threshold: parameters.counting.dup_threshold,
            limited_transmit: parameters.limited_transmit.limited_transmit,
            slide: parameters.slide,
            exit: parameters.exit,
            new_loss: parameters.new_loss,
            rto_timer: parameters.timer.rto_timer,
            mode: Mode::Normal,
            holes: HoleCursor::default(),
            fresh: HoleCursor::default(),
            reports: 0,
            rto_edge: 0,
        }
    }

    /// Returns `true` if everything that was outstanding at the last timeout is acknowledged.
    fn past_timeout(&self, board: &Scoreboard) -> bool {
        board.una() >= self.rto_edge
    }

    /// Returns the left edge of the sliding window.
    fn moment_ack(&self, board: &Scoreboard) -> u64 {
        match self.mode {
            Mode::Recovery {
                left: LeftEdge::ForwardAck,
                ..
            } => board.forward_ack(),
            Mode::Recovery { .. } => board.una(),
            Mode::Normal if self.past_timeout(board) => board.una(),
            Mode::Normal => board.forward_ack().max(self.rto_edge),
        }
    }

    /// Returns the offset below which holes are to be retransmitted.
    fn resend_limit(&self, board: &Scoreboard) -> u64 {
        let recovery = match self.mode {
            Mode::Normal => 0,
            Mode::Recovery { until, .. } => self.lost_limit(until, board),
        };
        recovery.max(self.rto_edge)
    }

    /// Returns the offset below which holes are lost segments of the current loss event, which ends at `until`.
    fn lost_limit(&self, until: u64, board: &Scoreboard) -> u64 {
        match self.new_loss {
            NewLoss::Halve => until.min(board.forward_ack()),
            NewLoss::Ignore => board.forward_ack(),
        }
    }

    /// Returns `true` if recovery mode, whose loss event ends at `until`, is over.
    fn is_over(&self, until: u64, board: &Scoreboard) -> bool {
        let end = match self.exit {
            ExitRule::Covered => until,
            ExitRule::Repaired => self.lost_limit(until, board),
        };
        board.una() >= end
    }

    /// Returns the bytes that limited transmit adds to the window (RFC 3042 §2).
    fn limited_transmit_bytes(&self, board: &Scoreboard) -> u64 {
        let normal = self.mode == Mode::Normal && self.past_timeout(board);
        if !normal || self.limited_transmit == Switch::Off {
            return 0;
        }
        u64::from(self.reports.min(self.dup_threshold - 1)) * u64::from(self.smss)
    }

    /// Counts the ACK if it reports something above the first segment that belongs to no loss event.
    fn count_report(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) {
        let before = self.fresh.id();
        self.fresh.on_ack(ack, board);
        self.fresh.skip_sacked(board);
        if self.fresh.id() != before {
            self.reports = 0;
        }
        let above = |d: &dupack_tcp::scoreboard::Delivered| {
            d.by == DeliveredBy::Sack && d.id > self.fresh.id()
        };
        if ack.delivered.iter().any(above) {
            self.reports += 1;
        }
    }

    /// Ends recovery mode, whose loss event ends at `until`.
    fn end_recovery(&mut self, until: u64, board: &Scoreboard) {
        self.mode = Mode::Normal;
        if board.una() < until {
            // `repaired` leaves the rest of the window to a new loss event. Nothing is sacked here.
            self.fresh.rewind(board);
            self.reports = 0;
        }
    }

    /// Returns a loss event, if enough ACKs have reported something above a hole.
    fn detect(&mut self, board: &Scoreboard) -> Option<LossEvent> {
        let repeated = self.mode != Mode::Normal && self.new_loss == NewLoss::Ignore;
        if self.reports < self.dup_threshold || repeated || !self.past_timeout(board) {
            return None;
        }
        let segment = self.fresh.id();
        self.fresh.hole(board, board.forward_ack())?;
        let left = match (self.mode, self.slide) {
            (Mode::Normal, Slide::NextAck) => LeftEdge::CumulativeAck,
            _ => LeftEdge::ForwardAck,
        };
        self.mode = Mode::Recovery {
            until: board.nxt(),
            left,
        };
        self.fresh.leap_to_end(board);
        self.reports = 0;
        Some(LossEvent::of(segment, HOLE_BELOW_FORWARD_ACK))
    }
}

impl Recovery for Momentary {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        if sent.segment.transmissions > 1 {
            self.holes.pass(sent.id, view.scoreboard);
            if let Mode::Recovery { until, .. } = &mut self.mode {
                // Only `ignore` retransmits beyond `until`. The mode then lasts until that segment is repaired, too.
                *until = (*until).max(sent.segment.end());
            }
        }
        self.rto_timer.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let board = view.scoreboard;
        self.holes.on_ack(ack, board);
        self.holes.skip_sacked(board);
        self.count_report(ack, board);
        let mut outcome = Outcome {
            rto: self.rto_timer.on_ack(ack),
            ..Outcome::default()
        };
        // Algorithm 1: in recovery mode the increase comes first, so the last ACK also causes one.
        outcome.growth = match self.mode {
            Mode::Recovery { .. } if ack.kind != AckKind::Other => Growth::EveryAck,
            Mode::Normal if ack.acked_bytes > 0 => Growth::Acked,
            _ => Growth::Frozen,
        };
        if let Mode::Recovery { until, left } = &mut self.mode {
            *left = LeftEdge::ForwardAck;
            let until = *until;
            if self.is_over(until, board) {
                self.end_recovery(until, board);
                outcome.exit = Exit::Recovery;
            }
        }
        outcome.loss = self.detect(board);
        if outcome.loss.is_some() {
            outcome.growth = Growth::Frozen;
        }
        outcome
    }

    fn on_rto(&mut self, view: &View<'_>) {
        let board = view.scoreboard;
        self.mode = Mode::Normal;
        self.rto_edge = board.nxt();
        self.holes.rewind(board);
        self.fresh.leap_to_end(board);
        self.reports = 0;
    }

    /// Recovery mode ends. A loss among the segments that a timeout considered lost is a new loss event.
    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        let board = view.scoreboard;
        self.mode = Mode::Normal;
        if spurious.after == Reduction::Timeout {
            self.rto_edge = 0;
            self.fresh.rewind(board);
            self.reports = 0;
        }
        self.holes.rewind(board);
        Reversal::Done(None)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let board = view.scoreboard;
        let sent = board.nxt() - self.moment_ack(board) + self.holes.missing_below(board);
        sent.saturating_sub(self.limited_transmit_bytes(board))
    }

    fn next(&self, view: &View<'_>) -> Next {
        let board = view.scoreboard;
        if let Some(hole) = self.holes.hole(board, self.resend_limit(board)) {
            let rule = if hole.start < self.rto_edge {
                LossRule::TIMEOUT
            } else {
                HOLE_BELOW_FORWARD_ACK
            };
            return Next::Retransmit {
                id: self.holes.id(),
                why: SendReason::Retransmit(rule),
                clearance: Clearance::Window,
            };
        }
        let why = if self.limited_transmit_bytes(board) > 0 {
            SendReason::LimitedTransmit
        } else {
            SendReason::NewData
        };
        Next::New {
            why,
            clearance: Clearance::Window,
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = to;
    }
}

/// Momentary recovery's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct MomentaryParameters {
    #[embed]
    counting: DupThreshold,
    #[embed]
    limited_transmit: LimitedTransmit,
    /// time at which the left edge of the window becomes the forward ACK
    #[parameter(source = "Momentary §3.2 and figure 2; `next-ack` is algorithm 1 as printed", default = Slide::AtLoss)]
    slide: Slide,
    /// end of recovery mode
    #[parameter(source = "our reading; `repaired` is algorithm 1 as printed", default = ExitRule::Covered)]
    exit: ExitRule,
    /// treatment of a loss among segments first sent after a loss event
    #[parameter(basic, source = "our addition; `ignore` is algorithm 1 as printed", default = NewLoss::Halve)]
    new_loss: NewLoss,
    #[embed(change(rto_timer(default(
        rfc = RtoPolicy::Advance,
        linux = RtoPolicy::Head,
        ns2 = RtoPolicy::Head,
    ))))]
    timer: RtoTimerParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("momentary", file!())
        .summary("no recovery phase: halve once, slide by the forward ACK, keep increasing")
        .citation(
            "J.-H. Hwang, S.-H. Yoo and C. Yoo, Momentary Recovery Algorithm, IEICE Trans. \
             Commun. E92-B(12), 2009",
        )
        .needs(|_| Needs::SACK)
        .linux(Linux::missing("with SACK it has RACK-TLP").near("rack"))
        .build(|parameters, context| Box::new(Momentary::new(parameters, context)))
}
