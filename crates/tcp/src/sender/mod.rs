//! Sending half of the endpoint.
//!
//! The sender is a state machine without clock, socket or payload. Its host
//! 1. reports the amount of data to send ([`Sender::write`]),
//! 2. passes in ACKs ([`Sender::handle_ack`]) and the time ([`Sender::handle_timeout`]),
//! 3. takes segments after each of these calls until there are none ([`Sender::poll_transmit`]), and
//! 4. calls `handle_timeout` again no later than [`Sender::next_timeout`].
//!
//! The four plug-ins of the [`Stack`] decide which segments are lost, which segments are sent, and how the window
//! changes. Only the sender itself transmits segments and sets the window.

mod ack;
mod config;
mod ecn;
mod invariants;
mod loss;
mod pacing;
mod path;
pub(crate) mod state;
mod stats;
#[cfg(test)]
mod tests;
mod transmit;
mod undo;

pub use config::{
    CreditRule, DuplicateAckRule, IdleRule, SackMemory, SenderConfig, TimestampClock,
    TimestampValues, WindowLog, WrappedMarks,
};
pub use path::{CutRule, ProbeAttempt, ProbeOutcome};
pub use stats::{SenderStats, WindowChange};
pub use transmit::{Transmit, TransmitKind};

use crate::congestion::{Credit, Governance};
use crate::facts::{AckFacts, LimitedBy, LossCause, LossRule};
use crate::recovery::{Exit, Expiry, Growth, Outcome, Phase, TimeoutRule};
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment::Ack;
use crate::stack::Stack;
use crate::time::{Duration, Instant};
use crate::undo::Reduction;
use crate::window::{Window, WindowCause};
use state::State;
use stats::REORDERING_BORNE;

/// Sending half of a connection. The [module](self) explains the calls.
#[derive(Debug)]
pub struct Sender {
    state: State,
    stack: Stack,
}

impl Sender {
    /// Returns the sender of an established connection without data to send.
    #[must_use]
    pub fn new(config: SenderConfig, mut stack: Stack) -> Self {
        let governance = stack.control.governance();
        let answer = stack.control.marks();
        stack.recovery.governed_by(governance);
        let rtt = RttEstimator::new(config.rtt).shortened(stack.control.rto_shortening());
        let opening = opening(&config, &stack);
        let pacing = stack.control.pacing();
        let undo = stack.control.undo();
        Self {
            state: State::new(config, governance, answer, rtt, opening, pacing, undo),
            stack,
        }
    }

    /// Uses the round-trip time of the handshake as the first sample (RFC 6298 §2.2). Must be called before any data is
    /// sent.
    pub(crate) fn note_handshake(&mut self, now: Instant, rtt: Duration) {
        self.state.rtt.observe(rtt);
        self.state.rtt.sample(rtt, now);
        let opening = self.state.window;
        let window = self.stack.control.on_handshake(rtt, opening);
        self.state.window = bounded(&self.state.config, window);
    }

    /// Raises the retransmission timeout to at least `least`, until the next round-trip sample.
    pub(crate) fn time_out_no_sooner_than(&mut self, least: Duration) {
        self.state.rtt.raise_rto(least);
    }

    /// Reduces the initial window to one segment, because a SYN was lost (RFC 5681 §3.1). Must be called before any
    /// data is sent.
    pub(crate) fn begin_with_one_segment(&mut self, now: Instant) {
        let first = Window {
            cwnd: f64::from(self.state.config.smss),
            ..self.state.window
        };
        self.state.set_window(now, first, WindowCause::LostSyn);
    }

    /// From now on, shortens new segments by `bytes` bytes to leave space for options, but by at most half a segment.
    #[inline]
    pub(crate) fn leave_room(&mut self, bytes: u32) {
        self.state.reserved = bytes.min(self.state.config.smss / 2);
    }

    /// Adds `bytes` bytes to the data to send.
    pub fn write(&mut self, bytes: u64) {
        self.state.written = self.state.written.saturating_add(bytes);
    }

    /// Ends the stream: a FIN follows the written data. The FIN occupies one stream offset and no payload bytes.
    pub fn finish(&mut self) {
        if self.state.fin == 0 {
            self.state.fin = 1;
            self.write(1);
        }
    }

    /// Processes an ACK.
    pub fn handle_ack(&mut self, now: Instant, ack: &Ack) {
        self.state.check();
        let Some(offset) = self.state.acknowledged_offset(ack) else {
            return;
        };
        let prior_in_flight = self.modelled_in_flight(now);
        let mut delivered = core::mem::take(&mut self.state.delivered);
        delivered.clear();
        let facts = self
            .state
            .take_in(now, ack, offset, prior_in_flight, &mut delivered);
        self.consult(&facts);
        self.state.delivered = delivered;
        self.state.check();
    }

    /// Returns the bytes in flight if the control is governed by a model.
    fn modelled_in_flight(&self, now: Instant) -> Option<u64> {
        (self.state.governance == Governance::Model).then(|| self.in_flight(now))
    }

    /// Returns the number of bytes lost so far according to the recovery. If the recovery does not count them, returns
    /// the number of bytes retransmitted as lost, which are counted only for a control that is governed by a model.
    pub(super) fn lost_bytes(&self) -> u64 {
        let judged = self.stack.recovery.lost_bytes();
        judged.unwrap_or(self.state.repaired_bytes)
    }

    /// Passes the facts to the plug-ins and applies their decisions.
    fn consult(&mut self, facts: &AckFacts<'_>) {
        let now = facts.now;
        let spurious = if self.state.undo.concerns(facts) {
            self.state.look_for_undo(facts)
        } else {
            None
        };
        let view = self.state.view(now);
        self.stack.differentiation.on_ack(facts, &view);
        self.stack.response.on_ack(facts, &view);
        let mut outcome = self.stack.recovery.on_ack(facts, &view);
        if let Some(spurious) = spurious {
            self.reverse(now, spurious, &mut outcome);
        }
        self.state.take_timed_sample(now, facts, outcome.timing);
        self.carry_out(now, &outcome, facts.prior_flight_unlimited);
        if self.state.marks.is_some() {
            self.heed_marks(facts, &mut outcome);
        }

        let credited = self.state.credited(facts);
        let view = self.state.view(now);
        let modelled = self.state.governance == Governance::Model;
        let credit = Credit {
            acks: match outcome.growth {
                Growth::Frozen => 0,
                Growth::Acked => u32::from(facts.acked_bytes > 0),
                Growth::EveryAck => 1,
            },
            bytes: match outcome.growth {
                Growth::Frozen => 0,
                Growth::Acked => credited,
                Growth::EveryAck => facts.delivered_bytes,
            },
            in_flight: modelled.then(|| self.stack.recovery.in_flight(&view)),
            lost_bytes: modelled.then(|| self.lost_bytes()),
        };
        let grown = self.stack.control.on_ack(facts, credit, &view);
        self.state.grow(now, grown);
    }

    /// Applies the decisions of a recovery, except for the growth of the window.
    #[inline(always)]
    fn carry_out(&mut self, now: Instant, outcome: &Outcome, flight_size: u64) {
        // Most ACKs cause none of these events.
        if outcome.loss.is_some()
            || outcome.restore.is_some()
            || outcome.limit.is_some()
            || outcome.exit == Exit::Recovery
        {
            self.carry_out_event(now, outcome, flight_size);
        }
        self.state.set_timer(now, outcome.rto);
    }

    /// Processes every timer that is due at `now`. A call before the next timeout has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.state.check();
        if self.stack.recovery.timer().is_some_and(|at| at <= now) {
            self.state.undo.release();
            let Expiry { loss, rto } = self.stack.recovery.on_timer(&self.state.view(now));
            if let Some(event) = loss {
                self.answer_loss(now, event, self.state.unlimited_flight_size());
            }
            self.state.set_timer(now, rto);
        }
        if self.state.rto_at.is_some_and(|at| at <= now) {
            self.expire_rto(now);
        }
        self.state.expire_persist(now);
        self.state.check();
    }

    /// Responds to the expiry of the retransmission timer (RFC 6298 §5.4 to §5.7).
    fn expire_rto(&mut self, now: Instant) {
        let hidden = self.stack.recovery.phase() == Some(Phase::Open);
        let sacked = self.state.scoreboard.sacked_segments();
        let Some(segment) = self.state.time_out() else {
            return;
        };
        let flight_size = self.state.unlimited_flight_size();
        let loss = self
            .state
            .loss_facts(now, segment, LossRule::TIMEOUT, flight_size);
        if self.state.begin_episode(Reduction::Timeout) {
            self.stack.control.remember();
        }
        let judged = match self.stack.recovery.timeout_rule() {
            TimeoutRule::Congestion => None,
            TimeoutRule::Judged => Some(self.stack.differentiation.judge(&loss)),
        };
        if judged == Some(LossCause::Wireless) {
            self.reduce(&loss, LossCause::Wireless);
        } else {
            let chosen = self.state.rounded(self.stack.control.on_timeout(&loss));
            self.state.set_window(now, chosen, WindowCause::Timeout);
            self.state.note_reduction(now);
            self.state.rtt.back_off();
        }
        if hidden && sacked >= u64::from(REORDERING_BORNE) {
            // With the standard threshold, this number of sacked segments would have shown the loss (Linux:
            // `tcp_enter_loss`).
            self.state.stats.reordering_extent = 0;
        }
        self.state.start_over();
        self.stack.recovery.on_rto(&self.state.view(now));
        if let Some(cause) = judged {
            self.tell_cause(&loss, cause);
        }
        self.state.arm_rto(now);
    }

    /// Latest time for the next call of [`handle_timeout`](Self::handle_timeout) or
    /// [`poll_transmit`](Self::poll_transmit); `None` if only an ACK or new data can change the state.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let mut next = earlier(self.state.rto_at, self.stack.recovery.timer());
        if self.state.persist.at.is_some() {
            next = earlier(next, self.state.persist.at);
        }
        if self.state.pacing {
            next = earlier(next, self.paced_until());
        }
        next
    }

    /// Current window.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.state.window
    }

    /// Bytes in flight according to the recovery.
    #[must_use]
    pub fn in_flight(&self, now: Instant) -> u64 {
        self.stack.recovery.in_flight(&self.state.view(now))
    }

    /// Number of bytes that the recovery permits to send now, regardless of the application and the peer's window.
    #[must_use]
    pub fn allowance(&self, now: Instant) -> u64 {
        self.stack.recovery.allowance(&self.state.view(now))
    }

    /// Phase of the recovery; `None` if the recovery does not report phases.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        let disordered = self.state.dup_acks > 0 || self.state.scoreboard.sacked_segments() > 0;
        match self.stack.recovery.phase()? {
            Phase::Open if self.state.is_reducing() => Some(Phase::Reducing),
            Phase::Open if disordered => Some(Phase::Disorder),
            phase => Some(phase),
        }
    }

    /// Number of consecutive duplicate ACKs since the last ACK of new data or timeout.
    #[must_use]
    pub const fn duplicate_acks(&self) -> u32 {
        self.state.dup_acks
    }

    /// Current inflation of the window in bytes ([`Recovery::inflation`](crate::recovery::Recovery::inflation)).
    #[must_use]
    pub fn inflation(&self) -> i64 {
        self.stack.recovery.inflation()
    }

    /// Outstanding segments.
    #[must_use]
    pub const fn scoreboard(&self) -> &Scoreboard {
        &self.state.scoreboard
    }

    /// Round-trip time estimator.
    #[must_use]
    pub const fn rtt(&self) -> &RttEstimator {
        &self.state.rtt
    }

    /// Counters since the sender was created.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        self.state.stats.told()
    }

    /// Plug-ins of the sender.
    #[must_use]
    pub const fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Parameters of the sender.
    #[must_use]
    pub const fn config(&self) -> &SenderConfig {
        &self.state.config
    }

    /// Time until which pacing delays the next segment; `None` if pacing does not delay it.
    #[must_use]
    pub fn paced_until(&self) -> Option<Instant> {
        self.state.pacing.then_some(self.state.pace_until)
    }

    /// Returns `true` if all written data is acknowledged.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.state.scoreboard.una() == self.state.written
    }

    /// Reason for which the sender last stopped.
    #[must_use]
    pub const fn limited_by(&self) -> LimitedBy {
        self.state.limited_by
    }

    /// Number of bytes that were written but not yet sent.
    #[must_use]
    pub const fn unsent_bytes(&self) -> u64 {
        let nxt = self.state.scoreboard.nxt();
        self.state.written.saturating_sub(nxt)
    }

    /// Time at which the retransmission timer expires, if it runs.
    #[must_use]
    pub const fn rto_at(&self) -> Option<Instant> {
        self.state.rto_at
    }

    /// Right edge of the peer's receive window, as a stream offset.
    #[must_use]
    pub const fn peer_edge(&self) -> u64 {
        self.state.peer_edge
    }

    /// Returns `true` if the log has window changes that were not yet taken.
    #[must_use]
    pub fn has_window_changes(&self) -> bool {
        let log = self.state.log.as_deref();
        log.is_some_and(|log| !log.changes.is_empty())
    }

    /// Returns the window changes since the last call, if they are logged.
    pub fn take_window_changes(&mut self) -> impl Iterator<Item = WindowChange> {
        let log = self.state.log.as_deref_mut();
        log.map(|log| log.changes.drain(..)).into_iter().flatten()
    }
}

/// Returns the earlier of two deadlines.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// Limits an initial window to at least one segment and at most the maximum.
pub(crate) fn bounded(config: &SenderConfig, window: Window) -> Window {
    let smss = f64::from(config.smss);
    Window {
        cwnd: window.cwnd.min(config.max_window).max(smss),
        ssthresh: window.ssthresh.max(smss),
    }
}

/// Returns the initial window before it is limited.
fn opening(config: &SenderConfig, stack: &Stack) -> Window {
    stack.control.opening(Window {
        cwnd: config.initial_window,
        ssthresh: config.initial_ssthresh,
    })
}
