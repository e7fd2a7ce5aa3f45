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
//!              W_max = cwnd, or cwnd · (1 + β)/2 if that is below the last one  (§4.7)
//! timeout    as a loss, but cwnd = 1 segment, and the next stage has K = 0,
//!              W_max = cwnd                                                     (§4.8)
//! ```
//!
//! Growth depends on time, not on ACKs: flows of different RTT grow alike, and a long fat path
//! is filled in seconds where Reno takes hours. Slow start and the reduction's arithmetic are
//! Reno's ([`Increase`], [`Decrease`]).
//!
//! Readings and omissions:
//! - The RFC has `(target − cwnd)/cwnd` per new ACK, and counts segments only in W_est. With
//!   `count = bytes` both count segments, so that delayed ACKs do not halve the approach to the
//!   target (as Linux and QUIC stacks do); `count = acks` is the letter.
//! - A stage begins with the first ACK that may grow the window in congestion avoidance.
//! - While the window is not used, nothing grows and t stands still (§5.8, `validate`).
//! - After slow start without loss (the connection's first, or after an idle period) K = 0 and
//!   W_max = cwnd (§4.10). A `cwnd` that a recovery limited below `ssthresh` is still the stage
//!   of the loss before it.
//! - After a loss that a response answered in its own way, the stage goes on if the window is
//!   what it was; otherwise a stage starts from the new window, W_max as it was.
//! - No undo of spurious events (§4.9) and no HyStart++ (RFC 9406).

use alloc::boxed::Box;

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;

use super::aimd::{self, Decrease, DecreaseParameters, Increase, IncreaseParameters};
use crate::catalog::{Choice, Context, Entry, Parameters};

/// Where the window aims after a loss below its last maximum (§4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FastConvergence {
    /// lower than the window of the loss, so that others get room
    On,
    /// at the window of the loss
    Off,
}

/// Whether the window grows at least as Reno's would (§4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum RenoFriendly {
    /// it does
    On,
    /// it follows the cubic function alone
    Off,
}

/// CUBIC's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct CubicParameters {
    /// how fast the window grows away from its last maximum (C)
    #[parameter(source = "RFC 9438 §5.1", range = 1e-6..=1000.0, unit = "segments/s³", default = 0.4)]
    c: f64,
    /// what a congestion loss leaves of the window, as a factor (β)
    #[parameter(source = "RFC 9438 §4.6", range = 0.0..=1.0, default = 0.7)]
    beta: f64,
    /// aim lower after a loss below the last maximum, to make room for others
    #[parameter(source = "RFC 9438 §4.7", default = FastConvergence::On)]
    fast_convergence: FastConvergence,
    /// grow no slower than Reno would
    #[parameter(source = "RFC 9438 §4.3", default = RenoFriendly::On)]
    reno_friendly: RenoFriendly,
    // Of the AIMD growth only slow start is used.
    #[embed(fix(increase = 0.0))]
    increase: IncreaseParameters,
    #[embed(fix(decrease = beta))]
    decrease: DecreaseParameters,
}

/// The entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("cubic", file!())
        .summary("the window follows a cubic function of the time since the last loss")
        .citation("RFC 9438")
        .build(|parameters, context| Box::new(Cubic::new(parameters, context)))
}

/// Where a stage of congestion avoidance comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Slow start without loss.
    SlowStart,
    /// A loss that ACKs revealed.
    Loss,
    /// A timeout, and the slow start after it.
    Timeout,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// From here t is counted; moved on while the window is not used.
    start: Instant,
    /// The last ACK, or the end of an idle period.
    last: Instant,
    /// K in seconds.
    k: f64,
    /// W_est in segments.
    w_est: f64,
}

impl Stage {
    /// The time since the last ACK does not count.
    fn pause(&mut self, now: Instant) {
        self.start += now.since(self.last);
        self.last = now;
    }
}

/// The control. Windows in it are in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    smss: f64,
    c: f64,
    beta: f64,
    fast_convergence: FastConvergence,
    reno_friendly: RenoFriendly,
    increase: Increase,
    decrease: Decrease,
    w_max: f64,
    cwnd_prior: f64,
    origin: Origin,
    stage: Option<Stage>,
}

impl Cubic {
    /// One with these parameters.
    #[must_use]
    pub fn new(parameters: &CubicParameters, context: &Context) -> Self {
        Self {
            smss: f64::from(context.smss),
            c: parameters.c,
            beta: parameters.beta,
            fast_convergence: parameters.fast_convergence,
            reno_friendly: parameters.reno_friendly,
            increase: Increase::new(&parameters.increase, context),
            decrease: Decrease::new(&parameters.decrease, context),
            w_max: 0.0,
            cwnd_prior: 0.0,
            origin: Origin::SlowStart,
            stage: None,
        }
    }

    /// §4.2: W_cubic, `t` seconds into `stage`.
    fn w_cubic(&self, stage: &Stage, t: f64) -> f64 {
        let x = t - stage.k;
        self.c * x * x * x + self.w_max
    }

    /// The stage that begins with a window of `cwnd`.
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
            // `libm`, so that every machine gets the same bits.
            k: libm::cbrt((self.w_max - cwnd) / self.c),
            w_est: cwnd,
        }
    }

    /// Congestion avoidance (§4.2 to 4.5): the window after an ACK for so many segments.
    fn avoidance(&mut self, now: Instant, rtt: Duration, cwnd: f64, acked: f64) -> f64 {
        let mut stage = match self.stage.take() {
            Some(stage) => stage,
            None => self.begin(now, cwnd),
        };
        stage.last = now;
        let alpha = if stage.w_est >= self.cwnd_prior {
            1.0
        } else {
            3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        };
        stage.w_est += alpha * acked / cwnd;
        self.stage = Some(stage);

        let t = now.since(stage.start).as_secs_f64();
        let friendly = self.reno_friendly == RenoFriendly::On;
        if friendly && self.w_cubic(&stage, t) < stage.w_est {
            return cwnd.max(stage.w_est);
        }
        let target = self
            .w_cubic(&stage, t + rtt.as_secs_f64())
            .clamp(cwnd, 1.5 * cwnd);
        // An ACK for more than a window of data does not overshoot the target.
        cwnd + (target - cwnd) * (acked / cwnd).min(1.0)
    }

    /// §4.6, §4.7: what a congestion event makes of W_max; `cwnd` is the window before it.
    fn note_congestion(&mut self, cwnd: f64, origin: Origin) {
        self.cwnd_prior = cwnd;
        let lower = self.fast_convergence == FastConvergence::On;
        self.w_max = if lower && cwnd < self.w_max {
            cwnd * (1.0 + self.beta) / 2.0
        } else {
            cwnd
        };
        self.origin = origin;
        self.stage = None;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        if !self.increase.permits(ack) {
            if let Some(stage) = &mut self.stage {
                stage.pause(ack.now);
            }
            return view.window;
        }
        if view.window.in_slow_start() {
            if self.stage.take().is_some() {
                // Neither a loss nor a timeout ended the stage: the window was restarted.
                self.origin = Origin::SlowStart;
            }
            return self.increase.slow_start(view.window, credit).0;
        }
        let acked = self.increase.segments(credit);
        if acked <= 0.0 {
            return view.window;
        }
        let rtt = view.rtt.srtt().or(ack.rtt).unwrap_or(Duration::ZERO);
        let cwnd = self.avoidance(ack.now, rtt, view.window.cwnd / self.smss, acked);
        Window {
            cwnd: cwnd * self.smss,
            ..view.window
        }
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        self.decrease.after_loss(loss)
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        if aimd::is_own_reduction(cause, chosen, self.reduction(loss), self.smss) {
            self.note_congestion(loss.window.cwnd / self.smss, Origin::Loss);
        } else if chosen.cwnd != loss.window.cwnd {
            self.origin = Origin::Loss;
            self.stage = None;
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        if !self.decrease.holds(loss) {
            self.note_congestion(loss.window.cwnd / self.smss, Origin::Timeout);
        }
        self.stage = None;
        self.increase.after_timeout();
        self.decrease.after_timeout(loss)
    }

    fn on_idle_end(&mut self, now: Instant) {
        if let Some(stage) = &mut self.stage {
            stage.pause(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::facts::LimitedBy;

    use super::*;
    use crate::catalog::{Dialect, Value, typed};
    use crate::congestion::bench::{Bench, CONTEXT};

    const RTT: Duration = Duration::from_millis(100);
    const ALONE: (&str, Value) = ("reno_friendly", Value::word("off"));

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs().max(1.0)
    }

    fn bench(changes: &[(&str, Value)], cwnd: f64, ssthresh: f64) -> Bench {
        let mut b = Bench::new(entry(), Dialect::Rfc, changes, cwnd, ssthresh);
        b.rtt_sample = Some(RTT);
        b
    }

    /// One round trip, its ACKs evenly spaced.
    fn round(b: &mut Bench) {
        let acks = b.cwnd() as u64;
        for _ in 0..acks {
            b.now += RTT / acks;
            b.ack(1);
        }
    }

    #[test]
    fn k_and_w_cubic_in_closed_form() {
        let mut b = bench(&[ALONE], 100.0, 50.0);
        b.loss(0, 100);
        assert_eq!((b.cwnd(), b.ssthresh()), (70.0, 70.0));
        // K = ³√((100 − 70)/0.4) = ³√75 = 4.2171633…; W(0) = 70, W(K) = 100.
        let parameters = typed::parameters(Dialect::Rfc, &[]).expect("defaults");
        let mut cubic = Cubic::new(&parameters, &CONTEXT);
        cubic.note_congestion(100.0, Origin::Loss);
        let stage = cubic.begin(Instant::ZERO, 70.0);
        assert!(close(stage.k, 4.217_163_326_508_746));
        assert!(close(cubic.w_cubic(&stage, 0.0), 70.0));
        assert!(close(cubic.w_cubic(&stage, stage.k), 100.0));
        // W(K + 5) = 100 + 0.4 · 125 = 150.
        assert!(close(cubic.w_cubic(&stage, stage.k + 5.0), 150.0));
    }

    #[test]
    fn the_first_ack_of_a_stage_moves_a_cwnd_th_towards_the_target() {
        let mut b = bench(&[ALONE], 100.0, 50.0);
        b.loss(0, 100);
        b.now += RTT;
        b.ack(1);
        // target = W(0.1) = 0.4 · (0.1 − 4.21716…)³ + 100.
        let x: f64 = 0.1 - 4.217_163_326_508_746;
        let target = 0.4 * x * x * x + 100.0;
        assert!(close(b.cwnd(), 70.0 + (target - 70.0) / 70.0));
    }

    #[test]
    fn the_window_follows_the_curve_through_plateau_and_probing() {
        let mut b = bench(&[ALONE], 100.0, 50.0);
        b.loss(0, 100);
        let start = b.now;
        let w = |t: f64| {
            let x = t - 4.217_163_326_508_746;
            0.4 * x * x * x + 100.0
        };
        for _ in 0..80 {
            round(&mut b);
            let t = b.now.since(start).as_secs_f64();
            // It aims one RTT ahead and gets most of the way there in one.
            let error = (b.cwnd() - w(t)).abs() / w(t);
            assert!(error < 0.04, "{t}: {} for {}", b.cwnd(), w(t));
        }
    }

    #[test]
    fn the_target_is_at_most_half_a_window_above() {
        let mut b = bench(&[ALONE, ("c", Value::Real(1000.0))], 10.0, 5.0);
        b.ack(1);
        b.now += Duration::from_secs(10);
        let before = b.cwnd();
        b.ack(1);
        assert!(close(b.cwnd(), before + 0.5));
    }

    #[test]
    fn where_cubic_is_slow_it_grows_as_reno_does() {
        // W_max = 10: K = ³√(3/0.4) = 1.957 s, so in the first round trips W_cubic hardly moves.
        let mut b = bench(&[], 10.0, 5.0);
        b.loss(0, 10);
        assert_eq!(b.cwnd(), 7.0);
        b.now += Duration::from_millis(1);
        b.ack(1);
        // α = 3 · 0.3/1.7 = 9/17; W_est = 7 + 9/17/7.
        assert!(close(b.cwnd(), 7.0 + 9.0 / 17.0 / 7.0));
        // From cwnd_prior = 10 on α = 1.
        for _ in 0..10 {
            round(&mut b);
        }
        assert!(b.cwnd() > 10.0);
        let before = b.cwnd();
        b.ack(1);
        assert!(b.cwnd() - before >= 1.0 / before - 1e-9);
    }

    #[test]
    fn fast_convergence_aims_lower_after_a_second_loss() {
        // Losses at 100 and at 70 leave 49. W_max = 70 · 1.7/2 = 59.5 with fast convergence
        // and 70 without; K = ³√((W_max − 49)/0.4).
        for (word, w_max) in [("on", 59.5), ("off", 70.0)] {
            let fast_convergence = ("fast_convergence", Value::word(word));
            let mut b = bench(&[ALONE, fast_convergence], 100.0, 50.0);
            b.loss(0, 100);
            b.loss(1, 70);
            assert!(close(b.cwnd(), 49.0));
            b.ack(1);
            let x: f64 = 0.1 - libm::cbrt((w_max - 49.0) / 0.4);
            let target = 0.4 * x * x * x + w_max;
            assert!(close(b.cwnd(), 49.0 + (target - 49.0) / 49.0));
        }
    }

    #[test]
    fn after_a_timeout_the_curve_starts_at_its_plateau() {
        let mut b = bench(&[ALONE], 20.0, 50.0);
        b.timeout(0, 20);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 14.0));
        b.timeout(0, 20);
        assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 14.0));
        while b.window.in_slow_start() {
            b.ack(1);
        }
        assert_eq!(b.cwnd(), 14.0);
        // K = 0, W_max = 14: target = 14 + 0.4 · 0.1³.
        b.ack(1);
        assert!(close(b.cwnd(), 14.0 + 0.000_4 / 14.0));
    }

    #[test]
    fn time_does_not_count_while_the_window_is_not_used() {
        let mut used = bench(&[ALONE], 100.0, 50.0);
        let mut idle = bench(&[ALONE], 100.0, 50.0);
        for b in [&mut used, &mut idle] {
            b.loss(0, 100);
            round(b);
        }
        // 5 s with ACKs while the application sends little, and 5 s without any.
        idle.limited_by = LimitedBy::Application;
        for _ in 0..50 {
            idle.now += RTT;
            idle.ack(1);
        }
        idle.limited_by = LimitedBy::Congestion;
        idle.now += Duration::from_secs(5);
        let now = idle.now;
        idle.control().on_idle_end(now);
        round(&mut used);
        round(&mut idle);
        assert!(close(used.cwnd(), idle.cwnd()));
    }

    #[test]
    fn a_limit_by_the_recovery_does_not_forget_the_maximum() {
        let mut b = bench(&[ALONE], 100.0, 50.0);
        b.loss(0, 100);
        // NewReno's full ACK: cwnd below ssthresh, slow start back.
        b.window.cwnd = 68_000.0;
        b.ack(1);
        b.ack(1);
        assert_eq!(b.cwnd(), 70.0);
        b.ack(1);
        let x: f64 = 0.1 - 4.217_163_326_508_746;
        let target = 0.4 * x * x * x + 100.0;
        assert!(close(b.cwnd(), 70.0 + (target - 70.0) / 70.0));
    }
}
