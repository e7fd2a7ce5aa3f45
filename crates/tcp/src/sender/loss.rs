//! What few ACKs lead to: a loss event, put to the plug-ins, and the window that it leaves.

use super::{Sender, Witness};
use crate::facts::{LossCause, LossFacts, LossRule, View};
use crate::recovery::{Exit, LossEvent, Outcome};
use crate::scoreboard::Segment;
use crate::time::Instant;
use crate::window::{Window, WindowCause};

impl Sender {
    /// Carries out what concerns the window and the end of a recovery.
    #[inline(never)]
    pub(super) fn carry_out_event(
        &mut self,
        now: Instant,
        outcome: &Outcome,
        flight_size: u64,
        witness: &dyn Witness,
    ) {
        if let Some(event) = outcome.loss {
            self.answer_loss(now, event, flight_size, witness);
        }
        if outcome.restore.is_some() || outcome.limit.is_some() {
            let cwnd = self.window.cwnd;
            let restored = outcome.restore.map_or(cwnd, |least| cwnd.max(least));
            let limited = Window {
                cwnd: outcome.limit.map_or(restored, |most| restored.min(most)),
                ..self.window
            };
            self.set_window(now, limited, WindowCause::RecoveryLimit);
        }
        if outcome.exit == Exit::Recovery {
            self.stats.recoveries += 1;
            self.stats.recoveries_left_empty += u64::from(self.scoreboard.is_empty());
        }
    }

    /// A loss event: asks for its cause, and lets the control or the response set the window.
    pub(super) fn answer_loss(
        &mut self,
        now: Instant,
        event: LossEvent,
        flight_size: u64,
        witness: &dyn Witness,
    ) {
        let outstanding = || self.scoreboard.get(event.segment).copied();
        let Some(segment) = event.repaired.or_else(outstanding) else {
            debug_assert!(
                false,
                "a recovery reported a segment that is not outstanding"
            );
            return;
        };
        let loss = self.loss_facts(now, segment, event.rule, flight_size, witness);
        let cause = self.stack.differentiation.judge(&loss);
        self.stats.loss_events += 1;
        // ns-2.35 drops the sample at every fast retransmit (tcp.cc, reset_rtx_timer).
        self.timed = None;
        self.stats.judgements.record(loss.truth, cause);
        self.reduce(&loss, cause);
        self.tell_cause(&loss, cause);
    }

    /// Has the control or the response, whoever is responsible for `cause`, set the window.
    pub(super) fn reduce(&mut self, loss: &LossFacts, cause: LossCause) {
        let congestion = self.stack.control.reduction(loss);
        let (chosen, why) = match cause {
            LossCause::Congestion => {
                self.reduced_at = Some(loss.now);
                (congestion, WindowCause::Congestion)
            }
            LossCause::Wireless => (
                self.stack.response.respond(loss, congestion),
                WindowCause::Wireless,
            ),
        };
        self.growth = match cause {
            LossCause::Congestion => 1.0,
            LossCause::Wireless => self.stack.response.growth().clamp(0.0, 1.0),
        };
        let chosen = self.rounded(chosen);
        self.stack.control.on_loss(loss, cause, chosen);
        self.set_window(loss.now, chosen, why);
    }

    /// Tells the recovery how a loss was judged.
    pub(super) fn tell_cause(&mut self, loss: &LossFacts, cause: LossCause) {
        let new_len = self.new_len();
        let view = View {
            now: loss.now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            new_len,
        };
        self.stack.recovery.on_judged(loss, cause, &view);
    }

    pub(super) fn loss_facts(
        &self,
        now: Instant,
        segment: Segment,
        rule: LossRule,
        flight_size: u64,
        witness: &dyn Witness,
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
            truth: witness.cause_of_loss(segment.start),
        }
    }
}
