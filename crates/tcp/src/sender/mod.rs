//! The sending half of the endpoint.
//!
//! A state machine without clock, socket, or payload. Its host
//! 1. says how much data there is ([`Sender::write`]),
//! 2. hands in ACKs ([`Sender::handle_ack`]) and lapses of time ([`Sender::handle_timeout`]),
//! 3. after either, and after `write`, takes segments until there are no more
//!    ([`Sender::poll_transmit`]), and
//! 4. calls `handle_timeout` again no later than [`Sender::next_timeout`].
//!
//! What is lost, what goes out, and how the window moves is decided by the four plug-ins of its
//! [`Stack`]; the sender alone transmits, and alone writes the window.

mod ack;
mod config;
mod loss;
mod stats;
mod transmit;

pub use config::{
    Agreed, DuplicateAckRule, IdleRule, SackMemory, SenderConfig, TimestampClock, TimestampValues,
    WindowLog,
};
pub use stats::{Judgements, SenderStats, WindowChange};
pub use transmit::{Transmit, TransmitKind};

use crate::congestion::{Credit, Governance};
use crate::facts::{AckFacts, LimitedBy, LossCause, LossRule, View};
use crate::recovery::{Exit, Expiry, Growth, Outcome, RtoTimer, TimeoutRule};
use crate::rtt::RttEstimator;
use crate::scoreboard::{Delivered, Reported, Scoreboard};
use crate::segment::Ack;
use crate::stack::Stack;
use crate::time::Instant;
use crate::window::{Window, WindowCause, WindowRounding};

/// What the host knows of losses and an endpoint cannot: only a simulation can answer.
pub trait Witness {
    /// Why the last transmission of the segment starting at `offset` was lost; `None` if it was
    /// not lost, or if nobody knows.
    fn cause_of_loss(&self, offset: u64) -> Option<LossCause>;
}

/// A witness that has seen nothing: real networks have no other.
#[derive(Clone, Copy, Debug)]
pub struct NoWitness;

impl Witness for NoWitness {
    fn cause_of_loss(&self, _offset: u64) -> Option<LossCause> {
        None
    }
}

/// The sending half of a connection. See the [module](self) for how to drive it.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    stack: Stack,
    governance: Governance,
    scoreboard: Scoreboard,
    rtt: RttEstimator,
    window: Window,
    /// Bytes that the application has handed over, ever.
    written: u64,
    /// Right edge of the peer's window as a stream offset, as it last said.
    peer_edge: u64,
    /// The advertised window in the last ACK, for telling duplicates.
    peer_window: u32,
    /// The largest window that the peer ever advertised.
    peer_window_max: u32,
    dup_acks: u32,
    /// Transmissions so far: the order of the last one.
    order: u64,
    last_timestamp: Option<u32>,
    last_sent: Instant,
    /// The segment being timed, with [`RttSampling::OnePerWindow`]: its end and when it left.
    timed: Option<(u64, Instant)>,
    /// With the same, when the segment was sent whose timestamp the peer would echo.
    echoed: Option<Instant>,
    /// Bytes sent by limited transmit since the cumulative acknowledgment last advanced.
    limited_transmit_bytes: u64,
    limited_by: LimitedBy,
    /// When the window was last reduced for congestion.
    reduced_at: Option<Instant>,
    /// Which share of the control's increase the window takes.
    growth: f64,
    rto_at: Option<Instant>,
    persist: Persist,
    /// No segment leaves before this, if the control paces.
    pace_until: Instant,
    pacing: bool,
    stats: SenderStats,
    changes: Vec<WindowChange>,
    /// Scratch space, kept to avoid allocation.
    delivered: Vec<Delivered>,
}

/// The state of zero-window probing (RFC 9293 §3.8.6.1).
#[derive(Clone, Copy, Debug, Default)]
struct Persist {
    at: Option<Instant>,
    backoff: u32,
    /// The timer has expired: probe, or send less than the silly window rule wants.
    due: bool,
}

impl Persist {
    /// Whether anything is set that an open window ends.
    const fn is_under_way(self) -> bool {
        self.at.is_some() || self.due || self.backoff > 0
    }
}

impl Sender {
    /// A sender on an established connection, with nothing to send yet.
    #[must_use]
    pub fn new(config: SenderConfig, mut stack: Stack) -> Self {
        let governance = stack.control.governance();
        stack.recovery.governed_by(governance);
        let smss = f64::from(config.smss);
        let opening = opening(&config, &stack);
        Self {
            scoreboard: Scoreboard::new(config.smss),
            rtt: RttEstimator::new(config.rtt).shortened(stack.control.rto_shortening()),
            window: Window {
                cwnd: opening.cwnd.min(config.max_window).max(smss),
                ssthresh: opening.ssthresh.max(smss),
            },
            written: 0,
            peer_edge: u64::from(config.peer_window),
            peer_window: config.peer_window,
            peer_window_max: config.peer_window,
            dup_acks: 0,
            order: 0,
            last_timestamp: None,
            last_sent: Instant::ZERO,
            timed: None,
            echoed: None,
            limited_transmit_bytes: 0,
            limited_by: LimitedBy::Application,
            reduced_at: None,
            growth: 1.0,
            rto_at: None,
            persist: Persist::default(),
            pace_until: Instant::ZERO,
            pacing: false,
            stats: SenderStats::default(),
            changes: Vec::new(),
            delivered: Vec::new(),
            config,
            stack,
            governance,
        }
    }

    /// The application hands over `bytes` more bytes.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// Takes in an ACK.
    pub fn handle_ack(&mut self, now: Instant, ack: &Ack, witness: &dyn Witness) {
        let Some(ack_offset) = ack.ack.offset(self.config.isn, self.scoreboard.una()) else {
            return;
        };
        if ack_offset > self.scoreboard.nxt() {
            // It acknowledges what was never sent (RFC 9293 §3.10.7.4).
            return;
        }
        let prior_flight = self.scoreboard.flight_size();
        let prior_unlimited = prior_flight.saturating_sub(self.limited_transmit_bytes);
        let prior_in_flight = (self.governance == Governance::Model)
            .then(|| self.stack.recovery.in_flight(&self.view(now)));

        let mut delivered = core::mem::take(&mut self.delivered);
        delivered.clear();
        let (applied, dsack) = self.apply(ack, ack_offset, &mut delivered);
        let kind = self.classify(ack, ack_offset, prior_flight, &applied);
        self.update_peer_window(ack, ack_offset);
        let rtt = self.sample_rtt(now, ack, &applied, &delivered);
        let facts = AckFacts {
            now,
            una: self.scoreboard.una(),
            acked_bytes: applied.acked_bytes,
            delivered_bytes: applied.delivered_bytes,
            sacked_bytes: applied.sacked_bytes,
            delivered: &delivered,
            kind,
            dup_acks: self.dup_acks,
            dsack,
            prior_flight,
            prior_flight_unlimited: prior_unlimited,
            prior_in_flight,
            rtt,
            timestamp_echo: self.config.timestamps.and(ack.timestamp_echo),
            order_echo: self.unwrap_order(ack.order_echo),
            limited_by: self.limited_by,
        };
        self.consult(&facts, witness);
        self.delivered = delivered;
    }

    /// Puts the facts to the plug-ins and carries out what they answer.
    fn consult(&mut self, facts: &AckFacts<'_>, witness: &dyn Witness) {
        let now = facts.now;
        let new_len = self.new_len();
        let view = View {
            now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            new_len,
        };
        self.stack.differentiation.on_ack(facts, &view);
        self.stack.response.on_ack(facts, &view);
        let outcome = self.stack.recovery.on_ack(facts, &view);
        self.take_timed_sample(now, facts, outcome.timing);
        self.carry_out(now, &outcome, facts.prior_flight_unlimited, witness);

        let view = View {
            now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            new_len,
        };
        let credit = Credit {
            acks: match outcome.growth {
                Growth::Frozen => 0,
                Growth::Acked => u32::from(facts.acked_bytes > 0),
                Growth::EveryAck => 1,
            },
            bytes: match outcome.growth {
                Growth::Frozen => 0,
                Growth::Acked => facts.acked_bytes,
                Growth::EveryAck => facts.delivered_bytes,
            },
            in_flight: (self.governance == Governance::Model)
                .then(|| self.stack.recovery.in_flight(&view)),
        };
        let cause = if self.window.in_slow_start() {
            WindowCause::SlowStart
        } else {
            WindowCause::Avoidance
        };
        let mut grown = self.stack.control.on_ack(facts, credit, &view);
        if self.growth < 1.0 && cause == WindowCause::Avoidance {
            let increase = (grown.cwnd - self.window.cwnd).max(0.0);
            grown.cwnd -= increase * (1.0 - self.growth);
        }
        self.set_window(now, grown, cause);
    }

    /// Carries out what a recovery decided, up to the growth of the window.
    #[inline(always)]
    fn carry_out(
        &mut self,
        now: Instant,
        outcome: &Outcome,
        flight_size: u64,
        witness: &dyn Witness,
    ) {
        // Most ACKs bring nothing of the kind.
        if outcome.loss.is_some()
            || outcome.restore.is_some()
            || outcome.limit.is_some()
            || outcome.exit == Exit::Recovery
        {
            self.carry_out_event(now, outcome, flight_size, witness);
        }
        if outcome.rto == RtoTimer::Restart {
            self.rto_at = None;
        }
        self.arm_rto(now);
    }

    /// Time has passed: expires every timer that is due. Calling it early does no harm.
    pub fn handle_timeout(&mut self, now: Instant, witness: &dyn Witness) {
        if self.stack.recovery.timer().is_some_and(|at| at <= now) {
            let view = self.view(now);
            let view = View {
                scoreboard: &self.scoreboard,
                rtt: &self.rtt,
                ..view
            };
            let Expiry { loss, rto } = self.stack.recovery.on_timer(&view);
            let outcome = Outcome {
                loss,
                rto,
                ..Outcome::default()
            };
            let flight = self.scoreboard.flight_size()
                - self
                    .limited_transmit_bytes
                    .min(self.scoreboard.flight_size());
            self.carry_out(now, &outcome, flight, witness);
        }
        if self.rto_at.is_some_and(|at| at <= now) {
            self.expire_rto(now, witness);
        }
        if self.persist.at.is_some_and(|at| at <= now) {
            self.persist.at = None;
            self.persist.due = true;
            self.persist.backoff = (self.persist.backoff + 1).min(32);
        }
    }

    /// The retransmission timer expired (RFC 6298 §5.4 to 5.7).
    fn expire_rto(&mut self, now: Instant, witness: &dyn Witness) {
        self.rto_at = None;
        let first = self.scoreboard.first();
        let Some(segment) = self.scoreboard.get(first).copied() else {
            return;
        };
        self.stats.timeouts += 1;
        if segment.reported == Reported::Sacked {
            self.scoreboard.forget_sacks();
            self.stats.renegings += 1;
        } else if self.config.sacks_after_timeout == SackMemory::Forget {
            self.scoreboard.forget_sacks();
        }
        let flight = self.scoreboard.flight_size();
        let unlimited = flight.saturating_sub(self.limited_transmit_bytes);
        let loss = self.loss_facts(now, segment, LossRule::TIMEOUT, unlimited, witness);
        let judged = match self.stack.recovery.timeout_rule() {
            TimeoutRule::Congestion => None,
            TimeoutRule::Judged => Some(self.stack.differentiation.judge(&loss)),
        };
        if judged == Some(LossCause::Wireless) {
            self.reduce(&loss, LossCause::Wireless);
        } else {
            let chosen = self.stack.control.on_timeout(&loss);
            let chosen = self.rounded(chosen);
            self.set_window(now, chosen, WindowCause::Timeout);
            self.reduced_at = Some(now);
            self.rtt.back_off();
        }
        self.dup_acks = 0;
        self.limited_transmit_bytes = 0;
        self.timed = None;
        let new_len = self.new_len();
        self.stack.recovery.on_rto(&View {
            now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            new_len,
        });
        if let Some(cause) = judged {
            self.tell_cause(&loss, cause);
        }
        self.arm_rto(now);
    }

    /// Starts the retransmission timer if data is outstanding and it does not run; stops it if
    /// nothing is outstanding (RFC 6298 §5.1, 5.2).
    fn arm_rto(&mut self, now: Instant) {
        if self.scoreboard.is_empty() {
            self.rto_at = None;
        } else if self.rto_at.is_none() {
            self.rto_at = Some(now + self.rtt.rto());
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) or
    /// [`poll_transmit`](Self::poll_transmit) must be called again at the latest; `None` if
    /// only an ACK or new data can make a difference.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let mut next = earlier(self.rto_at, self.stack.recovery.timer());
        if self.persist.at.is_some() {
            next = earlier(next, self.persist.at);
        }
        if self.pacing {
            next = earlier(next, self.paced_until());
        }
        next
    }

    /// The plug-ins' window, rounded as the dialect does after a loss.
    fn rounded(&self, window: Window) -> Window {
        let smss = f64::from(self.config.smss);
        let whole = |bytes: f64| {
            if bytes.is_finite() {
                (bytes / smss).floor() * smss
            } else {
                bytes
            }
        };
        match self.config.rounding {
            WindowRounding::Exact => window,
            WindowRounding::NsTwo => Window {
                ssthresh: whole(window.ssthresh),
                ..window
            },
            WindowRounding::Segments => Window {
                cwnd: whole(window.cwnd),
                ssthresh: whole(window.ssthresh),
            },
        }
    }

    /// The one place where the window is written.
    fn set_window(&mut self, now: Instant, window: Window, cause: WindowCause) {
        let smss = f64::from(self.config.smss);
        // `max` also turns a NaN into one segment. One segment is always admitted, or nothing
        // would ever be sent again.
        let after = Window {
            cwnd: window.cwnd.max(smss).min(self.config.max_window.max(smss)),
            ssthresh: window.ssthresh.max(smss),
        };
        if self.config.log == WindowLog::On && after != self.window {
            self.changes.push(WindowChange {
                at: now,
                cause,
                before: self.window,
                after,
            });
        }
        self.window = after;
    }

    fn view(&self, now: Instant) -> View<'_> {
        View {
            now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            new_len: self.new_len(),
        }
    }

    /// The window in force.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }

    /// Bytes in flight as the recovery counts them.
    #[must_use]
    pub fn in_flight(&self, now: Instant) -> u64 {
        self.stack.recovery.in_flight(&self.view(now))
    }

    /// Outstanding segments.
    #[must_use]
    pub const fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }

    /// Round-trip time.
    #[must_use]
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Counters.
    #[must_use]
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The plug-ins.
    #[must_use]
    pub const fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The parameters.
    #[must_use]
    pub const fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// Until when the control's pace holds the next segment back, if it does.
    #[must_use]
    pub fn paced_until(&self) -> Option<Instant> {
        self.pacing.then_some(self.pace_until)
    }

    /// Whether everything written has been acknowledged.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.scoreboard.una() == self.written
    }

    /// When the retransmission timer expires, if it runs.
    #[must_use]
    pub const fn rto_at(&self) -> Option<Instant> {
        self.rto_at
    }

    /// Right edge of the peer's receive window, as a stream offset, as it last said.
    #[must_use]
    pub const fn peer_edge(&self) -> u64 {
        self.peer_edge
    }

    /// Whether the window has changed since the changes were taken last, if that is logged.
    #[must_use]
    pub const fn has_window_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// The window changes since the last call, if they are logged.
    pub fn take_window_changes(&mut self) -> std::vec::Drain<'_, WindowChange> {
        self.changes.drain(..)
    }
}

/// The earlier of two deadlines.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// The window to open with, before it is bounded.
fn opening(config: &SenderConfig, stack: &Stack) -> Window {
    stack.control.opening(Window {
        cwnd: config.initial_window,
        ssthresh: config.initial_ssthresh,
    })
}
