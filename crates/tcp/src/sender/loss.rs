//! Response to a loss event: the loss differentiation judges its cause, and the control or the response chooses the
//! window. Few ACKs cause a loss event.

use super::Sender;
use super::state::State;
use crate::facts::{LossCause, LossFacts, LossRule};
use crate::recovery::{Exit, LossEvent, Outcome};
use crate::scoreboard::Segment;
use crate::time::Instant;
use crate::undo::Reduction;
use crate::window::{Window, WindowCause};

impl Sender {
    /// Applies the decisions that change the window or end a recovery.
    #[inline(never)]
    pub(super) fn carry_out_event(&mut self, now: Instant, outcome: &Outcome, flight_size: u64) {
        if let Some(event) = outcome.loss {
            self.answer_loss(now, event, flight_size);
        }
        if outcome.restore.is_some() || outcome.limit.is_some() {
            let cwnd = self.state.window.cwnd;
            let restored = outcome.restore.map_or(cwnd, |least| cwnd.max(least));
            let limited = Window {
                cwnd: outcome.limit.map_or(restored, |most| restored.min(most)),
                ..self.state.window
            };
            self.state
                .set_window(now, limited, WindowCause::RecoveryLimit);
        }
        if outcome.exit == Exit::Recovery {
            self.state.stats.recoveries += 1;
            self.state.stats.recoveries_left_empty += u32::from(self.state.scoreboard.is_empty());
        }
    }

    /// Responds to a loss event: gets the cause from the loss differentiation, and the window from the control or the
    /// response.
    pub(super) fn answer_loss(&mut self, now: Instant, event: LossEvent, flight_size: u64) {
        let outstanding = || self.state.scoreboard.get(event.segment).copied();
        let Some(segment) = event.repaired.or_else(outstanding) else {
            debug_assert!(
                false,
                "a recovery reported a segment that is not outstanding"
            );
            return;
        };
        if self.state.probe.is_some() && self.excuses_probe(now, event, segment) {
            return;
        }
        let mut loss = self.state.loss_facts(now, segment, event.rule, flight_size);
        if event.repaired.is_some() {
            // The segment was the only one missing; otherwise, no probe would have been sent.
            loss.hole = 1;
        }
        let cause = self.stack.differentiation.judge(&loss);
        self.state.stats.loss_events += 1;
        // ns-2.35 discards the sample at every fast retransmit (tcp.cc, reset_rtx_timer).
        self.state.stop_timing();
        if event.repaired.is_some() || self.state.is_reducing() {
            // Either no segment was retransmitted for this event, so no sign can show that it was spurious, or a mark
            // has proved congestion.
            self.state.undo.forbid();
        } else if self.state.begin_episode(Reduction::LossEvent) {
            self.stack.control.remember();
        }
        self.reduce(&loss, cause);
        self.tell_cause(&loss, cause);
    }

    /// Sets the window that the control or the response chooses, depending on `cause`.
    pub(super) fn reduce(&mut self, loss: &LossFacts, cause: LossCause) {
        if cause == LossCause::Congestion && self.state.is_reducing() {
            // A mark of the same window of data has already reduced the window (RFC 3168 §6.1.2).
            return;
        }
        let congestion = self.stack.control.reduction(loss);
        let (chosen, why) = match cause {
            LossCause::Congestion => {
                self.state.note_reduction(loss.now);
                (congestion, WindowCause::Congestion)
            }
            LossCause::Wireless => (
                self.stack.response.respond(loss, congestion),
                WindowCause::Wireless,
            ),
        };
        self.state.growth = match cause {
            LossCause::Congestion => 1.0,
            LossCause::Wireless => share(self.stack.response.growth()),
        };
        let chosen = self.state.rounded(chosen);
        self.stack.control.on_loss(loss, cause, chosen);
        self.state.set_window(loss.now, chosen, why);
    }

    /// Reports the cause of a loss to the recovery.
    pub(super) fn tell_cause(&mut self, loss: &LossFacts, cause: LossCause) {
        let view = self.state.view(loss.now);
        self.stack.recovery.on_judged(loss, cause, &view);
    }
}

/// Limits a response's growth factor to 0..=1. As in `State::set_window`, NaN becomes the minimum.
fn share(said: f64) -> f64 {
    if said.is_nan() {
        0.0
    } else {
        said.clamp(0.0, 1.0)
    }
}

impl State {
    /// Returns the facts of the loss of `segment`.
    pub(super) fn loss_facts(
        &self,
        now: Instant,
        segment: Segment,
        rule: LossRule,
        flight_size: u64,
    ) -> LossFacts {
        LossFacts {
            now,
            segment,
            rule,
            flight_size,
            window: self.window,
            timeouts: if rule == LossRule::TIMEOUT {
                self.rtt.backoff() + 1
            } else {
                0
            },
            srtt: self.rtt.srtt(),
            rtt_min: self.rtt.min(),
            rtt_latest: self.rtt.latest(),
            hole: self.scoreboard.hole(segment.start),
            reduced_at: self.reduced_at,
            truth: None,
        }
    }
}
