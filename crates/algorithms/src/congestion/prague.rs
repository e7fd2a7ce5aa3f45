//! Prague: a reduction in proportion to the fraction of marked packets, for L4S.
//!
//! De Schepper, Tilmans, Briscoe, Goel, draft-briscoe-iccrg-prague-congestion-control-04 (July 2024), after DCTCP (RFC
//! 8257). RFC 9331 §4 has the requirements for a sender of ECT(1).
//!
//! ```text
//! R_v    = max(SRTT, rtt_virt)                          the round-trip time that Prague uses
//! alpha ← alpha + gain · (marked / delivered − alpha)   once per R_v, from the first mark on
//! mark     cwnd ← cwnd · (1 − alpha/2), ssthresh = cwnd, at most once per R_v
//! growth   slow start until the first mark or loss; then increase · (SRTT/R_v)² segments a round trip
//! loss     as Reno, half
//! ```
//!
//! Other controls respond to every mark with the same reduction, and so leave the queue empty or full. Prague responds
//! to few marks with a small reduction: in equilibrium there are two marks per R_v at any rate. Prague needs a receiver
//! that counts marks: with Accurate ECN ([`MarkAnswer::ByShare`]) new data is sent with ECT(1), and a mark does not
//! prevent unmarked packets from increasing the window. With classic ECN, or without ECN, Prague is Reno.
//!
//! A flow whose round-trip time is shorter than `rtt_virt` gets the rate of a flow with `rtt_virt`: it reduces at most
//! once per `rtt_virt`, and grows by (SRTT/rtt_virt)² per round trip, so its rate grows by one segment per rtt_virt².
//!
//! Readings: the fraction of marks is computed when everything outstanding at the last computation is acknowledged, but
//! not sooner than R_v after that computation. A round without marks lowers alpha in the same way. RFC 9331 §4.3 asks a
//! sender to detect a queue that marks but is not an L4S queue, and to act as Reno there: this is omitted.

use dupack_tcp::congestion::{CongestionControl, Credit, MarkAnswer};
use dupack_tcp::facts::{AckFacts, LimitedBy, LossFacts, LossRule, View};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;

use super::aimd::{DecreaseParameters, IncreaseParameters};
use super::aimd_control::{Aimd, AimdVariant, Answer};
use super::pacing::PacingParameters;
use super::undo::UndoParameters;
use crate::catalog::{Entry, Linux, Needs, Parameters, Switch};

/// Prague's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct PragueParameters {
    /// weight of the latest fraction of marks in alpha
    #[parameter(basic, source = "the draft: 1/16, as RFC 8257 §4.2", range = 0.001..=1.0, default = 0.0625)]
    pub gain: f64,
    /// alpha before the first fraction is computed
    #[parameter(source = "the draft, RFC 8257 §4.2: the first mark halves, as a loss does", range = 0.0..=1.0, default = 1.0)]
    pub alpha: f64,
    /// round-trip time that a flow with a shorter one assumes; 0: the flow's own
    #[parameter(basic, source = "the draft: RTT_virt, 25 ms", range = 0.0..=1000.0, unit = "ms", default = 25.0)]
    pub rtt_virt: f64,
    /// pacing with one window per round trip
    #[parameter(basic, source = "the draft; RFC 9331 §4.3, item 7, expects short bursts", default = Switch::On)]
    pub pace: Switch,
    #[embed]
    increase: IncreaseParameters,
    #[embed]
    decrease: DecreaseParameters,
    #[embed]
    undo: UndoParameters,
}

impl PragueParameters {
    fn pacing(&self) -> PacingParameters {
        PacingParameters {
            pacing: self.pace,
            pacing_slow_start: 2.0,
            pacing_avoidance: 1.0,
            pacing_burst: 1,
            pacing_from: 10,
        }
    }
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("prague", file!())
        .summary("L4S: reduces by the share of marked packets (needs Accurate ECN)")
        .citation("draft-briscoe-iccrg-prague-congestion-control-04")
        .needs(|_| Needs::NONE.and_counted_marks())
        .linux(Linux::missing("`prague` is in the L4S team's kernels only"))
        .build(|parameters: &PragueParameters, context| {
            let (pacing, p) = (parameters.pacing(), parameters);
            Aimd::new(&p.increase, &p.decrease, &p.undo, &pacing, context).varied(Prague::new(p))
        })
}

/// Prague's congestion control.
#[derive(Debug)]
struct Prague {
    gain: f64,
    slope: f64,
    rtt_virt: Duration,
    alpha: f64,
    share: Share,
    /// Time of the last reduction for a mark.
    reduced: Option<Instant>,
    marks: Marks,
}

/// Reports of marks by the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    Uncounted,
    NoneYet,
    Seen,
}

/// Delivered data and marks of a round.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Delivered bytes.
    delivered: u64,
    /// Marked packets.
    marked: u64,
    since: Instant,
    /// SND.NXT when the round began.
    end: u64,
}

impl Prague {
    fn new(parameters: &PragueParameters) -> Self {
        Self {
            gain: parameters.gain,
            slope: parameters.increase.increase,
            rtt_virt: Duration::from_secs_f64(parameters.rtt_virt / 1e3),
            alpha: parameters.alpha,
            share: Share::default(),
            reduced: None,
            marks: Marks::Uncounted,
        }
    }

    /// Returns R_v.
    fn round(&self, srtt: Option<Duration>) -> Duration {
        srtt.unwrap_or(Duration::ZERO).max(self.rtt_virt)
    }

    /// Counts the marks of an ACK, and updates alpha if the ACK ends a round.
    fn count(&mut self, ack: &AckFacts<'_>, view: &View<'_>, smss: f64) {
        let Some(marked) = ack.marked_packets else {
            return;
        };
        if marked > 0 {
            self.marks = Marks::Seen;
        } else if self.marks == Marks::Uncounted {
            self.marks = Marks::NoneYet;
        }
        self.share.marked += marked;
        self.share.delivered += ack.delivered_bytes;
        let lasted = ack.now.since(self.share.since);
        if ack.una < self.share.end || lasted < self.round(view.rtt.srtt().or(ack.rtt)) {
            return;
        }
        if self.marks == Marks::Seen && self.share.delivered > 0 {
            let packets = self.share.delivered as f64 / smss;
            let share = self.share.marked as f64 / packets;
            self.alpha += self.gain * (share.min(1.0) - self.alpha);
        }
        self.share = Share {
            since: ack.now,
            end: view.scoreboard.nxt(),
            ..Share::default()
        };
    }

    /// Returns (SRTT/R_v)².
    fn damping(&self, srtt: Option<Duration>) -> f64 {
        let Some(srtt) = srtt.filter(|srtt| *srtt < self.rtt_virt) else {
            return 1.0;
        };
        let ratio = srtt.as_secs_f64() / self.rtt_virt.as_secs_f64();
        ratio * ratio
    }

    /// Returns `true` if the window has already been reduced in this round.
    fn has_answered(&self, loss: &LossFacts) -> bool {
        let round = self.round(loss.srtt);
        self.reduced.is_some_and(|at| loss.now.since(at) < round)
    }
}

impl AimdVariant for Prague {
    fn marks(&self) -> MarkAnswer {
        MarkAnswer::ByShare
    }

    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        self.count(ack, view, aimd.smss);
        let (mut window, mut credit) = (view.window, credit);
        if !aimd.increase.permits(ack, window) && ack.limited_by != LimitedBy::Pacing {
            return window;
        }
        if window.in_slow_start() {
            (window, credit) = aimd.increase.slow_start(window, credit);
        }
        // Marked packets do not increase the window.
        let packets = ack.delivered_bytes as f64 / aimd.smss;
        let marked = ack.marked_packets.unwrap_or(0) as f64;
        let unmarked = if marked > 0.0 {
            1.0 - (marked / packets.max(marked))
        } else {
            1.0
        };
        let acked = aimd.increase.segments(credit) * unmarked;
        let slope = self.slope * self.damping(view.rtt.srtt().or(ack.rtt));
        window.cwnd += slope * acked * aimd.smss * aimd.smss / window.cwnd;
        window
    }

    fn reduction(&self, loss: &LossFacts, aimd: &Aimd) -> Window {
        if loss.rule != LossRule::MARK || self.marks == Marks::Uncounted {
            return aimd.decrease.after_loss(loss);
        }
        if self.has_answered(loss) {
            return loss.window;
        }
        let cwnd = (loss.window.cwnd * (1.0 - self.alpha / 2.0)).max(2.0 * aimd.smss);
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }

    fn on_loss(&mut self, loss: &LossFacts, _: Answer, _: &mut Aimd) {
        if loss.rule == LossRule::MARK && !self.has_answered(loss) {
            self.reduced = Some(loss.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::congestion::Pacing;
    use dupack_tcp::facts::LossCause;
    use dupack_tcp::rtt::RttEstimator;
    use dupack_tcp::scoreboard::Scoreboard;
    use dupack_tcp::testing::{self, SMSS};

    use super::*;
    use crate::catalog::dialect::sender_config;
    use crate::catalog::{Dialect, Value};
    use crate::congestion::bench::{CONTEXT, built, values};

    /// Control with a round-trip time of `rtt`.
    struct Road {
        control: Box<dyn CongestionControl>,
        rtt: Duration,
        window: Window,
        now: Instant,
        una: u64,
    }

    impl Road {
        fn new(rtt_ms: u64, changes: &[(&str, Value)], cwnd: f64) -> Self {
            let bytes = cwnd * f64::from(SMSS);
            Self {
                control: built(&entry(), Dialect::Rfc, changes),
                rtt: Duration::from_millis(rtt_ms),
                window: Window {
                    cwnd: bytes,
                    ssthresh: bytes,
                },
                now: Instant::ZERO,
                una: 0,
            }
        }

        fn cwnd(&self) -> f64 {
            self.window.cwnd / f64::from(SMSS)
        }

        /// Passes an ACK for `segments` segments one round trip later; `marked` of them were marked. Nothing else is
        /// outstanding.
        fn round(&mut self, segments: u64, marked: u64) {
            self.now += self.rtt;
            self.una += segments * u64::from(SMSS);
            let mut ack = testing::ack_facts(self.now);
            ack.una = self.una;
            ack.delivered_bytes = segments * u64::from(SMSS);
            ack.marked_packets = Some(marked);
            ack.rtt = Some(self.rtt);
            let board = Scoreboard::new(SMSS);
            // The estimator has no samples, so the sample of the ACK is used.
            let rtt = RttEstimator::new(sender_config(Dialect::Rfc, SMSS, &Needs::NONE).rtt);
            let view = testing::view(self.now, &board, self.window, &rtt);
            let credit = Credit::new(1, segments * u64::from(SMSS));
            self.window = self.control.on_ack(&ack, credit, &view);
        }

        fn answer(&mut self, rule: LossRule) {
            let segment = testing::segment(0, Instant::ZERO);
            let mut loss = testing::loss_facts(segment, rule, self.window.cwnd as u64);
            (loss.now, loss.window, loss.srtt) = (self.now, self.window, Some(self.rtt));
            let chosen = self.control.reduction(&loss);
            self.control.on_loss(&loss, LossCause::Congestion, chosen);
            self.window = chosen;
        }
    }

    #[test]
    fn marks_reduce_by_half_their_share() {
        let start = [("alpha", Value::Real(0.25))];
        let mut road = Road::new(50, &start, 100.0);
        // 10 of 100 segments are marked: alpha = 0.25 + (0.1 − 0.25)/16 = 0.240625. 90 unmarked segments at a window of
        // 100 add 0.9.
        road.round(100, 10);
        assert!((road.cwnd() - 100.9).abs() < 1e-9, "{}", road.cwnd());
        road.answer(LossRule::MARK);
        assert!((road.cwnd() - 100.9 * (1.0 - 0.240_625 / 2.0)).abs() < 1e-9);
        assert_eq!(road.window.ssthresh, road.window.cwnd);
        // The window is reduced once per round trip.
        let before = road.cwnd();
        road.answer(LossRule::MARK);
        assert_eq!(road.cwnd(), before);
        // A round without marks also lowers alpha, to 0.240625·15/16.
        road.round(80, 0);
        let before = road.cwnd();
        road.answer(LossRule::MARK);
        assert!((road.cwnd() - before * (1.0 - 0.240_625 * 15.0 / 32.0)).abs() < 1e-9);
    }

    #[test]
    fn the_first_mark_halves_however_long_nothing_was_marked() {
        let mut road = Road::new(50, &[], 100.0);
        for _ in 0..20 {
            road.round(100, 0);
        }
        road.round(100, 100);
        let before = road.cwnd();
        road.answer(LossRule::MARK);
        assert!((road.cwnd() - before / 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_loss_halves_and_so_does_a_mark_that_is_not_counted() {
        for rule in [LossRule::TIMEOUT, LossRule::MARK] {
            let mut road = Road::new(50, &[("alpha", Value::Real(0.1))], 40.0);
            road.answer(rule);
            assert_eq!(road.cwnd(), 20.0);
        }
    }

    #[test]
    fn a_short_round_trip_grows_and_falls_as_one_of_25_ms() {
        // With 5 ms, the window grows by (5/25)² of a segment per round trip.
        let mut road = Road::new(5, &[("alpha", Value::Real(0.5))], 50.0);
        road.round(50, 0);
        assert!((road.cwnd() - 50.04).abs() < 1e-9, "{}", road.cwnd());
        // A mark reduces the window at 10 ms. The next reduction is at 35 ms, not earlier.
        road.round(50, 1);
        road.answer(LossRule::MARK);
        for n in 0..5 {
            let before = road.cwnd();
            road.round(30, 0);
            let grown = road.cwnd();
            assert!(grown > before);
            road.answer(LossRule::MARK);
            assert_eq!(road.cwnd() < grown, n == 4, "round {n}");
        }
    }

    #[test]
    fn it_asks_for_marks_by_share_and_paces() {
        let control = built(&entry(), Dialect::Rfc, &[]);
        assert_eq!(control.marks(), MarkAnswer::ByShare);
        assert!(matches!(control.pacing(), Pacing::Window(rule) if rule.avoidance == 1.0));
        let still = entry().build(
            &values(&entry(), Dialect::Rfc, &[("pace", Value::word("off"))]),
            &CONTEXT,
        );
        assert_eq!(still.pacing(), Pacing::Off);
    }
}
