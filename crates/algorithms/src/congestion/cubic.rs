//! CUBIC: the window as a cubic function of the time since the last loss.
//!
//! RFC 9438. In segments and seconds, t counted from the start of the congestion avoidance stage:
//!
//! ```text
//! W_cubic(t) = C · (t − K)³ + W_max,  K = ³√((W_max − cwnd_epoch) / C)          (§4.2, C = 0.4)
//! target     = W_cubic(t + RTT), between cwnd and 1.5 · cwnd                    (§4.2)
//! per ACK    cwnd += (target − cwnd) / cwnd                                     (§4.4, §4.5)
//! W_est     += α · segments_acked / cwnd;  α = 3(1 − β)/(1 + β), 1 from cwnd_prior on  (§4.3)
//!              cwnd = W_est while W_cubic(t) < W_est: no slower than Reno
//! loss       ssthresh = cwnd = max(β · FlightSize, 2)                           (§4.6, β = 0.7)
//!              W_max = cwnd, or cwnd · (1 + β)/2 if cwnd < the last W_max  (§4.7)
//! timeout    as a loss, but cwnd = 1 segment, and the next stage has K = 0,
//!              W_max = cwnd                                                     (§4.8)
//! ```
//!
//! Growth depends on time, not on ACKs: flows with different RTTs grow at the same speed, and CUBIC fills a path with a
//! large bandwidth-delay product in seconds while Reno takes hours. Slow start and the reduction are Reno's
//! ([`Increase`](super::aimd::Increase), [`Decrease`](super::aimd::Decrease)). HyStart++ ends the first slow start
//! early, as §4.10 recommends, or HyStart ends every slow start, as in Linux (`slow_start`).
//!
//! By dialect: `rfc` is the above in real numbers; `linux` grows in whole segments as Linux counts them
//! (`cubic/counted.rs`), with Linux's binary fractions for C and β; `ns2` uses real numbers, and slow start until a
//! loss.
//!
//! Readings and omissions:
//! - The RFC has `(target − cwnd)/cwnd` per new ACK, and counts segments only in W_est. With
//!   `count = bytes`, segments are counted in both, so delayed ACKs do not halve the speed of the approach to the
//!   target (as in Linux and QUIC stacks); `count = acks` follows the text of the RFC.
//! - A stage begins with the first ACK that may grow the window in congestion avoidance.
//! - While the window is not used, nothing grows and t is paused (§5.8, `validate`). In whole
//!   segments, t is paused only while nothing is outstanding, as in Linux.
//! - After slow start without loss (the connection's first, or after an idle period) K = 0 and
//!   W_max = cwnd (§4.10). A `cwnd` that a recovery limited to a value below `ssthresh` still belongs to the stage
//!   of the previous loss.
//! - If a response chose the window after a loss, the stage continues if the window did not change;
//!   otherwise a stage starts from the new window, and W_max does not change.
//! - In slow start that counts bytes, the bytes that an ACK acknowledged beyond `ssthresh` count for
//!   congestion avoidance, as in [`Increase`](super::aimd::Increase).
//! - In whole segments, a stage continues after a slow start that no loss caused (after an idle period), as
//!   Linux's epoch does.
//! - The undo of a loss event restores the stage that the event ended (§4.9), unless the window has grown
//!   beyond its earlier value; `undo_curve = anew` begins a stage from the restored window, as in Linux.

mod counted;

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::Prior;
use dupack_tcp::window::Window;

use self::counted::{Counted, Curve};
use super::aimd::{DecreaseParameters, IncreaseParameters};
use super::aimd_control::{self, Aimd, AimdVariant, Answer};
use super::pacing::PacingParameters;
use super::slow_start::{SlowStartParameters, SlowStartRule};
use super::undo::UndoParameters;
use crate::catalog::kernel::KernelVersion;
use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Choice, Entry, InLinux, Parameters};

/// Target of the window after a loss below its last maximum (§4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FastConvergence {
    /// below the window at the loss, to leave capacity to other flows
    On,
    /// the window at the loss
    Off,
}

/// Growth of the window at least as fast as Reno's (§4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum RenoFriendly {
    /// growth at least as fast as Reno's
    On,
    /// growth by the cubic function alone
    Off,
}

/// Unit of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Arithmetic {
    /// real numbers
    Real,
    /// whole segments, one for every n acknowledged segments
    Segments,
}

/// Stage after a loss event that is undone (§4.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum UndoCurve {
    /// the stage that the loss event ended
    Restore,
    /// a new stage that begins at the restored window
    Anew,
}

/// CUBIC's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct CubicParameters {
    /// steepness of the growth with the distance in time from the plateau (C)
    #[parameter(
        basic,
        source = "RFC 9438 §5.1; linux: bic_scale = 41, times 10/1024",
        range = 1e-6..=1000.0,
        unit = "segments/s³",
        default(rfc = 0.4, linux = 410.0 / 1024.0, ns2 = 0.4),
    )]
    c: f64,
    /// fraction of the window that remains after a congestion loss (β)
    #[parameter(
        basic,
        source = "RFC 9438 §4.6; linux: beta = 717, of 1024",
        range = 0.0..=1.0,
        default(rfc = 0.7, linux = 717.0 / 1024.0, ns2 = 0.7),
    )]
    beta: f64,
    /// lower target after a loss below the last maximum, to leave capacity to other flows
    #[parameter(basic, source = "RFC 9438 §4.7", default = FastConvergence::On)]
    fast_convergence: FastConvergence,
    /// growth at least as fast as Reno's
    #[parameter(basic, source = "RFC 9438 §4.3", default = RenoFriendly::On)]
    reno_friendly: RenoFriendly,
    /// unit of growth in congestion avoidance
    #[parameter(
        source = "RFC 9438 §4.4; linux: bictcp_update, tcp_cong_avoid_ai",
        default(rfc = Arithmetic::Real, linux = Arithmetic::Segments, ns2 = Arithmetic::Real),
    )]
    arithmetic: Arithmetic,
    // CUBIC uses only the slow start of the AIMD growth.
    #[embed(fix(increase = 0.0))]
    increase: IncreaseParameters,
    #[embed(fix(decrease = beta))]
    decrease: DecreaseParameters,
    #[embed(change(slow_start(
        source = "rfc: RFC 9438 §4.10 (SHOULD use HyStart++); linux: hystart = 1; ns2: none",
        default(
            rfc = SlowStartRule::HystartPlusPlus,
            linux = SlowStartRule::Hystart,
            ns2 = SlowStartRule::Standard,
        ),
    )))]
    slow_start: SlowStartParameters,
    #[embed]
    undo: UndoParameters,
    #[embed]
    pacing: PacingParameters,
    /// curve after a loss event that is undone
    #[parameter(
        source = "rfc: RFC 9438 §4.9; linux: tcp_cubic.c has tcp_reno_undo_cwnd",
        default(rfc = UndoCurve::Restore, linux = UndoCurve::Anew, ns2 = UndoCurve::Restore),
    )]
    undo_curve: UndoCurve,
}

/// Returns the availability in Linux. The parameters can also be set if CUBIC is built into the kernel.
fn linux() -> InLinux {
    let own = |parameter: &'static str| Place::module("tcp_cubic", parameter);
    let switch = &[("on", "1"), ("off", "0")];
    let low_window = "hystart_low_window";
    InLinux::module(
        "the congestion control `cubic`, Linux's default since 2.6.19",
        "cubic",
        "tcp_cubic",
    )
    .since(KernelVersion::of(2, 6, 13))
    .built_in()
    .knobs([
        Knob::words("fast_convergence", switch, own("fast_convergence")),
        Knob::words("reno_friendly", switch, own("tcp_friendliness")),
        Knob::words("slow_start", &[("standard", "0")], own("hystart")),
        Knob::words(
            "hystart_detect",
            &[("ack-train", "1"), ("delay", "2"), ("both", "3")],
            own("hystart_detect"),
        ),
        Knob::number(low_window, 1.0, own(low_window)),
        Knob::microseconds("hystart_ack_delta", own("hystart_ack_delta_us")),
    ])
    .knobs(aimd_control::knobs())
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("cubic", file!())
        .summary("the window follows a cubic function of the time since the last loss")
        .citation("RFC 9438")
        .linux(linux())
        .build(|parameters: &CubicParameters, context| {
            let p = parameters;
            Aimd::new(&p.increase, &p.decrease, &p.undo, &p.pacing, context)
                .exiting_early(&p.slow_start, context)
                .varied(Cubic::new(p))
        })
}

/// Origin of a stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Slow start without loss.
    SlowStart,
    /// A loss that ACKs revealed.
    Loss,
    /// A timeout, and the slow start after it.
    Timeout,
}

/// Stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Start of t, which is moved forward while the window is not used.
    start: Instant,
    /// Time of the last ACK, or of the end of the last idle period.
    last: Instant,
    /// K in seconds.
    k: f64,
    /// W_est in segments.
    w_est: f64,
}

impl Stage {
    /// Moves the start of t forward by the time since the last ACK, so that this time does not count.
    fn pause(&mut self, now: Instant) {
        self.start += now.since(self.last);
        self.last = now;
    }
}

/// State that a loss event changes (§4.9).
#[derive(Clone, Debug)]
struct Remembered {
    w_max: f64,
    cwnd_prior: f64,
    origin: Origin,
    stage: Option<Stage>,
    counted: Counted,
}

/// CUBIC's congestion control. Its windows are in segments.
#[derive(Debug)]
struct Cubic {
    c: f64,
    beta: f64,
    fast_convergence: FastConvergence,
    reno_friendly: RenoFriendly,
    arithmetic: Arithmetic,
    w_max: f64,
    cwnd_prior: f64,
    origin: Origin,
    stage: Option<Stage>,
    counted: Counted,
    undo_curve: UndoCurve,
    remembered: Option<Box<Remembered>>,
}

impl Cubic {
    fn new(parameters: &CubicParameters) -> Self {
        Self {
            c: parameters.c,
            beta: parameters.beta,
            fast_convergence: parameters.fast_convergence,
            reno_friendly: parameters.reno_friendly,
            arithmetic: parameters.arithmetic,
            w_max: 0.0,
            cwnd_prior: 0.0,
            origin: Origin::SlowStart,
            stage: None,
            counted: Counted::default(),
            undo_curve: parameters.undo_curve,
            remembered: None,
        }
    }

    /// Returns W_cubic at `t` seconds after the start of `stage` (§4.2).
    fn w_cubic(&self, stage: &Stage, t: f64) -> f64 {
        let x = t - stage.k;
        self.c * x * x * x + self.w_max
    }

    /// Begins a stage with a window of `cwnd` segments.
    fn begin(&mut self, now: Instant, cwnd: f64) -> Stage {
        if self.origin == Origin::SlowStart {
            self.cwnd_prior = cwnd;
        }
        if self.origin != Origin::Loss || self.w_max < cwnd {
            self.w_max = cwnd;
        }
        Stage {
            start: now,
            last: now,
            // `libm` gives the same bits on every machine.
            k: libm::cbrt((self.w_max - cwnd) / self.c),
            w_est: cwnd,
        }
    }

    /// Returns the window after an ACK for `acked` segments in congestion avoidance (§4.2 to 4.5).
    fn avoidance(&mut self, now: Instant, rtt: Duration, cwnd: f64, acked: f64) -> f64 {
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin(now, cwnd),
        };
        stage.last = now;
        let alpha = if stage.w_est >= self.cwnd_prior {
            1.0
        } else {
            self.alpha()
        };
        stage.w_est += alpha * acked / cwnd;
        self.stage = Some(stage);

        let t = now.since(stage.start).as_secs_f64();
        let friendly = self.reno_friendly == RenoFriendly::On;
        if friendly && self.w_cubic(&stage, t) < stage.w_est {
            // `f64::max` would take more instructions because it handles NaN.
            return if stage.w_est > cwnd {
                stage.w_est
            } else {
                cwnd
            };
        }
        let target = self
            .w_cubic(&stage, t + rtt.as_secs_f64())
            .clamp(cwnd, 1.5 * cwnd);
        // The limit of 1 prevents an ACK for more than a window of data from exceeding the target.
        cwnd + (target - cwnd) * (acked / cwnd).min(1.0)
    }

    /// Returns the growth of W_est per window while W_est is below `cwnd_prior` (§4.3).
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    /// Same as `avoidance`, but in whole segments. W_cubic is evaluated for the time `ahead` from now.
    fn counted_avoidance(&mut self, now: Instant, ahead: Duration, cwnd: f64, acked: f64) -> f64 {
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => {
                self.counted.begin(cwnd);
                self.begin(now, libm::floor(cwnd))
            }
        };
        stage.last = now;
        self.stage = Some(stage);
        let alpha = (self.reno_friendly == RenoFriendly::On).then(|| self.alpha());
        let mut counted = self.counted;
        let grown = counted.grown(now, cwnd, acked, alpha, || {
            let x = (now.since(stage.start) + ahead).as_secs_f64() - stage.k;
            Curve {
                w_max: self.w_max,
                rise: self.c * x * x * x,
                is_known: self.origin == Origin::Loss,
            }
        });
        self.counted = counted;
        grown
    }

    /// Updates W_max after a congestion event (§4.6, §4.7); `cwnd` is the window before it.
    fn note_congestion(&mut self, cwnd: f64, origin: Origin) {
        self.cwnd_prior = cwnd;
        let lower = self.fast_convergence == FastConvergence::On;
        self.w_max = if lower && cwnd < self.w_max {
            cwnd * (1.0 + self.beta) / 2.0
        } else {
            cwnd
        };
        if self.arithmetic == Arithmetic::Segments {
            self.w_max = libm::floor(self.w_max);
        }
        self.origin = origin;
        self.stage = None;
        self.counted.after_loss();
    }
}

impl AimdVariant for Cubic {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        let mut window = aimd.before_growth(ack, view);
        if !aimd.increase.permits(ack, window) {
            if self.arithmetic == Arithmetic::Real
                && let Some(stage) = &mut self.stage
            {
                stage.pause(ack.now);
            }
            return window;
        }
        let mut credit = credit;
        if window.in_slow_start() {
            if self.arithmetic == Arithmetic::Real && self.stage.take().is_some() {
                // The stage was not ended by a loss or a timeout: the window was restarted.
                self.origin = Origin::SlowStart;
            }
            (window, credit) = aimd.increase.slow_start(window, credit);
        }
        let acked = aimd.increase.segments(credit);
        if acked <= 0.0 {
            return window;
        }
        let cwnd = window.cwnd / aimd.smss;
        let (srtt, least) = (view.rtt.srtt(), view.rtt.min());
        let grown = match self.arithmetic {
            Arithmetic::Real => {
                let rtt = srtt.or(ack.rtt).unwrap_or(Duration::ZERO);
                self.avoidance(ack.now, rtt, cwnd, acked)
            }
            Arithmetic::Segments => {
                let ahead = least.or(ack.rtt).unwrap_or(Duration::ZERO);
                self.counted_avoidance(ack.now, ahead, cwnd, acked)
            }
        };
        window.cwnd = grown * aimd.smss;
        window
    }

    fn on_loss(&mut self, loss: &LossFacts, answer: Answer, aimd: &mut Aimd) {
        match answer {
            Answer::Own => self.note_congestion(loss.window.cwnd / aimd.smss, Origin::Loss),
            Answer::Other(chosen) if chosen.cwnd != loss.window.cwnd => {
                self.origin = Origin::Loss;
                self.stage = None;
            }
            Answer::Other(_) => {}
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts, aimd: &mut Aimd) -> Window {
        if !aimd.decrease.holds(loss) {
            self.note_congestion(loss.window.cwnd / aimd.smss, Origin::Timeout);
        }
        self.stage = None;
        aimd.on_timeout(loss)
    }

    fn remember(&mut self) {
        self.remembered = Some(Box::new(Remembered {
            w_max: self.w_max,
            cwnd_prior: self.cwnd_prior,
            origin: self.origin,
            stage: self.stage,
            counted: self.counted,
        }));
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window, aimd: &mut Aimd) -> Window {
        if let Some(before) = self.remembered.take()
            && window.cwnd < prior.window.cwnd
        {
            aimd.increase.restore();
            if self.undo_curve == UndoCurve::Restore {
                self.w_max = before.w_max;
                self.cwnd_prior = before.cwnd_prior;
                self.origin = before.origin;
                self.stage = before.stage;
                self.counted = before.counted;
            }
        }
        prior.restored(window)
    }

    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        match (&mut self.stage, self.arithmetic) {
            (None, _) => {}
            (Some(stage), Arithmetic::Real) => stage.pause(now),
            // As in Linux, `cubictcp_cwnd_event`: the time since the last transmission does not count.
            (Some(stage), Arithmetic::Segments) => {
                stage.start = now.min(stage.start + now.since(last_sent));
            }
        }
    }
}

#[cfg(test)]
mod tests;
