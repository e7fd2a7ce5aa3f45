//! Delayed Fast Recovery: the first loss of a window counts as random, the second as congestion.
//!
//! R. K. Kothari, D. Dasgupta, "Delayed fast recovery", 2006, and R. Kothari, J. Gambhava, D. Dasgupta, "Adaptive flow
//! control", 2007, as Hwang, Yoo, Yoo (Momentary) §2 describe them. The reasoning is that congestion drops several
//! segments of a window, and a noisy link only one. A single loss is therefore retransmitted at once, but the window is
//! reduced only when another loss follows:
//!
//! ```text
//! first loss     retransmitted at once; cwnd unchanged; no loss event for the sender
//! second loss    the loss event: the control, or the response, reduces the window, and fast
//!                recovery lasts until everything outstanding now is acknowledged
//! none follows   no loss event: the window grows as outside a recovery
//! ```
//!
//! Lost segments, bytes in flight and the next transmission are exactly those of RFC 6675 (`sack`). The two recoveries
//! differ only in the time at which the window is reduced. This is also the weakness: fast retransmit was designed for
//! single losses, and a flow that does not respond to them takes bandwidth from flows that do (Momentary §2).
//!
//! A loss differentiation classifies a loss by delay; this recovery counts losses. The two may be combined: the
//! differentiation classifies the second loss like any other.
//!
//! Readings (the text of the papers was not available):
//! - A second loss is another segment that RFC 6675 considers lost before everything that was outstanding
//!   at the first loss is acknowledged (`second_loss = window`); or before the
//!   retransmission of the first is acknowledged (`repair`), after which the next loss counts as a first loss.
//! - A lost retransmission is detected by the timer, and a timeout is congestion.
//!
//! Cost: one more cursor that only moves forward; amortised O(1).

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, Sent, View};
use dupack_tcp::recovery::{Exit, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::scoreboard::{Reported, Scoreboard, SegmentId};
use dupack_tcp::undo::{Reversal, Spurious};

use super::hole_cursor::HoleCursor;
use super::sack::{Rfc6675, Rfc6675Parameters};
use super::shared::SACKED_ABOVE;
use crate::catalog::{Choice, Context, Entry, Linux, Needs, Parameters};

/// Delayed Fast Recovery. See the [module](self).
#[derive(Debug)]
struct DelayedFast {
    /// Recovery that retransmits lost segments; on its own, it would reduce the window at the first loss.
    sack: Rfc6675,
    second_loss: SecondLoss,
    state: State,
}

/// Period in which another loss counts as the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
enum SecondLoss {
    /// until everything outstanding at the first loss is acknowledged
    Window,
    /// until the first loss is repaired
    Repair,
}

/// Loss events from the sender's point of view.
#[derive(Clone, Copy, Debug)]
enum State {
    /// No loss is being repaired, or the last event was a timeout.
    Open,
    /// One loss is being repaired, and has not been reported to the sender.
    Delayed {
        first: SegmentId,
        /// Next hole above the first loss.
        second: HoleCursor,
    },
    /// Fast recovery: the window has been reduced.
    Cut,
}

impl DelayedFast {
    fn new(parameters: &DelayedFastParameters, context: &Context) -> Self {
        Self {
            sack: Rfc6675::new(&parameters.sack, context),
            second_loss: parameters.second_loss,
            state: State::Open,
        }
    }

    /// Updates the state with an ACK for which `sack` returned `outcome`. Returns the loss event to report to the
    /// sender, if any.
    fn advance(
        &mut self,
        outcome: &Outcome,
        ack: &AckFacts<'_>,
        board: &Scoreboard,
    ) -> Option<LossEvent> {
        if let State::Delayed { second, .. } = &mut self.state {
            second.on_ack(ack, board);
            second.skip_sacked(board);
        }
        if self.sack.recovery_point().is_none() {
            self.state = State::Open;
            return None;
        }
        if let Some(event) = outcome.loss {
            self.state = delayed(event.segment, board);
        }
        let State::Delayed { first, second } = self.state else {
            return None;
        };
        let id = second.id();
        if second.hole(board, board.forward_ack()).is_none() || !self.sack.is_lost(id) {
            return None;
        }
        if self.second_loss == SecondLoss::Repair && is_repaired(first, board) {
            self.state = delayed(id, board);
            return None;
        }
        self.state = State::Cut;
        self.sack.extend_recovery(board);
        Some(LossEvent::of(id, SACKED_ABOVE))
    }
}

/// Returns the state in which one loss, `first`, is being repaired.
fn delayed(first: SegmentId, board: &Scoreboard) -> State {
    let mut second = HoleCursor::default();
    second.rewind(board);
    second.pass(first, board);
    State::Delayed { first, second }
}

fn is_repaired(id: SegmentId, board: &Scoreboard) -> bool {
    board
        .get(id)
        .is_none_or(|segment| segment.reported == Reported::Sacked)
}

impl Recovery for DelayedFast {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.sack.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let was_cut = matches!(self.state, State::Cut);
        let mut outcome = self.sack.on_ack(ack, view);
        outcome.loss = self.advance(&outcome, ack, view.scoreboard);
        let is_cut = matches!(self.state, State::Cut);
        if !was_cut {
            outcome.exit = Exit::No;
            if !is_cut && ack.acked_bytes > 0 {
                outcome.growth = Growth::Acked;
            }
        }
        outcome
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.sack.on_rto(view);
        self.state = State::Open;
    }

    fn on_spurious(&mut self, spurious: &Spurious, view: &View<'_>) -> Reversal {
        self.state = State::Open;
        self.sack.on_spurious(spurious, view)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.sack.in_flight(view)
    }

    fn next(&self, view: &View<'_>) -> Next {
        self.sack.next(view)
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.sack.on_segment_size(from, to);
    }
}

/// Delayed Fast Recovery's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
struct DelayedFastParameters {
    #[embed]
    sack: Rfc6675Parameters,
    /// period in which another loss is the second loss, which reduces the window
    #[parameter(basic, source = "our reading of Momentary §2", default = SecondLoss::Window)]
    second_loss: SecondLoss,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Recovery> {
    Entry::recovery("delayed-fast", file!())
        .summary("SACK that repairs the first loss of a window and cuts the window at the second")
        .citation(
            "R. K. Kothari and D. Dasgupta, Delayed Fast Recovery, 2006; R. Kothari, \
             J. Gambhava and D. Dasgupta, 2007",
        )
        .needs(|_| Needs::SACK)
        .linux(Linux::missing("with SACK it has RACK-TLP").near("rack"))
        .build(|parameters, context| Box::new(DelayedFast::new(parameters, context)))
}

#[cfg(test)]
mod tests;
