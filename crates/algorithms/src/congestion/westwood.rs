//! TCP Westwood: the window after a loss is what the returning ACKs say the path carries.
//!
//! S. Mascolo, C. Casetti, M. Gerla, S. S. Lee, M. Sanadidi, "TCP Westwood: congestion control
//! with faster recovery", UCLA CSD TR 200017, 2000.
//!
//! ```text
//! sample      s[k] = acked bytes / time since the previous ACK                        (§II)
//! filter      BWE[k] = (2r−1)/(2r+1) · BWE[k−1] + 1/(2r+1) · (s[k] + s[k−1]),  r = τ/T = 10
//!             that is 19/21 and 1/21 (Tustin)
//! 3 dup ACKs  ssthresh = BWE · RTTmin / a,  cwnd = min(cwnd, ssthresh)              (§IV.A)
//!             a: +0.25 up to 4 in slow start, 1 in congestion avoidance
//! timeout     ssthresh = max(BWE · RTTmin / a, 2 segments),  cwnd = 1 segment       (§IV.B)
//!             a: +1 up to 4 in slow start, 1 in congestion avoidance
//! ```
//!
//! Between losses it grows as Reno does. §III's general form has one function of x = BWE · RTTmin
//! for each phase at each event:
//!
//! ```text
//!                    congestion avoidance       slow start
//! 3 dup ACKs         ssthresh = f1(x)           ssthresh = f2(x)
//! timeout            ssthresh = f3(x)           ssthresh = f5(x)
//!                    cwnd = f4(x)               cwnd = f6(x)     (1 if ssthresh is below 2)
//! ```
//!
//! §IV chooses f1(x) = f3(x) = x, f2(x) = f5(x) = x/a, f4 = f6 = 1, the defaults of the parameters
//! `f1` to `f6`; each is one of `pipe` (x), `reduced` (x/a) and `segment` (1), times its gain.
//!
//! Readings:
//! - §IV.B's listing raises `ssthresh` to 2 if it is *above* 2; §III.B has the comparison right.
//! - Both values start at zero, as a filter's do. The first ACK opens the first interval.
//! - ACKs at the same instant have no rate: they count with the next ACK that comes later.
//! - `cwnd = ssthresh` is neither phase: `a` stays, and the functions are those of slow start, as
//!   §IV's single formula has it. §III answers such a loss with nothing at all.
//! - After 3 duplicate ACKs §III.A sets `cwnd` to `ssthresh` in congestion avoidance, upwards,
//!   too; §IV.A only lowers it, and that is the default (`cwnd`).
//! - A duplicate ACK counts for one segment. What the sender does not take for a duplicate ACK
//!   and acknowledges nothing (a window update) counts for none, and ends no interval.
//! - `a` moves when the reduction is Westwood's own. A loss that a response answered in another
//!   way says nothing of BWE.
//! - Before there is an estimate, a loss halves FlightSize (RFC 5681), as the paper's formula
//!   would leave a window of nothing.

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit, Pacing};
use dupack_tcp::facts::{AckFacts, AckKind, LossCause, LossFacts, View};
use dupack_tcp::time::Instant;
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;

use super::aimd::{self, Increase, IncreaseParameters, LeastThreshold};
use super::pacing::{Pace, PacingParameters};
use super::undo::UndoParameters;
use super::window_validation::validating;
use crate::catalog::{Choice, Context, Entry, Parameters};

/// Westwood's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct WestwoodParameters {
    /// time constant of the bandwidth filter over its sampling time (τ/T)
    #[parameter(source = "Westwood §II", range = 0.5..=1e6, unit = "ACK intervals", default = 10.0)]
    tau: f64,
    /// segments that one ACK may count for in the estimate
    #[parameter(
        source = "Westwood §II.A bounds nothing; the authors' ns-2 module bounds it to 2",
        range = 1..=65_535,
        unit = "segments",
        default = 65_535,
    )]
    acked_limit: u64,
    /// what 3 duplicate ACKs in slow start add to the reduction factor a
    #[parameter(source = "Westwood §IV.A", range = 0.0..=1000.0, default = 0.25)]
    step: f64,
    /// what a timeout in slow start adds to the reduction factor a
    #[parameter(source = "Westwood §IV.B", range = 0.0..=1000.0, default = 1.0)]
    timeout_step: f64,
    /// greatest reduction factor a
    #[parameter(source = "Westwood §IV", range = 1.0..=1000.0, default = 4.0)]
    a_max: f64,
    #[embed(change(min_ssthresh(
        doc = "least slow start threshold after a timeout",
        source = "Westwood §III.B",
    )))]
    least: LeastThreshold,
    /// what 3 duplicate ACKs in congestion avoidance make of cwnd
    #[parameter(source = "Westwood §IV.A (lower); §III.A has set", default = CwndRule::Lower)]
    cwnd: CwndRule,
    /// ssthresh after 3 dup ACKs in avoidance
    #[parameter(source = "Westwood §III, §IV", default = Shape::Pipe)]
    f1: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    f1_gain: f64,
    /// ssthresh after 3 dup ACKs in slow start
    #[parameter(source = "Westwood §III, §IV", default = Shape::Reduced)]
    f2: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    f2_gain: f64,
    /// ssthresh after a timeout in avoidance
    #[parameter(source = "Westwood §III, §IV", default = Shape::Pipe)]
    f3: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    f3_gain: f64,
    /// cwnd after a timeout in avoidance
    #[parameter(source = "Westwood §III, §IV", default = Shape::Segment)]
    f4: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    f4_gain: f64,
    /// ssthresh after a timeout in slow start
    #[parameter(source = "Westwood §III, §IV", default = Shape::Reduced)]
    f5: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    f5_gain: f64,
    /// cwnd after a timeout in slow start
    #[parameter(source = "Westwood §III, §IV", default = Shape::Segment)]
    f6: Shape,
    /// factor of that function
    #[parameter(source = "Westwood §IV", range = 0.0..=1000.0, default = 1.0)]
    f6_gain: f64,
    #[embed]
    increase: IncreaseParameters,
    #[embed]
    undo: UndoParameters,
    #[embed]
    pacing: PacingParameters,
}

/// The entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("westwood", file!())
        .summary(
            "AIMD growth; a loss sets the window to the measured bandwidth times the least RTT",
        )
        .citation("Mascolo et al., TCP Westwood, UCLA CSD TR 200017, 2000")
        .build(|parameters: &WestwoodParameters, context| {
            let control = Box::new(Westwood::new(parameters, context));
            validating(control, &parameters.increase, context)
        })
}

/// The control.
#[derive(Clone, Debug)]
pub struct Westwood {
    smss: f64,
    increase: Increase,
    acked: AckedCount,
    filter: Filter,
    reduction: Reduction,
    functions: Functions,
    cwnd_rule: CwndRule,
    /// Least `ssthresh` after a timeout, in bytes.
    min_ssthresh: f64,
    undo: UndoRules,
    pacing: Pace,
    /// The reduction factor as it was before the last loss event.
    remembered: Option<f64>,
}

impl Westwood {
    /// One with these parameters.
    #[must_use]
    pub fn new(parameters: &WestwoodParameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        Self {
            smss,
            increase: Increase::new(&parameters.increase, context),
            acked: AckedCount::new(context.smss, parameters.acked_limit),
            filter: Filter::new(parameters.tau),
            reduction: Reduction {
                a: 1.0,
                a_max: parameters.a_max,
                step: parameters.step,
                timeout_step: parameters.timeout_step,
            },
            functions: Functions::new(parameters, smss),
            cwnd_rule: parameters.cwnd,
            min_ssthresh: parameters.least.min_ssthresh as f64 * smss,
            undo: parameters.undo.rules(),
            pacing: Pace::new(&parameters.pacing),
            remembered: None,
        }
    }

    /// BWE · RTTmin in bytes: what the path holds. Without an estimate, FlightSize / 2.
    fn pipe(&self, loss: &LossFacts) -> f64 {
        let rtt_min = loss.rtt_min.map_or(0.0, |rtt| rtt.as_secs_f64());
        let pipe = self.filter.estimate * rtt_min;
        if pipe > 0.0 {
            pipe
        } else {
            (loss.flight_within_window() / 2.0).max(self.min_ssthresh)
        }
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        if ack.kind != AckKind::Other {
            let bytes = self.acked.count(ack.acked_bytes);
            self.filter.take(ack.now, bytes);
        }
        self.increase.grown(ack, credit, view.window)
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        let a = self.reduction.after(loss.window, self.reduction.step);
        let phase = Phase::of(loss.window);
        let f = match phase {
            Phase::Avoidance => self.functions.f1,
            Phase::SlowStart | Phase::Neither => self.functions.f2,
        };
        let ssthresh = f.of(self.pipe(loss), a);
        Window {
            cwnd: if phase == Phase::Avoidance && self.cwnd_rule == CwndRule::Set {
                ssthresh
            } else {
                loss.window.cwnd.min(ssthresh)
            },
            ssthresh,
        }
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        if aimd::is_own_reduction(cause, chosen, self.reduction(loss), self.smss) {
            self.reduction.a = self.reduction.after(loss.window, self.reduction.step);
            self.increase.after_loss();
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.reduction.a = self
            .reduction
            .after(loss.window, self.reduction.timeout_step);
        self.increase.after_timeout();
        let (for_ssthresh, for_cwnd) = match Phase::of(loss.window) {
            Phase::Avoidance => (self.functions.f3, self.functions.f4),
            Phase::SlowStart | Phase::Neither => (self.functions.f5, self.functions.f6),
        };
        let pipe = self.pipe(loss);
        let ssthresh = for_ssthresh.of(pipe, self.reduction.a);
        if ssthresh < self.min_ssthresh {
            return Window {
                cwnd: self.smss,
                ssthresh: self.min_ssthresh,
            };
        }
        Window {
            cwnd: for_cwnd.of(pipe, self.reduction.a),
            ssthresh,
        }
    }

    fn pacing(&self) -> Pacing {
        self.pacing.rule()
    }

    fn undo(&self) -> UndoRules {
        self.undo
    }

    fn remember(&mut self) {
        self.increase.remember();
        self.remembered = Some(self.reduction.a);
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        self.increase.restore();
        if let Some(a) = self.remembered.take() {
            self.reduction.a = a;
        }
        prior.restored(window)
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        self.filter.last_ack.map(|_| self.filter.estimate)
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.smss = f64::from(to);
        self.min_ssthresh *= f64::from(to) / f64::from(from);
        self.increase.resize(from, to);
        self.acked.resize(from, to);
        self.functions.resize(to);
    }
}

/// The threshold reduction factor a of §IV.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reduction {
    a: f64,
    a_max: f64,
    step: f64,
    timeout_step: f64,
}

impl Reduction {
    /// What a loss at this window makes of a.
    fn after(&self, window: Window, step: f64) -> f64 {
        match Phase::of(window) {
            Phase::SlowStart => (self.a + step).min(self.a_max),
            Phase::Avoidance => 1.0,
            Phase::Neither => self.a,
        }
    }
}

/// In which phase a loss finds the sender, as §III and §IV tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Avoidance,
    Neither,
}

impl Phase {
    fn of(window: Window) -> Self {
        if window.cwnd < window.ssthresh {
            Self::SlowStart
        } else if window.cwnd > window.ssthresh {
            Self::Avoidance
        } else {
            Self::Neither
        }
    }
}

/// What 3 duplicate ACKs in congestion avoidance make of `cwnd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum CwndRule {
    /// ssthresh, if that is less
    Lower,
    /// ssthresh
    Set,
}

/// The functions of §III, for windows in bytes.
#[derive(Clone, Copy, Debug)]
struct Functions {
    f1: Function,
    f2: Function,
    f3: Function,
    f4: Function,
    f5: Function,
    f6: Function,
}

impl Functions {
    /// For segments of `smss` bytes.
    fn new(parameters: &WestwoodParameters, smss: f64) -> Self {
        let p = parameters;
        let function = |shape, gain| Function { shape, gain, smss };
        Self {
            f1: function(p.f1, p.f1_gain),
            f2: function(p.f2, p.f2_gain),
            f3: function(p.f3, p.f3_gain),
            f4: function(p.f4, p.f4_gain),
            f5: function(p.f5, p.f5_gain),
            f6: function(p.f6, p.f6_gain),
        }
    }

    fn resize(&mut self, smss: u32) {
        let Self {
            f1,
            f2,
            f3,
            f4,
            f5,
            f6,
        } = self;
        for function in [f1, f2, f3, f4, f5, f6] {
            function.smss = f64::from(smss);
        }
    }
}

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Function {
    shape: Shape,
    gain: f64,
    /// Bytes of a segment.
    smss: f64,
}

/// Its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Shape {
    /// x = BWE · RTTmin
    Pipe,
    /// x/a
    Reduced,
    /// one segment
    Segment,
}

impl Function {
    /// Its value for a pipe of `x` bytes and a reduction factor `a`.
    fn of(self, x: f64, a: f64) -> f64 {
        self.gain
            * match self.shape {
                Shape::Pipe => x,
                Shape::Reduced => x / a,
                Shape::Segment => self.smss,
            }
    }
}

/// How much an ACK counts for, so that what duplicate ACKs announced is not counted again
/// (procedure AckedCount, §II.A). In bytes; the paper counts segments of equal size.
#[derive(Clone, Copy, Debug)]
pub struct AckedCount {
    segment: u64,
    limit: u64,
    accounted_for: u64,
}

impl AckedCount {
    /// For segments of `smss` bytes; one ACK counts for `limit_segments` of them at most.
    #[must_use]
    pub fn new(smss: u32, limit_segments: u64) -> Self {
        let segment = u64::from(smss);
        Self {
            segment,
            limit: limit_segments * segment,
            accounted_for: 0,
        }
    }

    /// A full segment has `to` bytes from now on, not `from`.
    pub fn resize(&mut self, from: u32, to: u32) {
        self.segment = u64::from(to);
        self.limit = self.limit / u64::from(from.max(1)) * self.segment;
    }

    /// The bytes that an ACK counts for which acknowledges `cumulative` bytes; a duplicate ACK
    /// acknowledges none.
    pub fn count(&mut self, cumulative: u64) -> u64 {
        let counted = if cumulative == 0 {
            self.accounted_for += self.segment;
            self.segment
        } else if cumulative <= self.segment {
            cumulative
        } else if self.accounted_for >= cumulative {
            self.accounted_for -= cumulative;
            self.segment
        } else {
            cumulative - core::mem::take(&mut self.accounted_for)
        };
        counted.min(self.limit)
    }
}

/// The low-pass filter of §II; rates in bytes per second.
#[derive(Clone, Copy, Debug)]
struct Filter {
    /// Weight of the previous estimate.
    keep: f64,
    /// Weight of each of the two samples.
    add: f64,
    estimate: f64,
    sample: f64,
    last_ack: Option<Instant>,
    /// Bytes counted since `last_ack`.
    pending: u64,
}

impl Filter {
    fn new(ratio: f64) -> Self {
        let denominator = 2.0 * ratio + 1.0;
        Self {
            keep: (2.0 * ratio - 1.0) / denominator,
            add: 1.0 / denominator,
            estimate: 0.0,
            sample: 0.0,
            last_ack: None,
            pending: 0,
        }
    }

    fn take(&mut self, now: Instant, bytes: u64) {
        let Some(last) = self.last_ack else {
            self.last_ack = Some(now);
            return;
        };
        self.pending += bytes;
        let interval = now.since(last);
        if interval.is_zero() {
            return;
        }
        let sample = self.pending as f64 / interval.as_secs_f64();
        self.estimate = self.keep * self.estimate + self.add * (sample + self.sample);
        self.sample = sample;
        self.pending = 0;
        self.last_ack = Some(now);
    }
}

#[cfg(test)]
mod tests;
