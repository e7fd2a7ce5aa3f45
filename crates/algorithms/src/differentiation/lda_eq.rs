//! LDA_EQ: a loss is wireless if only a small part of the queue is used.
//!
//! M. Park, S. Chung, P. Sreekumari, "End-to-end loss differentiation algorithm based on estimation of queue usage in
//! multi-hop wireless networks", IEICE Trans. Inf. & Syst. E92-D(10), 2009; Park et al. §3.
//!
//! ```text
//! queue usage = (RTT − RTTmin) / (RTTmax − RTTmin)
//! usage < threshold  →  wireless
//! ```
//!
//! RTTmax − RTTmin represents the whole queue. For comparison: [`spike`](super::spike) compares the same ratio with two
//! thresholds and keeps its state between them; [`veno`](super::veno) counts segments of its own window instead, and
//! needs no RTTmax.
//!
//! Readings: RTT is the last sample, RTTmin and RTTmax are those of the connection. A single long delay therefore
//! shortens the queue for the rest of the connection: the longer it lasts, the more losses count as wireless.
//! `rtt_max_period` makes RTTmax forget, as RELDS and the minimum filter of BBR do. The threshold, half of the queue,
//! is our choice: Park et al. mention a certain threshold without a number, and the cited work was not available. While
//! all samples are equal, no queue has been seen and the usage is 0. Without a sample, a loss is congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::time::Duration;

use super::delays::Delays;
use crate::catalog::{Entry, Parameters};

/// LDA_EQ's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct LdaEqParameters {
    /// queue usage from which a loss is congestion
    #[parameter(
        source = "our reading: half the queue; Park et al. §3 give no number",
        range = 0.0..=1.0,
        default = 0.5,
    )]
    threshold: f64,
    /// period of RTTmax, which is the maximum of the current and the previous period; 0: the whole connection
    #[parameter(
        source = "our reading: the connection; Park et al. §3 do not say",
        default = Duration::ZERO,
    )]
    rtt_max_period: Duration,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("lda_eq", file!())
        .summary("wireless if the last delay is in the lower half of those seen")
        .citation(
            "Park, Chung, Sreekumari, LDA_EQ, IEICE Trans. Inf. & Syst. E92-D(10), 2009; we know only the account of \
             its authors in Park et al. §3",
        )
        .build(|parameters, _| Box::new(LdaEq::new(parameters)))
}

/// Differentiation of LDA_EQ.
#[derive(Clone, Debug)]
pub struct LdaEq {
    threshold: f64,
    delays: Delays,
}

impl LdaEq {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &LdaEqParameters) -> Self {
        Self {
            threshold: parameters.threshold,
            delays: Delays::with_period(parameters.rtt_max_period),
        }
    }
}

impl Differentiation for LdaEq {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _view: &View<'_>) {
        if let Some(rtt) = ack.rtt {
            self.delays.observe(ack.now, rtt);
        }
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let usage = loss.rtt_latest.and_then(|rtt| self.delays.position(rtt));
        match usage {
            Some(usage) if usage < self.threshold => LossCause::Wireless,
            _ => LossCause::Congestion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Value;
    use crate::differentiation::bench::Bench;

    #[test]
    fn usage_below_half_is_wireless() {
        // (140 − 100) / (200 − 100) = 0.4.
        let mut bench = Bench::new(entry(), &[]);
        assert_eq!(bench.judge_after(&[100, 200, 140]), LossCause::Wireless);
        // (150 − 100) / 100 = 0.5 is not below 0.5.
        assert_eq!(bench.judge_after(&[150]), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[200]), LossCause::Congestion);
        // A longer queue was seen, so the same delay is a smaller fraction of it: 50 / 200 = 0.25.
        assert_eq!(bench.judge_after(&[300, 150]), LossCause::Wireless);
    }

    #[test]
    fn the_threshold_is_a_parameter() {
        let mut strict = Bench::new(entry(), &[("threshold", Value::Real(0.3))]);
        assert_eq!(strict.judge_after(&[100, 200, 140]), LossCause::Congestion);
        // 0.2 < 0.3.
        assert_eq!(strict.judge_after(&[120]), LossCause::Wireless);
    }

    #[test]
    fn with_a_period_rtt_max_forgets() {
        let judged = |period_ms, at_ms| {
            let period = Duration::from_millis(period_ms);
            let mut bench = Bench::new(entry(), &[("rtt_max_period", Value::Time(period))]);
            // An outlier of 300 ms, then delays of 100 to 150 ms, once per 50 ms.
            bench.ack(0, 300);
            for now in (50..at_ms).step_by(100) {
                bench.ack(now, 100);
                bench.ack(now + 50, 150);
            }
            bench.judge()
        };
        // 50 / 200 is below a half, for the whole connection.
        assert_eq!(judged(0, 10_000), LossCause::Wireless);
        // RTTmax is 300 ms in the period of the outlier and in the next one, and then 150 ms: 50 / 50.
        assert_eq!(judged(1000, 900), LossCause::Wireless);
        assert_eq!(judged(1000, 1900), LossCause::Wireless);
        assert_eq!(judged(1000, 2200), LossCause::Congestion);
        // A pause of two periods is forgotten as a whole.
        let period = ("rtt_max_period", Value::Time(Duration::from_secs(1)));
        let mut bench = Bench::new(entry(), &[period]);
        bench.ack(0, 300);
        bench.ack(50, 100);
        bench.ack(2050, 150);
        assert_eq!(bench.judge(), LossCause::Congestion);
    }

    #[test]
    fn without_a_sample_congestion_and_without_a_queue_wireless() {
        let mut bench = Bench::new(entry(), &[]);
        assert_eq!(bench.judge(), LossCause::Congestion);
        bench.acks(1, 1, None);
        assert_eq!(bench.judge(), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[100, 100]), LossCause::Wireless);
    }
}
