//! DCTCP: a reduction in proportion to the fraction of marked bytes, for data centres.
//!
//! Bensley, Thaler, Balasubramanian, Eggert, Judd, "Data Center TCP (DCTCP)", RFC 8257, whose names are used here; the
//! origin is Alizadeh et al., SIGCOMM 2010.
//!
//! ```text
//! M      = BytesMarked / BytesAcked of a window of data                          (§3.3, steps 1 to 5)
//! Alpha ← (1 − g) · Alpha + g · M,  g = 2^−shift_g = 1/16,  Alpha = 1 at first   (step 6)
//! mark     cwnd ← cwnd · (1 − Alpha/2), once per window of data                  (step 9)
//! growth   as Reno (§3.4);   loss, timeout: as Reno (§3.5)
//! ```
//!
//! A switch marks every packet that finds more than K packets in its queue, and a flow that sees few marks reduces its
//! window slightly: the queue stays at about K and does not become empty. [`prague`](super::prague) is the successor
//! for the Internet: it needs a receiver that counts marks (Accurate ECN) and sends ECT(1), for which there is a
//! separate queue. DCTCP sends ECT(0), and gets more than its fair share next to Reno in the same queue (§5). It is not
//! for the Internet (§1).
//!
//! The receiver has to report marks as they arrive (§3.2), unlike with classic ECN: `ECE` is set on an ACK if and only
//! if the data that this ACK acknowledges for the first time was marked. This is not negotiated (§4.1); here the
//! receiver is configured for it because this sender needs it. With Accurate ECN, the counts carry the same
//! information. Without ECN, DCTCP is Reno.
//!
//! Readings:
//! - The first mark of a window of data reduces `cwnd` by the Alpha of the previous windows, as in Linux; the
//!   window does not grow before the data outstanding at that time is acknowledged.
//! - Only new data is ECN-capable, as in RFC 3168: SYNs and retransmissions (§3.6, §4.1) are not.
//! - Linux also counts selectively acknowledged data, and stores Alpha in units of 1/1024.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossFacts, LossRule, View};
use dupack_tcp::window::Window;

use super::aimd_control::{self, Aimd, AimdParameters, AimdVariant};
use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Entry, InLinux, KernelVersion, Needs, Parameters};

/// DCTCP's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct DctcpParameters {
    /// exponent n of the weight 2^−n of a window of data in Alpha (g)
    #[parameter(basic, source = "RFC 8257 §4.2: 1/16; linux: dctcp_shift_g", range = 1..=10, default = 4)]
    pub shift_g: u64,
    /// Alpha before the first window of data
    #[parameter(source = "RFC 8257 §3.3: 1; linux: dctcp_alpha_on_init", range = 0.0..=1.0, default = 1.0)]
    pub alpha: f64,
    // Alpha determines the reduction after marks.
    #[embed(fix(decrease.mark_decrease = 0.0))]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    let own = |parameter: &'static str| Place::module("tcp_dctcp", parameter);
    Entry::control("dctcp", file!())
        .summary("for data centres: reduces by the share of marked bytes (needs ECN)")
        .citation("RFC 8257")
        .needs(|_| Needs::NONE.and_exact_echo())
        .linux(
            InLinux::module(
                "the congestion control `dctcp`, since 3.18",
                "dctcp",
                "tcp_dctcp",
            )
            .since(KernelVersion::new(3, 18))
            .differs("Linux's receiver echoes marks exactly only if it runs dctcp, too")
            .differs("Linux has alpha in parts of 1024, ours is a real number")
            .knobs([
                Knob::number("shift_g", 1.0, own("dctcp_shift_g")),
                Knob::number("alpha", 1024.0, own("dctcp_alpha_on_init")),
            ])
            .knobs(aimd_control::knobs()),
        )
        .build(|parameters: &DctcpParameters, context| {
            parameters
                .aimd
                .build(context)
                .varied(Dctcp::new(parameters))
        })
}

/// DCTCP's congestion control.
#[derive(Debug)]
struct Dctcp {
    gain: f64,
    /// DCTCP.Alpha.
    alpha: f64,
    observed: Observed,
}

/// Observed window of data. Volumes are in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Observed {
    /// DCTCP.BytesAcked.
    acked: f64,
    /// DCTCP.BytesMarked.
    marked: f64,
    /// DCTCP.WindowEnd.
    end: u64,
}

impl Dctcp {
    fn new(parameters: &DctcpParameters) -> Self {
        Self {
            gain: libm::exp2(-(parameters.shift_g as f64)),
            alpha: parameters.alpha,
            observed: Observed::default(),
        }
    }

    /// Counts the bytes and marks of an ACK (§3.3, steps 1 to 8).
    fn observe(&mut self, ack: &AckFacts<'_>, nxt: u64, smss: f64) {
        let acked = ack.acked_bytes as f64;
        self.observed.acked += acked;
        self.observed.marked += match ack.marked_packets {
            Some(packets) => packets as f64 * smss,
            None if ack.ecn_echo.is_set() => acked,
            None => 0.0,
        };
        if ack.una <= self.observed.end {
            return;
        }
        if self.observed.acked > 0.0 {
            let share = (self.observed.marked / self.observed.acked).min(1.0);
            self.alpha += self.gain * (share - self.alpha);
        }
        self.observed = Observed {
            end: nxt,
            ..Observed::default()
        };
    }
}

impl AimdVariant for Dctcp {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        self.observe(ack, view.scoreboard.nxt(), aimd.smss);
        aimd.increase.grown(ack, credit, view.window)
    }

    fn reduction(&self, loss: &LossFacts, aimd: &Aimd) -> Window {
        if loss.rule != LossRule::MARK {
            return aimd.decrease.after_loss(loss);
        }
        let cwnd = (loss.window.cwnd * (1.0 - self.alpha / 2.0)).max(2.0 * aimd.smss);
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::congestion::MarkAnswer;
    use dupack_tcp::rtt::RttEstimator;
    use dupack_tcp::scoreboard::Scoreboard;
    use dupack_tcp::segment::Bit;
    use dupack_tcp::testing::{self, SMSS};
    use dupack_tcp::time::Instant;

    use super::*;
    use crate::catalog::dialect::sender_config;
    use crate::catalog::{Dialect, Value, typed};
    use crate::congestion::aimd_control::AimdControl;
    use crate::congestion::bench::{CONTEXT, loss_facts};

    struct Road {
        control: AimdControl<Dctcp>,
        window: Window,
        una: u64,
    }

    impl Road {
        fn new(changes: &[(&str, Value)], cwnd: f64) -> Self {
            let parameters: DctcpParameters =
                typed::parameters(Dialect::Rfc, changes).expect("they are known");
            let bytes = cwnd * f64::from(SMSS);
            Self {
                control: AimdControl {
                    aimd: parameters.aimd.build(&CONTEXT),
                    variant: Dctcp::new(&parameters),
                },
                window: Window {
                    cwnd: bytes,
                    ssthresh: bytes,
                },
                una: 0,
            }
        }

        /// Passes an ACK for `segments` segments. Nothing is outstanding after the ACK, so it ends a window.
        fn ack(&mut self, segments: u64, echo: Bit, counted: Option<u64>) {
            self.una += segments * u64::from(SMSS);
            let mut ack = testing::ack_facts(Instant::ZERO);
            ack.una = self.una;
            ack.acked_bytes = segments * u64::from(SMSS);
            ack.delivered_bytes = ack.acked_bytes;
            ack.ecn_echo = echo;
            ack.marked_packets = counted;
            let board = Scoreboard::new(SMSS);
            let rtt = RttEstimator::new(sender_config(Dialect::Rfc, SMSS, &Needs::NONE).rtt);
            let view = testing::view(Instant::ZERO, &board, self.window, &rtt);
            self.window = self
                .control
                .on_ack(&ack, Credit::new(1, ack.acked_bytes), &view);
        }

        /// Returns the window in segments after a mark at 100 segments.
        fn marked(&self) -> f64 {
            let mut loss = loss_facts(0, 100);
            loss.rule = LossRule::MARK;
            loss.window.cwnd = 100_000.0;
            let window = self.control.reduction(&loss);
            assert_eq!(window.cwnd, window.ssthresh);
            window.cwnd / 1000.0
        }

        fn alpha(&self) -> f64 {
            self.control.variant.alpha
        }
    }

    #[test]
    fn alpha_is_the_moving_share_of_marked_bytes() {
        let mut road = Road::new(&[("alpha", Value::Real(0.0))], 100.0);
        assert_eq!(road.marked(), 100.0);
        // A whole window is marked, so Alpha is 1/16.
        road.ack(10, Bit::Set, None);
        assert!((road.alpha() - 0.0625).abs() < 1e-12);
        assert!((road.marked() - 100.0 * (1.0 - 0.03125)).abs() < 1e-9);
        // Nothing is marked, so Alpha is 15/256.
        road.ack(10, Bit::Clear, None);
        assert!((road.alpha() - 15.0 / 256.0).abs() < 1e-12);
        // After many windows in which everything is marked, a mark halves the window as in Reno.
        for _ in 0..200 {
            road.ack(10, Bit::Set, None);
        }
        assert!((road.marked() - 50.0).abs() < 0.01, "{}", road.marked());
    }

    #[test]
    fn a_window_ends_beyond_the_data_sent_when_it_began() {
        // Five of 21 segments are acknowledged with ECE: M = 5/21.
        let mut road = Road::new(&[("alpha", Value::Real(0.0))], 100.0);
        road.control.variant.observed.end = 20_000;
        for (segments, echo) in [(5, Bit::Clear), (5, Bit::Set), (10, Bit::Clear)] {
            road.ack(segments, echo, None);
            assert_eq!(road.alpha(), 0.0, "not beyond WindowEnd");
        }
        road.ack(1, Bit::Clear, None);
        let wanted = 5.0 / 21.0 / 16.0;
        assert!((road.alpha() - wanted).abs() < 1e-12, "{}", road.alpha());
    }

    #[test]
    fn counts_stand_for_bytes_where_there_are_any() {
        let mut road = Road::new(&[("alpha", Value::Real(0.0))], 100.0);
        road.ack(10, Bit::Set, Some(3));
        assert!((road.alpha() - 0.3 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn another_gain_moves_it_faster() {
        let changes = [("alpha", Value::Real(0.0)), ("shift_g", Value::Integer(1))];
        let mut road = Road::new(&changes, 100.0);
        road.ack(10, Bit::Set, None);
        assert_eq!(road.alpha(), 0.5);
    }

    #[test]
    fn the_first_mark_halves_and_a_loss_always_does() {
        let road = Road::new(&[], 100.0);
        assert_eq!(road.marked(), 50.0);
        let road = Road::new(&[("alpha", Value::Real(0.0))], 100.0);
        let loss = road.control.reduction(&loss_facts(0, 100));
        assert_eq!(loss.cwnd, 50_000.0);
        // The window does not fall below two segments.
        let mut mark = loss_facts(0, 2);
        mark.rule = LossRule::MARK;
        mark.window.cwnd = 2500.0;
        assert_eq!(Road::new(&[], 2.0).control.reduction(&mark).cwnd, 2000.0);
    }

    #[test]
    fn it_leaves_as_ect0_and_asks_for_an_exact_echo() {
        let control = Road::new(&[], 10.0).control;
        assert_eq!(control.marks(), MarkAnswer::AsLoss);
        assert!(entry().needs(&entry().defaults(Dialect::Rfc)).exact_echo);
    }
}
