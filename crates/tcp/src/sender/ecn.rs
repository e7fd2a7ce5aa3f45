//! Explicit congestion notification at the sender (RFC 3168 §6.1.2): what it does when the receiver
//! echoes a mark, and how it says that it has done so.
//!
//! A mark is answered as a loss that nothing was lost by: once a window of data, by what the control
//! makes of [`LossRule::MARK`], and until what was outstanding then is acknowledged the window does
//! not grow. A reduction for a loss or a timeout is an answer to the marks of its window, too, and
//! one for a mark is to the losses of its. The first new segment after any reduction carries CWR.

use super::Sender;
use super::state::State;
use crate::congestion::Governance;
use crate::facts::{AckFacts, LossCause, LossRule};
use crate::recovery::{Growth, Outcome};
use crate::scoreboard::Segment;
use crate::segment::{Bit, Codepoint};
use crate::time::Instant;
use crate::window::WindowCause;

/// What the sender of an ECN-capable connection remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// SND.NXT when the window was last reduced for congestion. Marks and losses of what was
    /// outstanding then have had their answer.
    answered: Option<u64>,
    /// Whether that was for a mark, and nothing acknowledged goes beyond.
    reducing: bool,
    /// CWR is due.
    cwr: Bit,
}

impl Marks {
    /// The window was reduced while `nxt` was SND.NXT, for something else than a mark.
    pub(super) const fn reduced(&mut self, nxt: u64) {
        *self = Self {
            answered: Some(nxt),
            reducing: false,
            cwr: Bit::Set,
        };
    }

    /// Whether a mark of this window of data has reduced the window.
    pub(super) const fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// What a segment that leaves carries. No repetition can be marked (§6.1.5).
    pub(super) fn stamp(&mut self, is_new: bool) -> (Codepoint, Bit) {
        if is_new {
            (Codepoint::Ect0, core::mem::take(&mut self.cwr))
        } else {
            (Codepoint::NotEct, Bit::Clear)
        }
    }
}

impl Sender {
    /// Heeds the echo of a mark, if the ACK has one; a window that was reduced for a mark does not
    /// grow before its end. `outcome` has been carried out but for the growth.
    #[inline(never)]
    pub(super) fn heed_marks(&mut self, facts: &AckFacts<'_>, outcome: &mut Outcome) {
        if self.state.governance == Governance::Model {
            // What a model makes of marks is its own affair: it is told of them.
            return;
        }
        let marks = &mut self.state.marks;
        // Beyond, not up to it: then CWR has reached the receiver (Linux, `tcp_fastretrans_alert`).
        if marks.answered.is_some_and(|nxt| facts.una > nxt) {
            marks.answered = None;
            marks.reducing = false;
        }
        if facts.ecn_echo.is_set() {
            // Congestion is proven: no reduction of this window was needless (RFC 4015 §3.4).
            self.state.undo.forbid();
            let marks = &self.state.marks;
            if marks.answered.is_none() && self.answer_mark(facts) {
                self.stack
                    .recovery
                    .on_mark(facts, &self.state.view(facts.now));
            }
            // RFC 3168 §6.1.2: no growth in response to an ACK with ECE.
            outcome.growth = Growth::Frozen;
        } else if marks.reducing {
            outcome.growth = Growth::Frozen;
        }
    }

    /// Reduces the window for a mark; whether there was anything that it could be of.
    fn answer_mark(&mut self, facts: &AckFacts<'_>) -> bool {
        let now = facts.now;
        let Some(segment) = self.state.marked_segment(facts) else {
            return false;
        };
        let flight_size = facts.prior_flight_unlimited;
        let loss = self
            .state
            .loss_facts(now, segment, LossRule::MARK, flight_size);
        if loss.window.cwnd <= f64::from(self.state.config.smss) {
            // A window of one segment cannot be halved: the next leaves when the retransmission
            // timer would have expired (§6.1.2).
            let wait = now + self.state.rtt.rto();
            self.state.pace_until = self.state.pace_until.max(wait);
        }
        let chosen = self.state.rounded(self.stack.control.reduction(&loss));
        self.stack
            .control
            .on_loss(&loss, LossCause::Congestion, chosen);
        self.state.growth = 1.0;
        self.state.reduced_at = Some(now);
        self.state.set_window(now, chosen, WindowCause::Ecn);
        self.state.stats.marks_answered += 1;
        self.state.marks = Marks {
            answered: Some(self.state.scoreboard.nxt()),
            reducing: true,
            cwr: Bit::Set,
        };
        true
    }
}

impl State {
    /// A segment that a mark may have been on: the first that the ACK reports, or that is
    /// outstanding.
    fn marked_segment(&self, facts: &AckFacts<'_>) -> Option<Segment> {
        let reported = facts.delivered.first().map(|delivered| delivered.segment);
        let board = &self.scoreboard;
        reported.or_else(|| board.get(board.first()).copied())
    }

    /// Takes note that the window was reduced for congestion, but for a mark.
    pub(super) fn note_reduction(&mut self, now: Instant) {
        self.reduced_at = Some(now);
        if self.config.ecn.is_on() {
            self.marks.reduced(self.scoreboard.nxt());
        }
    }
}
