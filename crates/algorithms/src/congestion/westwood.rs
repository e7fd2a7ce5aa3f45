//! TCP Westwood: the window after a loss is the path's capacity, as estimated from the returning ACKs.
//!
//! S. Mascolo, C. Casetti, M. Gerla, S. S. Lee, M. Sanadidi, "TCP Westwood: congestion control with faster recovery",
//! UCLA CSD TR 200017, 2000.
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
//! Between losses, the window grows as in Reno. The general form in §III has one function of x = BWE · RTTmin for each
//! phase at each event:
//!
//! ```text
//!                    congestion avoidance       slow start
//! 3 dup ACKs         ssthresh = f1(x)           ssthresh = f2(x)
//! timeout            ssthresh = f3(x)           ssthresh = f5(x)
//!                    cwnd = f4(x)               cwnd = f6(x)     (1 if ssthresh is below 2)
//! ```
//!
//! §IV chooses f1(x) = f3(x) = x, f2(x) = f5(x) = x/a, f4 = f6 = 1, which are the defaults of the parameters `f1` to
//! `f6`. Each function is one of `pipe` (x), `reduced` (x/a) and `segment` (1), times its gain.
//!
//! Readings:
//! - §IV.B's listing raises `ssthresh` to 2 if it is *above* 2; §III.B has the correct comparison.
//! - Both values of the filter start at zero. The first ACK begins the first interval.
//! - ACKs at the same instant have no rate: they count with the next ACK at a later time.
//! - If `cwnd = ssthresh`, the sender is in neither phase: `a` does not change, and the functions are those of slow
//!   start, as in §IV's single formula. §III does not cover such a loss.
//! - After 3 duplicate ACKs in congestion avoidance, §III.A sets `cwnd` to `ssthresh`, even if this increases
//!   `cwnd`; §IV.A only lowers `cwnd`, which is the default (parameter `cwnd`).
//! - The count of an ACK (`acked`): §II.A's procedure as printed counts 35 of the 30 segments of
//!   its own example. The authors' module for ns-2 (tcp-westwood.cc, 2002) subtracts one less, and
//!   counts 30. This is the default, except in the dialect `linux`, which follows the printed procedure, as Linux does.
//! - The same module has features that the paper does not have, and each is a parameter: an ACK counts for at most 2
//!   segments (`acked_limit`); RTTmin is in ticks of the timer (`rtt_tick`); 2 segments are also the minimum threshold
//!   after 3 duplicate ACKs (`dup_ack_min_ssthresh`); after 3 duplicate ACKs in slow start, the pipe is not divided by
//!   a (`f2=pipe`); and duplicate ACKs do not inflate the window (`inflation` of the recovery `reno`).
//! - The paper names a filter that uses the time between ACKs as future work (footnote 2);
//!   `sampling=time` is the filter of the authors' module.
//! - The paper also suggests raising `ssthresh` while the path is idle (§IV.B); `raise=idle` is our reading of it.
//! - A duplicate ACK counts for one segment. An ACK that acknowledges nothing and is not a duplicate ACK
//!   for the sender (a window update) counts for none, and ends no interval.
//! - `a` changes only when the reduction is Westwood's own. A loss for which a response chose another window
//!   shows nothing about BWE.
//! - Before there is an estimate, a loss halves FlightSize (RFC 5681), because the paper's formula
//!   would give an empty window.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, AckKind, LossFacts, View};
use dupack_tcp::time::Duration;
use dupack_tcp::undo::Prior;
use dupack_tcp::window::Window;

use super::aimd_control::{Aimd, AimdVariant, Answer};
use crate::catalog::{Context, Entry, Linux};

mod estimate;
mod functions;
mod parameters;

pub use estimate::{AckedCount, Counting, Sampling};
pub use functions::Shape;
pub use parameters::{CwndRule, Raise, WestwoodParameters};

use estimate::Filter;
use functions::Functions;

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("westwood", file!())
        .summary(
            "AIMD growth; a loss sets the window to the measured bandwidth times the least RTT",
        )
        .citation("Mascolo et al., TCP Westwood, UCLA CSD TR 200017, 2000")
        .linux(
            Linux::missing(
                "its `westwood` is Westwood+, with another estimate: `westwood-linux` here",
            )
            .near("westwood-linux"),
        )
        .build(|parameters: &WestwoodParameters, context| {
            let p = parameters;
            Aimd::new(&p.increase, &p.decrease, &p.undo, &p.pacing, context)
                .varied(Westwood::new(p, context))
        })
}

/// Congestion control of Westwood.
#[derive(Debug)]
struct Westwood {
    acked: AckedCount,
    filter: Filter,
    /// Tick in seconds; 0 if RTTmin is exact.
    rtt_tick: f64,
    reduction: Reduction,
    functions: Functions,
    cwnd_rule: CwndRule,
    /// Minimum `ssthresh` after 3 duplicate ACKs, in bytes.
    dup_ack_min_ssthresh: f64,
    raise: Raise,
    raise_rtt: f64,
    /// Minimum of the round-trip times that `raise` has examined.
    least_rtt: Option<Duration>,
    /// Reduction factor before the last loss event.
    remembered: Option<f64>,
}

impl Westwood {
    fn new(parameters: &WestwoodParameters, context: &Context) -> Self {
        let smss = f64::from(context.smss);
        Self {
            acked: AckedCount::new(parameters.acked, context.smss, parameters.acked_limit),
            filter: match parameters.sampling {
                Sampling::Acks => Filter::fixed(parameters.tau),
                Sampling::Time => Filter::timed(parameters.time_constant),
            },
            rtt_tick: parameters.rtt_tick.as_secs_f64(),
            reduction: Reduction {
                a: 1.0,
                a_max: parameters.a_max,
                step: parameters.step,
                timeout_step: parameters.timeout_step,
            },
            functions: Functions::new(parameters, smss),
            cwnd_rule: parameters.cwnd,
            dup_ack_min_ssthresh: parameters.dup_ack_min_ssthresh as f64 * smss,
            raise: parameters.raise,
            raise_rtt: parameters.raise_rtt,
            least_rtt: None,
            remembered: None,
        }
    }

    /// Returns BWE · RTTmin in bytes; zero without an estimate.
    fn measured_pipe(&self, rtt_min: Option<Duration>) -> f64 {
        let exact = rtt_min.map_or(0.0, |rtt| rtt.as_secs_f64());
        let rtt_min = if self.rtt_tick > 0.0 && exact > 0.0 {
            ((exact / self.rtt_tick) as u64).max(1) as f64 * self.rtt_tick
        } else {
            exact
        };
        self.filter.estimate() * rtt_min
    }

    /// Returns `window`, with `ssthresh` raised to the estimate if the path is idle (§IV.B).
    fn raised(&mut self, ack: &AckFacts<'_>, window: Window) -> Window {
        let Some(rtt) = ack.rtt else {
            return window;
        };
        let least = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(least);
        if rtt.as_secs_f64() > self.raise_rtt * least.as_secs_f64() {
            return window;
        }
        Window {
            ssthresh: window.ssthresh.max(self.measured_pipe(Some(least))),
            ..window
        }
    }

    /// Returns the capacity of the path, BWE · RTTmin, in bytes; without an estimate, half of FlightSize.
    fn pipe(&self, loss: &LossFacts, aimd: &Aimd) -> f64 {
        let pipe = self.measured_pipe(loss.rtt_min);
        if pipe > 0.0 {
            pipe
        } else {
            aimd.decrease.after_loss(loss).ssthresh
        }
    }
}

impl AimdVariant for Westwood {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        if ack.kind != AckKind::Other {
            let bytes = self.acked.count(ack.acked_bytes);
            self.filter.take(ack.now, bytes);
        }
        let grown = aimd.increase.grown(ack, credit, view.window);
        match self.raise {
            Raise::Off => grown,
            Raise::Idle => self.raised(ack, grown),
        }
    }

    fn reduction(&self, loss: &LossFacts, aimd: &Aimd) -> Window {
        let a = self.reduction.after(loss.window, self.reduction.step);
        let phase = Phase::of(loss.window);
        let f = match phase {
            Phase::Avoidance => self.functions.f1,
            Phase::SlowStart | Phase::Neither => self.functions.f2,
        };
        let ssthresh = f
            .of(self.pipe(loss, aimd), a)
            .max(self.dup_ack_min_ssthresh);
        Window {
            cwnd: if phase == Phase::Avoidance && self.cwnd_rule == CwndRule::Set {
                ssthresh
            } else {
                loss.window.cwnd.min(ssthresh)
            },
            ssthresh,
        }
    }

    fn on_loss(&mut self, loss: &LossFacts, answer: Answer, aimd: &mut Aimd) {
        if answer == Answer::Own {
            self.reduction.a = self.reduction.after(loss.window, self.reduction.step);
            aimd.increase.after_loss();
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts, aimd: &mut Aimd) -> Window {
        self.reduction.a = self
            .reduction
            .after(loss.window, self.reduction.timeout_step);
        aimd.increase.after_timeout();
        let (for_ssthresh, for_cwnd) = match Phase::of(loss.window) {
            Phase::Avoidance => (self.functions.f3, self.functions.f4),
            Phase::SlowStart | Phase::Neither => (self.functions.f5, self.functions.f6),
        };
        let pipe = self.pipe(loss, aimd);
        let ssthresh = for_ssthresh.of(pipe, self.reduction.a);
        let least = aimd.decrease.min_ssthresh;
        if ssthresh < least {
            return Window {
                cwnd: aimd.smss,
                ssthresh: least,
            };
        }
        Window {
            cwnd: for_cwnd.of(pipe, self.reduction.a),
            ssthresh,
        }
    }

    fn remember(&mut self) {
        self.remembered = Some(self.reduction.a);
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window, aimd: &mut Aimd) -> Window {
        if let Some(a) = self.remembered.take() {
            self.reduction.a = a;
        }
        aimd.on_spurious(prior, window)
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        self.filter.begun()
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.dup_ack_min_ssthresh *= f64::from(to) / f64::from(from);
        self.acked.resize(from, to);
        self.functions.resize(to);
    }
}

/// Threshold reduction factor a of §IV.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reduction {
    a: f64,
    a_max: f64,
    step: f64,
    timeout_step: f64,
}

impl Reduction {
    /// Returns the factor `a` after a loss at this window.
    fn after(&self, window: Window, step: f64) -> f64 {
        match Phase::of(window) {
            Phase::SlowStart => (self.a + step).min(self.a_max),
            Phase::Avoidance => 1.0,
            Phase::Neither => self.a,
        }
    }
}

/// Phase of the sender at a loss, as distinguished in §III and §IV.
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

#[cfg(test)]
mod tests;
