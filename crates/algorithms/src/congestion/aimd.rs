//! Additive increase and multiplicative decrease: two building blocks for congestion controls.
//!
//! [`Increase`] implements RFC 5681 §3.1: slow start below `ssthresh`, and one segment per round trip above it.
//!
//! ```text
//!              counting ACKs               counting bytes, N acknowledged
//! slow start   cwnd += SMSS                cwnd += min(N, L · SMSS)         (eq. 2, RFC 3465)
//! avoidance    cwnd += i · SMSS²/cwnd      cwnd += i · SMSS per cwnd bytes  (eq. 3, RFC 3465)
//! ```
//!
//! [`Decrease`] implements RFC 5681 eq. 4: `ssthresh = max(b · FlightSize, 2 · SMSS)`. A congestion mark counts as a
//! loss (RFC 3168 §6.1.2), or has its own factor (ABE, RFC 8511 §3.1), because a queue that marks is short and a queue
//! that overflows is long.
//!
//! Reno consists of these two blocks. Westwood uses `Increase`. CUBIC uses the slow start of `Increase`, and `Decrease`
//! with another factor.
//!
//! Readings:
//! - Slow start that counts bytes stops at `ssthresh`, and the bytes that the ACK acknowledged beyond `ssthresh`
//!   count for congestion avoidance (as in Linux; the RFCs do not specify the transition). Slow
//!   start that counts ACKs may exceed `ssthresh` by a fraction of a segment (as in ns-2).
//! - FlightSize is limited to `cwnd` when ACKs reveal the loss. With the recoveries
//!   that have a recovery phase, FlightSize is hardly ever larger than `cwnd`. LE and Momentary keep sending while
//!   sacked data waits for a hole to be filled. The distance from SND.UNA to SND.NXT then exceeds the data in the
//!   network, and half of this distance would be no reduction. At a timeout, FlightSize is limited, too.

use alloc::boxed::Box;

use dupack_tcp::congestion::Credit;
use dupack_tcp::facts::{AckFacts, LimitedBy, LossFacts, LossRule, WindowUse};
use dupack_tcp::window::Window;

use crate::catalog::{Choice, Context, Parameters, Switch};

/// Unit of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Count {
    /// each ACK alike, whatever it covers
    Acks,
    /// the bytes acknowledged (RFC 3465)
    Bytes,
}

/// Number of segments that no ACK can exceed.
const NO_LIMIT: u64 = 65_535;

/// Parameters of slow start and additive increase, for the controls that use them.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct IncreaseParameters {
    /// unit of growth
    #[parameter(
        source = "rfc: RFC 5681 §3.1 recommends bytes; ns2: tcp.cc, opencwnd; linux: tcp_slow_start",
        default(rfc = Count::Bytes, linux = Count::Bytes, ns2 = Count::Acks),
    )]
    pub count: Count,
    /// maximum number of segments that one ACK may add in slow start, when bytes are counted (L)
    #[parameter(
        source = "rfc: RFC 5681 §3.1 (RFC 3465 allows 2); linux has no limit",
        range = 1..=NO_LIMIT,
        unit = "segments",
        default(rfc = 1, linux = NO_LIMIT, ns2 = 1),
    )]
    pub limit: u64,
    /// L in the slow start after a timeout, in which ACKs may cover data that arrived long ago
    #[parameter(
        source = "RFC 3465 §2.3 (1, whatever L is otherwise); linux has no limit",
        range = 1..=NO_LIMIT,
        unit = "segments",
        default(rfc = 1, linux = NO_LIMIT, ns2 = 1),
    )]
    pub limit_after_timeout: u64,
    /// additive increase per round trip
    #[parameter(
        basic,
        source = "RFC 5681 §3.1",
        range = 0.0..=1000.0,
        unit = "segments",
        default = 1.0,
    )]
    pub increase: f64,
    /// required use of the window before it may grow
    #[parameter(
        source = "rfc: RFC 7661's aim, simplified; linux: tcp_is_cwnd_limited; ns2 grows regardless",
        default(
            rfc = Validation::Limited,
            linux = Validation::Used,
            ns2 = Validation::Off,
        ),
    )]
    pub validate: Validation,
    /// congestion window validation (RFC 7661): an unused window is kept and monitored; replaces `validate`
    #[parameter(
        source = "RFC 7661 (experimental); linux has RFC 2861's way",
        default = Switch::Off,
    )]
    pub cwv: Switch,
}

/// Required use of the window before it may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Validation {
    /// all of the window in the last flight; in slow start, more than half of it
    Used,
    /// the window was the limit that last stopped the sender
    Limited,
    /// none
    Off,
}

/// Quantity that a reduction multiplies by its factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Basis {
    /// FlightSize
    Flight,
    /// the congestion window
    Cwnd,
}

/// Quantities that the minimum slow start threshold applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Floor {
    /// cwnd and ssthresh
    Both,
    /// ssthresh only
    Ssthresh,
}

/// Effect of a repeated timeout on the slow start threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum RepeatedTimeout {
    /// unchanged after the first timeout
    Hold,
    /// recomputed at each timeout
    Recompute,
}

/// Multiplicative decrease, for the controls that respond to a loss with it.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct DecreaseParameters {
    /// quantity that a reduction multiplies by its factor
    #[parameter(
        source = "rfc: RFC 5681 eq. 4; linux: tcp_reno_ssthresh; ns2: tcp.cc, slowdown",
        default(rfc = Basis::Flight, linux = Basis::Cwnd, ns2 = Basis::Cwnd),
    )]
    pub basis: Basis,
    /// fraction of the window that remains after a congestion loss
    #[parameter(basic, source = "RFC 5681 eq. 4", range = 0.0..=1.0, default = 0.5)]
    pub decrease: f64,
    /// fraction of the window that remains after a congestion mark (ECN); 0: as after a loss
    #[parameter(
        source = "RFC 3168 §6.1.2: as a loss; RFC 8511 §3.1 (ABE): 0.8 for Reno, 0.85 for CUBIC",
        range = 0.0..=1.0,
        default = 0.0,
    )]
    pub mark_decrease: f64,
    /// minimum slow start threshold after a loss
    #[parameter(
        source = "RFC 5681 eq. 4",
        range = 1..=NO_LIMIT,
        unit = "segments",
        default = 2,
    )]
    pub min_ssthresh: u64,
    /// quantities that min_ssthresh applies to after a loss found by ACKs
    #[parameter(
        source = "rfc: RFC 5681 §3.2 sets cwnd from ssthresh; ns2: tcp.cc, slowdown, halves both alone",
        default(rfc = Floor::Both, linux = Floor::Both, ns2 = Floor::Ssthresh),
    )]
    pub floor: Floor,
    /// ssthresh when a segment times out again after its retransmission by a timeout
    #[parameter(
        source = "rfc: RFC 5681 §3.1; linux: tcp_enter_loss; ns2: tcp.cc, slowdown",
        default(
            rfc = RepeatedTimeout::Hold,
            linux = RepeatedTimeout::Hold,
            ns2 = RepeatedTimeout::Recompute,
        ),
    )]
    pub repeated_timeout: RepeatedTimeout,
}

/// Kind of slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SlowStart {
    Ordinary,
    AfterTimeout,
    /// Slow start whose speed is set by [`Increase::set_pace`].
    Paced(Pace),
}

/// Speed of slow start, set by HyStart++.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Maximum number of bytes that one ACK may add (L · SMSS).
    pub limit: f64,
    /// Divisor of the growth.
    pub divisor: f64,
}

/// Slow start and congestion avoidance.
#[derive(Clone, Debug)]
pub struct Increase {
    smss: f64,
    count: Count,
    /// L in bytes, in ordinary slow start.
    limit: f64,
    limit_after_timeout: f64,
    /// Increase per round trip in congestion avoidance, in bytes.
    slope: f64,
    validate: Validation,
    slow_start: SlowStart,
    /// Bytes acknowledged so far towards the next increase in congestion avoidance.
    acked: f64,
    /// `slow_start` and `acked` before the last loss event that may be undone.
    before: Option<Box<(SlowStart, f64)>>,
}

impl Increase {
    /// Creates the increase with these parameters.
    #[must_use]
    pub fn new(parameters: &IncreaseParameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        Self {
            smss,
            count: parameters.count,
            limit: parameters.limit as f64 * smss,
            limit_after_timeout: parameters.limit_after_timeout as f64 * smss,
            slope: parameters.increase * smss,
            validate: match parameters.cwv {
                // The validating wrapper reports whether the window was used.
                Switch::On => Validation::Limited,
                Switch::Off => parameters.validate,
            },
            slow_start: SlowStart::Ordinary,
            acked: 0.0,
            before: None,
        }
    }

    /// Changes the size of a full segment from `from` to `to` bytes.
    pub fn resize(&mut self, from: u32, to: u32) {
        let ratio = f64::from(to) / f64::from(from);
        self.limit *= ratio;
        self.limit_after_timeout *= ratio;
        self.slope *= ratio;
        self.smss = f64::from(to);
    }

    /// Returns `true` if enough of `window` was used for it to grow.
    #[must_use]
    pub fn permits(&self, ack: &AckFacts<'_>, window: Window) -> bool {
        match (self.validate, ack.window_use) {
            (Validation::Off, _) | (Validation::Used, WindowUse::Filled) => true,
            (Validation::Limited, _) => ack.limited_by == LimitedBy::Congestion,
            // Slow start doubles the window in a round trip, so the window may grow to twice the data that was
            // outstanding.
            (Validation::Used, WindowUse::Partly { flight_max }) => {
                window.in_slow_start() && window.cwnd < 2.0 * flight_max as f64
            }
        }
    }

    /// Returns the number of segments in `credit`, in the unit of growth.
    #[must_use]
    pub fn segments(&self, credit: Credit) -> f64 {
        match self.count {
            Count::Acks => f64::from(credit.acks),
            Count::Bytes => credit.bytes as f64 / self.smss,
        }
    }

    /// Returns the window after an ACK.
    #[must_use]
    pub fn grown(&mut self, ack: &AckFacts<'_>, credit: Credit, window: Window) -> Window {
        if !self.permits(ack, window) {
            return window;
        }
        if !window.in_slow_start() {
            return self.avoidance(window, credit);
        }
        let (window, rest) = self.slow_start(window, credit);
        if rest.bytes > 0 {
            self.avoidance(window, rest)
        } else {
            window
        }
    }

    /// Returns the window after an ACK, where congestion avoidance adds `slope` segments per acknowledged window, in
    /// equal parts: slope/W segments per acknowledged segment.
    #[must_use]
    pub fn grown_by(
        &mut self,
        slope: f64,
        ack: &AckFacts<'_>,
        credit: Credit,
        window: Window,
    ) -> Window {
        if !self.permits(ack, window) {
            return window;
        }
        let (mut window, rest) = if window.in_slow_start() {
            self.slow_start(window, credit)
        } else {
            (window, credit)
        };
        let acked = self.segments(rest);
        window.cwnd += slope * acked * self.smss * self.smss / window.cwnd;
        window
    }

    /// Returns the window after an ACK in slow start, and the bytes that the ACK acknowledged beyond `ssthresh`.
    #[must_use]
    pub fn slow_start(&mut self, window: Window, credit: Credit) -> (Window, Credit) {
        let room = window.ssthresh - window.cwnd;
        let (limit, divisor) = match self.slow_start {
            SlowStart::Ordinary => (self.limit, 1.0),
            SlowStart::AfterTimeout => (self.limit_after_timeout, 1.0),
            SlowStart::Paced(pace) => (pace.limit, pace.divisor),
        };
        let step = match self.count {
            Count::Acks => f64::from(credit.acks) * self.smss,
            Count::Bytes => (credit.bytes as f64).min(limit),
        } / divisor;
        let crosses = step > room && self.count == Count::Bytes;
        let cwnd = window.cwnd + if crosses { room } else { step };
        if cwnd >= window.ssthresh {
            self.slow_start = SlowStart::Ordinary;
        }
        let rest = if crosses {
            credit.bytes.saturating_sub(room as u64)
        } else {
            0
        };
        (Window { cwnd, ..window }, Credit::new(0, rest))
    }

    fn avoidance(&mut self, window: Window, credit: Credit) -> Window {
        let added = match self.count {
            Count::Acks => f64::from(credit.acks) * self.slope * self.smss / window.cwnd,
            Count::Bytes => {
                self.acked += credit.bytes as f64;
                if self.acked >= window.cwnd {
                    self.acked -= window.cwnd;
                    self.slope
                } else {
                    0.0
                }
            }
        };
        Window {
            cwnd: window.cwnd + added,
            ..window
        }
    }

    /// Sets the speed of slow start; `None` restores the speed of the parameters.
    pub fn set_pace(&mut self, pace: Option<Pace>) {
        match (pace, self.slow_start) {
            (Some(pace), _) => self.slow_start = SlowStart::Paced(pace),
            (None, SlowStart::Paced(_)) => self.slow_start = SlowStart::Ordinary,
            (None, SlowStart::Ordinary | SlowStart::AfterTimeout) => {}
        }
    }

    /// Saves the state that the response to a loss event changes.
    pub fn remember(&mut self) {
        self.before = Some(Box::new((self.slow_start, self.acked)));
    }

    /// Restores the state from before a spurious loss event.
    pub fn restore(&mut self) {
        if let Some(before) = self.before.take() {
            (self.slow_start, self.acked) = *before;
        }
    }

    /// Restarts the count of acknowledged bytes after a loss that ACKs revealed.
    pub fn after_loss(&mut self) {
        self.acked = 0.0;
    }

    /// Restarts the count of acknowledged bytes, and enters the slow start after a timeout.
    pub fn after_timeout(&mut self) {
        self.acked = 0.0;
        self.slow_start = SlowStart::AfterTimeout;
    }
}

/// Reduction of RFC 5681 eq. 4.
#[derive(Clone, Debug)]
pub struct Decrease {
    smss: f64,
    factor: f64,
    /// Factor for a congestion mark, if it differs from `factor`.
    mark_factor: Option<f64>,
    basis: Basis,
    /// Minimum slow start threshold in bytes.
    pub min_ssthresh: f64,
    floor: Floor,
    repeated: RepeatedTimeout,
    /// Start of the segment that timed out last.
    timed_out: Option<u64>,
}

impl Decrease {
    /// Creates the reduction with these parameters.
    #[must_use]
    pub fn new(parameters: &DecreaseParameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        Self {
            smss,
            factor: parameters.decrease,
            mark_factor: (parameters.mark_decrease > 0.0).then_some(parameters.mark_decrease),
            basis: parameters.basis,
            min_ssthresh: parameters.min_ssthresh as f64 * smss,
            floor: parameters.floor,
            repeated: parameters.repeated_timeout,
            timed_out: None,
        }
    }

    /// Changes the size of a full segment from `from` to `to` bytes.
    pub fn resize(&mut self, from: u32, to: u32) {
        self.min_ssthresh *= f64::from(to) / f64::from(from);
        self.smss = f64::from(to);
    }

    /// Returns the window after a loss that ACKs revealed, or after a congestion mark.
    #[must_use]
    pub fn after_loss(&self, loss: &LossFacts) -> Window {
        self.after_loss_by(self.factor, loss)
    }

    /// Same as [`after_loss`](Self::after_loss), but with a factor that the control chooses.
    #[must_use]
    pub fn after_loss_by(&self, factor: f64, loss: &LossFacts) -> Window {
        let own = self.mark_factor.filter(|_| loss.rule == LossRule::MARK);
        let factor = own.unwrap_or(factor);
        let basis = match self.basis {
            Basis::Flight => loss.flight_within_window(),
            Basis::Cwnd => loss.window.cwnd,
        };
        let share = factor * basis;
        let ssthresh = share.max(self.min_ssthresh);
        Window {
            cwnd: match self.floor {
                Floor::Both => ssthresh,
                Floor::Ssthresh => share,
            },
            ssthresh,
        }
    }

    /// Returns `true` if this timeout leaves `ssthresh` unchanged because an earlier timeout has retransmitted the
    /// segment.
    #[must_use]
    pub fn holds(&self, loss: &LossFacts) -> bool {
        self.repeated == RepeatedTimeout::Hold && self.timed_out == Some(loss.segment.start)
    }

    /// Returns the window after a timeout: the loss window of one segment (RFC 5681 §3.1).
    #[must_use]
    pub fn after_timeout(&mut self, loss: &LossFacts) -> Window {
        self.after_timeout_by(self.factor, loss)
    }

    /// Same as [`after_timeout`](Self::after_timeout), but with a factor that the control chooses.
    #[must_use]
    pub fn after_timeout_by(&mut self, factor: f64, loss: &LossFacts) -> Window {
        let basis = match self.basis {
            Basis::Flight => loss.flight_within_window(),
            Basis::Cwnd => loss.window.cwnd,
        };
        let ssthresh = if self.holds(loss) {
            loss.window.ssthresh
        } else {
            (factor * basis).max(self.min_ssthresh)
        };
        self.timed_out = Some(loss.segment.start);
        Window {
            cwnd: self.smss,
            ssthresh,
        }
    }
}
