//! JTCP: a loss is congestion if jitter shows that the queue grows.
//!
//! E. H.-K. Wu, M.-Z. Chen, "JTCP: jitter-based TCP for heterogeneous wireless networks", IEEE JSAC 22(4), 2004; Park
//! et al. §2.
//!
//! ```text
//! D(i)  = (R(i) − R(i−1)) − (S(i) − S(i−1))     inter-arrival jitter, as in RFC 3550 §6.4.1
//! Jr    = Σ D(i) / Σ (R(i) − R(i−1))            over one round trip
//! congestion  ⇔  more than one RTT since the last reduction, and Jr > k/cwnd,   k = 1
//! ```
//!
//! Jr is the growth of the queue as a fraction of the round trip, so the queue grew by Jr · cwnd segments. The other
//! differentiations measure the length of the queue; JTCP measures its growth. It therefore needs no RTTmin or RTTmax,
//! and does not regard a queue that stays full as congestion. It often classifies congestion losses as wireless: Reno's
//! own growth, one segment per round trip, is exactly at the threshold. (J.-M. Chen et al., EURASIP JWCN 2011:103027,
//! report the same of the original.)
//!
//! Readings; the paper was available only through other texts (Park et al.; the ratio and the k/cwnd also in US patent
//! 9 432 297):
//!
//! - The sender has no arrival times at the receiver. R is the arrival time of the ACK and S the time at which the
//!   newest segment that it reports was sent, so D(i) = RTT(i) − RTT(i−1), without timestamps. Jitter of the reverse
//!   path and of delayed ACKs is included.
//! - D keeps its sign, so a queue that grows and drains within the round trip gives 0; `jitter = absolute` sums |D| as
//!   in RFC 3550.
//! - A round trip ends with the ACK of a segment sent after it began; Jr is the value of the last complete one.
//! - The last reduction is one for congestion, including timeouts. RTT in this rule is the smoothed round-trip time.
//!   According to the rule, every further loss within one RTT of the reduction counts as wireless.
//! - Until a round trip is complete, a loss is congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::time::{Duration, Instant};

use crate::catalog::{Choice, Context, Entry, Parameters};

/// Method to sum the jitter of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Jitter {
    /// D: growth minus draining
    Signed,
    /// |D|: any change (RFC 3550 §6.4.1)
    Absolute,
}

/// JTCP's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct JtcpParameters {
    /// growth of the queue in a round trip above which a loss is congestion (k)
    #[parameter(
        source = "Wu, Chen 2004; Park et al. §2 (Jr above 1/cwnd)",
        range = 0.0..=1e6,
        unit = "segments",
        default = 1.0,
    )]
    queued: f64,
    /// time since the last reduction up to which a loss is wireless
    #[parameter(
        source = "Wu, Chen 2004; Park et al. §2 (one RTT)",
        range = 0.0..=1000.0,
        unit = "RTT",
        default = 1.0,
    )]
    interval: f64,
    /// method to sum the jitter of a round trip
    #[parameter(
        source = "our reading: Jr measures growth, so the sign counts",
        default = Jitter::Signed,
    )]
    jitter: Jitter,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("jtcp", file!())
        .summary(
            "congestion if the queue grew by over a segment in a round trip, once per RTT (our reading)",
        )
        .citation(
            "Wu, Chen, JTCP, IEEE JSAC 22(4), 2004; we know only the accounts in Park et al. §2 and US patent 9 432 297",
        )
        .build(|parameters, context| Box::new(Jtcp::new(parameters, context)))
}

/// Round trip in progress.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: Instant,
    /// Σ D so far, in nanoseconds.
    sum_ns: f64,
    /// Last sample.
    rtt: Duration,
}

/// Differentiation of JTCP.
#[derive(Clone, Debug)]
pub struct Jtcp {
    smss: f64,
    queued: f64,
    interval: f64,
    jitter: Jitter,
    round: Option<Round>,
    /// Jr of the last complete round trip.
    ratio: Option<f64>,
}

impl Jtcp {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &JtcpParameters, context: &Context) -> Self {
        Self {
            smss: f64::from(context.smss),
            queued: parameters.queued,
            interval: parameters.interval,
            jitter: parameters.jitter,
            round: None,
            ratio: None,
        }
    }

    fn sample(&mut self, now: Instant, rtt: Duration) {
        let fresh = Round {
            start: now,
            sum_ns: 0.0,
            rtt,
        };
        let Some(round) = &mut self.round else {
            self.round = Some(fresh);
            return;
        };
        let difference = rtt.as_nanos() as f64 - round.rtt.as_nanos() as f64;
        round.sum_ns += match self.jitter {
            Jitter::Signed => difference,
            Jitter::Absolute => difference.abs(),
        };
        round.rtt = rtt;
        let span = now.since(round.start);
        if span >= rtt && !span.is_zero() {
            self.ratio = Some(round.sum_ns / span.as_nanos() as f64);
            self.round = Some(fresh);
        }
    }

    /// Returns `true` if more than one RTT has passed since the last reduction.
    fn is_due(&self, loss: &LossFacts) -> bool {
        let (Some(reduced), Some(rtt)) = (loss.reduced_at, loss.srtt) else {
            return true;
        };
        loss.now.since(reduced).as_secs_f64() > self.interval * rtt.as_secs_f64()
    }
}

impl Differentiation for Jtcp {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _view: &View<'_>) {
        if let Some(rtt) = ack.rtt {
            self.sample(ack.now, rtt);
        }
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let Some(ratio) = self.ratio else {
            return LossCause::Congestion;
        };
        if self.is_due(loss) && ratio > self.queued * self.smss / loss.window.cwnd {
            LossCause::Congestion
        } else {
            LossCause::Wireless
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = f64::from(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Value;
    use crate::differentiation::bench::{Bench, at};

    /// Returns a bench after a round trip that starts at 100 ms, in which the delay grows from 100 to 112 ms. The round
    /// trip ends at 212 ms with the ACK of a segment sent at 100 ms: Jr = 12/112 = 0.107.
    fn growing(changes: &[(&str, Value)]) -> Bench {
        let mut bench = Bench::new(entry(), changes);
        for (now, rtt) in [(100, 100), (150, 104), (200, 110), (212, 112)] {
            bench.ack(now, rtt);
        }
        bench
    }

    #[test]
    fn a_queue_that_grows_by_more_than_a_segment_is_congestion() {
        let mut bench = growing(&[]);
        // 0.107 > 1/10.
        assert_eq!(bench.judge(), LossCause::Congestion);
        // 0.107 < 1/9.
        bench.loss.window.cwnd = 9_000.0;
        assert_eq!(bench.judge(), LossCause::Wireless);
    }

    #[test]
    fn a_long_queue_that_does_not_grow_is_no_congestion() {
        let mut bench = growing(&[]);
        // The next round trip, from 212 to 325 ms, begins and ends with a delay of 112 ms.
        for now in [250, 300, 325] {
            bench.ack(now, 112);
        }
        assert_eq!(bench.judge(), LossCause::Wireless);
    }

    #[test]
    fn jr_is_that_of_the_last_complete_round_trip() {
        let mut bench = Bench::new(entry(), &[]);
        for (now, rtt) in [(100, 100), (150, 104), (200, 110)] {
            bench.ack(now, rtt);
            assert_eq!(bench.judge(), LossCause::Congestion, "none is complete");
        }
        bench.ack(212, 100);
        // The round trip is complete, and the queue has drained again: Jr = 0.
        assert_eq!(bench.judge(), LossCause::Wireless);
        // The next round trip has just begun.
        bench.ack(214, 150);
        assert_eq!(bench.judge(), LossCause::Wireless);
    }

    #[test]
    fn within_one_rtt_of_a_reduction_a_loss_is_wireless() {
        // The RTT is 112 ms, and the loss is detected at 212 ms.
        let judged = |changes: &[(&str, Value)], reduced| {
            let mut bench = growing(changes);
            bench.loss.reduced_at = Some(at(reduced));
            bench.judge()
        };
        assert_eq!(judged(&[], 110), LossCause::Wireless);
        assert_eq!(judged(&[], 100), LossCause::Wireless);
        assert_eq!(judged(&[], 99), LossCause::Congestion);
        // 212 − 110 = 102 ms is more than half an RTT.
        let half = [("interval", Value::Real(0.5))];
        assert_eq!(judged(&half, 110), LossCause::Congestion);
    }

    #[test]
    fn its_constants_are_parameters() {
        // 0.107 < 2/10.
        let mut two = growing(&[("queued", Value::Real(2.0))]);
        assert_eq!(two.judge(), LossCause::Wireless);
        // The delay rises by 20 ms and falls again in 120 ms: Jr is 0, or 40/120 = 0.33 with absolute values.
        let zigzag = |changes: &[(&str, Value)]| {
            let mut bench = Bench::new(entry(), changes);
            for (now, rtt) in [(100, 100), (160, 120), (220, 100)] {
                bench.ack(now, rtt);
            }
            bench.judge()
        };
        assert_eq!(zigzag(&[]), LossCause::Wireless);
        let absolute = [("jitter", Value::word("absolute"))];
        assert_eq!(zigzag(&absolute), LossCause::Congestion);
    }

    #[test]
    fn without_samples_a_loss_is_congestion() {
        let mut bench = Bench::new(entry(), &[]);
        bench.acks(100, 1, None);
        bench.acks(300, 1, None);
        assert_eq!(bench.judge(), LossCause::Congestion);
    }
}
