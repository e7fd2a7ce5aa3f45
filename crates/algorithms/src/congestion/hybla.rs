//! Hybla: growth that does not depend on the round-trip time. Each flow grows like a flow with a short reference
//! round-trip time.
//!
//! C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22(5), 2004. The source of this file is the kernel, `net/ipv4/tcp_hybla.c`,
//! not the paper. W counts segments, RTT₀ = 25 ms.
//!
//! ```text
//! ρ          = max(RTT/RTT₀, 1), of the minimum smoothed round-trip time
//! opening    W = ⌊ρ⌋
//! slow start W ← W + 2^ρ − 1 per ACK, up to ssthresh      W(t) ≈ ρ · 2^(t/RTT₀)
//! avoidance  W ← W + ρ²/W per ACK                         ρ² segments a round trip, ρ/RTT₀ a second
//! loss       as Reno, half;   timeout: as Reno, and Reno's growth until the outstanding data is acknowledged
//! ```
//!
//! Reno adds one segment per round trip, so its *rate* grows by 1/RTT² per second: a satellite flow with 600 ms grows
//! 576 times more slowly than a flow with 25 ms. In Hybla, W/RTT grows by 1/RTT₀² per second, whatever the RTT is.
//! CUBIC makes growth independent of the RTT by using time, Hybla by weighting each ACK. Unlike both Reno and CUBIC,
//! Hybla begins with a larger window on a long path, and fills the path within a few round trips of the reference flow.
//!
//! Readings: ACKs are counted, as in the paper and the kernel, so delayed ACKs halve the growth (`count`). If no
//! handshake gives a round-trip time, the connection opens with the configured window. The kernel stores ρ in eighths
//! and takes 2^ρ from a table; here both are real numbers.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::time::Duration;
use dupack_tcp::undo::Prior;
use dupack_tcp::window::Window;

use super::aimd::Count;
use super::aimd_control::{self, Aimd, AimdParameters, AimdVariant};
use crate::catalog::linux::{Knob, Place};
use crate::catalog::{Entry, InLinux, Parameters};

/// Hybla's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct HyblaParameters {
    /// round-trip time of the reference flow (RTT₀)
    #[parameter(basic, source = "Linux, tcp_hybla: rtt0", range = 1.0..=10_000.0, unit = "ms", default = 25.0)]
    rtt0: f64,
    /// maximum window
    #[parameter(source = "Linux, hybla_init: snd_cwnd_clamp", range = 1..=1 << 30, unit = "segments", default = 65_535)]
    window_max: u64,
    // Hybla has its own congestion avoidance.
    #[embed(
        change(increase.count(
            source = "Linux, hybla_cong_avoid: each ACK alike",
            default = Count::Acks,
        )),
        fix(increase.increase = 1.0),
    )]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("hybla", file!())
        .summary("grows as a flow of 25 ms would, however long the round-trip time is")
        .citation(
            "Caini, Firrincieli, Int. J. Satell. Commun. Netw. 22(5), 2004; Linux, tcp_hybla.c",
        )
        .linux(
            InLinux::module(
                "the congestion control `hybla`, since 2.6.13",
                "hybla",
                "tcp_hybla",
            )
            .differs("Linux has rho in eighths and grows in whole segments, ours in real numbers")
            .knob(Knob::number(
                "rtt0",
                1.0,
                Place::module("tcp_hybla", "rtt0"),
            ))
            .knobs(aimd_control::knobs()),
        )
        .build(|parameters: &HyblaParameters, context| {
            parameters
                .aimd
                .build(context)
                .varied(Hybla::new(parameters))
        })
}

/// Hybla's congestion control.
#[derive(Debug)]
struct Hybla {
    /// Reference round-trip time in nanoseconds.
    rtt0: f64,
    /// Maximum window in segments.
    window_max: f64,
    /// Minimum smoothed round-trip time.
    rtt_min: Option<Duration>,
    after_timeout: AfterTimeout,
}

/// Recovery from the losses of a timeout, in which growth is Reno's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterTimeout {
    No,
    /// Recovery lasts until the data before this offset is acknowledged; `None` until the next ACK shows how much was
    /// sent.
    Until(Option<u64>),
}

impl Hybla {
    fn new(parameters: &HyblaParameters) -> Self {
        Self {
            rtt0: parameters.rtt0 * 1e6,
            window_max: parameters.window_max as f64,
            rtt_min: None,
            after_timeout: AfterTimeout::No,
        }
    }

    /// Returns ρ.
    fn rho(&self) -> f64 {
        let ratio = |rtt: Duration| rtt.as_nanos() as f64 / self.rtt0;
        self.rtt_min.map_or(1.0, |rtt| ratio(rtt).max(1.0))
    }

    fn measure(&mut self, srtt: Duration) {
        self.rtt_min = Some(self.rtt_min.map_or(srtt, |least| least.min(srtt)));
    }

    /// Returns `true` if the recovery from a timeout is still in progress.
    fn is_repairing(&mut self, ack: &AckFacts<'_>, nxt: u64) -> bool {
        let AfterTimeout::Until(point) = self.after_timeout else {
            return false;
        };
        let point = point.unwrap_or(nxt);
        self.after_timeout = if ack.una >= point {
            AfterTimeout::No
        } else {
            AfterTimeout::Until(Some(point))
        };
        ack.una < point
    }

    fn grown(&self, credit: Credit, mut window: Window, aimd: &Aimd) -> Window {
        let (acked, rho) = (aimd.increase.segments(credit), self.rho());
        if acked <= 0.0 {
            return window;
        }
        if window.in_slow_start() {
            let step = (libm::exp2(rho) - 1.0) * acked * aimd.smss;
            window.cwnd = (window.cwnd + step).min(window.ssthresh);
        } else {
            window.cwnd += rho * rho * acked * aimd.smss * aimd.smss / window.cwnd;
        }
        window
    }
}

impl AimdVariant for Hybla {
    fn on_handshake(&mut self, rtt: Duration, opening: Window, aimd: &Aimd) -> Window {
        self.measure(rtt);
        Window {
            cwnd: libm::floor(self.rho()) * aimd.smss,
            ..opening
        }
    }

    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        if let Some(srtt) = view.rtt.srtt() {
            self.measure(srtt);
        }
        let window = view.window;
        if self.is_repairing(ack, view.scoreboard.nxt()) {
            return aimd.increase.grown(ack, credit, window);
        }
        if !aimd.increase.permits(ack, window) {
            return window;
        }
        let grown = self.grown(credit, window, aimd);
        let most = (self.window_max * aimd.smss).max(window.cwnd);
        Window {
            cwnd: grown.cwnd.min(most),
            ..grown
        }
    }

    fn on_timeout(&mut self, loss: &LossFacts, aimd: &mut Aimd) -> Window {
        self.after_timeout = AfterTimeout::Until(None);
        aimd.on_timeout(loss)
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window, aimd: &mut Aimd) -> Window {
        self.after_timeout = AfterTimeout::No;
        aimd.on_spurious(prior, window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Dialect;
    use crate::congestion::bench::{Bench, built};
    use crate::recovery::sack;
    use crate::testing::{Setup, ack};

    /// Returns a bench whose control has completed a handshake of `rtt` milliseconds.
    fn bench(rtt: u64, cwnd: f64, ssthresh: f64) -> Bench {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], cwnd, ssthresh);
        let opening = b.window;
        b.control()
            .on_handshake(Duration::from_millis(rtt), opening);
        b
    }

    #[test]
    fn it_opens_with_rho_segments() {
        let opens = |rtt| {
            let mut control = built(&entry(), Dialect::Linux, &[]);
            let opening = Window {
                cwnd: 10_000.0,
                ssthresh: f64::INFINITY,
            };
            control
                .on_handshake(Duration::from_millis(rtt), opening)
                .cwnd
        };
        // 600/25 = 24, 60/25 = 2.4, and at least one.
        assert_eq!([600, 60, 10].map(opens), [24_000.0, 2000.0, 1000.0]);
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one() {
        // ρ = 2: three segments per ACK.
        let mut b = bench(50, 2.0, 64.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 5.0);
        // ρ = 1.6: 2^1.6 − 1 segments per ACK.
        let mut b = bench(40, 2.0, 64.0);
        b.ack(1);
        let wanted = 2.0 + libm::exp2(1.6) - 1.0;
        assert!((b.cwnd() - wanted).abs() < 1e-9, "{}", b.cwnd());
        // The window does not exceed ssthresh. With a short round-trip time, it grows as in Reno.
        let mut b = bench(600, 24.0, 40.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 40.0);
        let mut b = bench(10, 2.0, 64.0);
        b.ack(1);
        assert_eq!(b.cwnd(), 3.0);
    }

    #[test]
    fn avoidance_adds_rho_squared_over_the_window() {
        let mut b = bench(100, 20.0, 10.0);
        b.ack(1);
        // The increase is ρ²/W = 16/20.
        assert!((b.cwnd() - 20.8).abs() < 1e-9, "{}", b.cwnd());
    }

    #[test]
    fn the_rate_grows_alike_whatever_the_round_trip_time() {
        // In one second of congestion avoidance, W/RTT gains 1/RTT₀² = 1600 segments/s². This is the paper's claim,
        // tested with the ACKs of each round trip. The windows are large enough for the sum of 1/W to be about one per
        // round trip.
        let gain = |rtt: u64| {
            let mut b = bench(rtt, 20_000.0, 10.0);
            for _ in 0..1000 / rtt {
                b.round(1);
            }
            (b.cwnd() - 20_000.0) / (rtt as f64 / 1000.0)
        };
        for rtt in [25, 50, 100, 200, 500] {
            let gained = gain(rtt);
            assert!((1560.0..1605.0).contains(&gained), "{rtt} ms: {gained}");
        }
    }

    #[test]
    fn no_window_is_larger_than_the_largest() {
        let mut b = bench(1000, 40.0, f64::INFINITY);
        // The ACK would add 2^40 segments.
        b.ack(1);
        assert_eq!(b.cwnd(), 65_535.0);
    }

    #[test]
    fn a_timeout_is_repaired_at_renos_pace() {
        let setup = Setup::new(sack::entry()).controlled_by(entry());
        let mut t = setup.window(8.0).ssthresh(100.0).start(1000);
        // The first round trip takes 100 ms, so ρ = 4, and the ACK adds 15 segments.
        t.receive(100, ack(1));
        assert_eq!(t.cwnd(), 23.0);
        t.wait(5000);
        assert_eq!(t.cwnd(), 1.0);
        t.receive(5100, ack(2));
        assert_eq!(t.cwnd(), 2.0, "Reno adds one");
        // When everything outstanding is acknowledged, the growth is Hybla's again.
        t.receive(5200, ack(24));
        let before = t.cwnd();
        t.receive(5300, ack(25));
        assert!(t.cwnd() > before + 1.0, "{} after {before}", t.cwnd());
    }

    #[test]
    fn a_loss_halves() {
        let mut b = bench(600, 100.0, 10.0);
        assert_eq!(b.loss(0, 100).cwnd, 50_000.0);
    }
}
