//! Veno: Reno that grows more slowly, and halves its window, only if there is a backlog.
//!
//! C. P. Fu, S. C. Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 21(2),
//! 2003. N is Vegas's backlog ([`backlog`]), β = 3.
//!
//! ```text
//! slow start        as Reno
//! avoidance         N < β: +1/cwnd per ACK      N ≥ β: +1/cwnd on every other ACK
//! 3 duplicate ACKs  N < β: ssthresh = 4/5 cwnd  N ≥ β: ssthresh = 1/2 cwnd;  cwnd = ssthresh
//! timeout           as Reno
//! ```
//!
//! [`vegas`](super::vegas) shrinks its window at a backlog; Veno only grows more slowly, so it keeps its share next to
//! Reno. The differentiation of the same name is only Veno's classification of a loss, for any control and response.
//! This control contains this classification and its reduction, and needs neither a differentiation nor a response.
//!
//! Readings: RTT is the smoothed round-trip time (`rtt = latest` uses the last sample), RTTmin the minimum of the
//! connection. Before there are samples, Veno is Reno. When bytes are counted, the bytes of every other ACK are
//! ignored.

use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::time::Duration;
use dupack_tcp::window::Window;

use super::aimd::{Decrease, DecreaseParameters};
use super::aimd_control::{self, Aimd, AimdParameters, AimdVariant};
use super::backlog::backlog;
use crate::catalog::{Choice, Context, Entry, InLinux, KernelVersion, Parameters};

/// Round-trip time that is compared with the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Delay {
    /// SRTT (RFC 6298)
    Smoothed,
    /// the last sample
    Latest,
}

/// Veno's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct VenoParameters {
    /// backlog N from which there is congestion
    #[parameter(basic, source = "Fu, Liew 2003", range = 0.0..=1e6, unit = "segments", default = 3.0)]
    beta: f64,
    /// round-trip time that is compared with the minimum
    #[parameter(source = "Fu, Liew 2003 (smoothed)", default = Delay::Smoothed)]
    rtt: Delay,
    /// fraction of the window that remains after a loss without congestion
    #[parameter(basic, source = "Fu, Liew 2003 (4/5)", range = 0.0..=1.0, default = 0.8)]
    random_decrease: f64,
    #[embed]
    aimd: AimdParameters,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn CongestionControl> {
    Entry::control("veno", file!())
        .summary("Reno that grows half as fast at a backlog, and reduces by only a fifth without one")
        .citation("Fu, Liew, TCP Veno, IEEE JSAC 21(2), 2003")
        .linux(
            InLinux::module(
                "the congestion control `veno`, since 2.6.18",
                "veno",
                "tcp_veno",
            )
            .since(KernelVersion::of(2, 6, 18))
            .fixed("rtt", "latest")
            .differs("Linux estimates the queue from the last round-trip times, ours from the smoothed one")
            .knobs(aimd_control::knobs()),
        )
        .build(|parameters: &VenoParameters, context| {
            parameters
                .aimd
                .build(context)
                .varied(Veno::new(parameters, context))
        })
}

impl Delay {
    fn of(self, smoothed: Option<Duration>, latest: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Smoothed => smoothed,
            Self::Latest => latest,
        }
    }
}

/// Use of the next ACK while there is a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Grow,
    Rest,
}

/// Congestion control of Veno.
#[derive(Debug)]
struct Veno {
    beta: f64,
    delay: Delay,
    turn: Turn,
    /// Reduction without a backlog.
    random: Decrease,
}

impl Veno {
    fn new(parameters: &VenoParameters, context: &Context) -> Self {
        let random = DecreaseParameters {
            decrease: parameters.random_decrease,
            ..parameters.aimd.decrease
        };
        Self {
            beta: parameters.beta,
            delay: parameters.rtt,
            turn: Turn::Grow,
            random: Decrease::new(&random, context),
        }
    }

    /// Returns `true` if this ACK is one of those that are ignored at a backlog.
    fn rests(&mut self, credit: Credit, view: &View<'_>, smss: f64) -> bool {
        let rtt = self.delay.of(view.rtt.srtt(), view.rtt.latest());
        let backlog = backlog(view.window.cwnd / smss, rtt, view.rtt.min());
        let slowed = !view.window.in_slow_start()
            && credit.acks > 0
            && backlog.is_some_and(|n| n >= self.beta);
        if !slowed {
            return false;
        }
        let turn = self.turn;
        self.turn = match turn {
            Turn::Grow => Turn::Rest,
            Turn::Rest => Turn::Grow,
        };
        turn == Turn::Rest
    }
}

impl AimdVariant for Veno {
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        if self.rests(credit, view, aimd.smss) {
            return view.window;
        }
        aimd.increase.grown(ack, credit, view.window)
    }

    fn reduction(&self, loss: &LossFacts, aimd: &Aimd) -> Window {
        let rtt = self.delay.of(loss.srtt, loss.rtt_latest);
        match backlog(loss.window.cwnd / aimd.smss, rtt, loss.rtt_min) {
            Some(n) if n < self.beta => self.random.after_loss(loss),
            _ => aimd.decrease.after_loss(loss),
        }
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.random.resize(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Dialect, Value};
    use crate::congestion::bench::{Bench, loss_facts};
    use crate::recovery::sack;
    use crate::testing::{Setup, ack};

    fn loss(b: &mut Bench, rtt_ms: u64, min_ms: u64) -> Window {
        let mut facts = loss_facts(0, 20);
        facts.window = b.window;
        facts.srtt = Some(Duration::from_millis(rtt_ms));
        facts.rtt_min = Some(Duration::from_millis(min_ms));
        facts.rtt_latest = Some(Duration::from_millis(min_ms));
        b.control().reduction(&facts)
    }

    #[test]
    fn a_loss_costs_a_fifth_or_a_half() {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 20.0, 10.0);
        // N = 20 · 10/110 = 1.8 is below 3.
        assert_eq!(loss(&mut b, 110, 100).cwnd, 16_000.0);
        // N = 20 · 25/125 = 4.
        assert_eq!(loss(&mut b, 125, 100).cwnd, 10_000.0);
        // N = 15 · 25/125 = 3 is not below 3.
        b.window.cwnd = 15_000.0;
        assert_eq!(loss(&mut b, 125, 100).cwnd, 7500.0);
        let latest = [("rtt", Value::word("latest"))];
        let mut b = Bench::new(entry(), Dialect::Rfc, &latest, 20.0, 10.0);
        assert_eq!(loss(&mut b, 125, 100).cwnd, 16_000.0);
        // Without samples, Veno is Reno.
        assert_eq!(b.loss(0, 20).cwnd, 10_000.0);
        assert_eq!(b.timeout(1, 10).cwnd, 1000.0);
        assert_eq!(b.ssthresh(), 5.0);
    }

    /// Returns the window after `acks` ACKs of one segment each, in congestion avoidance from a window of 10 segments.
    /// The ACKs arrive in groups of up to ten, `rtt` ms apart. The minimum RTT is 100 ms.
    fn after(acks: u32, rtt: u64) -> f64 {
        let setup = Setup::new(sack::entry()).controlled_by(entry());
        // A single segment is sent first, and then the sender is idle.
        let mut t = setup.ssthresh(10.0).start(1);
        t.receive(100, ack(1));
        t.wait(10_000);
        t.write(100);
        for n in 0..acks {
            let trips = u64::from(n / 10) + 1;
            t.receive(10_000 + trips * rtt, ack(n + 2));
        }
        t.cwnd()
    }

    #[test]
    fn growth_is_half_as_fast_at_a_backlog() {
        // Bytes are counted: 10 acknowledged segments add one segment.
        assert_eq!((after(9, 100), after(10, 100)), (10.0, 11.0));
        // SRTT is 7/8 · 100 + 1/8 · 300 = 125 ms after the first ACK (N = 10 · 25/125 = 2), then 146.9 ms (N = 3.2) and
        // more. From then on every other ACK counts, so the tenth ACK that counts is the 18th.
        assert_eq!((after(17, 300), after(18, 300)), (10.0, 11.0));
    }

    #[test]
    fn slow_start_is_renos() {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 2.0, 64.0);
        b.round(1);
        b.round(1);
        assert_eq!(b.cwnd(), 8.0);
    }
}
