//! ZigZag: the delay up to which a loss is wireless depends on the number of consecutive lost segments.
//!
//! S. Cen, P. C. Cosman, G. M. Voelker, "End-to-end differentiation of congestion and wireless losses", IEEE/ACM Trans.
//! Networking 11(5), 2003.
//!
//! ```text
//! mean ← (1 − g) · mean + g · RTT                       g = 1/32
//! dev  ← (1 − h) · dev  + h · |RTT − mean|              h = 2g
//!
//! n segments lost in a row   wireless if RTT is below
//!   1                          mean − dev
//!   2                          mean − dev/2
//!   3                          mean
//!   more                       mean − dev/2
//! ```
//!
//! A burst of losses on a wireless link is rarer than a single loss, and a burst that a queue drops comes with a delay
//! well above the mean; therefore the threshold rises up to three losses. No other differentiation uses the number of
//! losses; [`relds`](super::relds) also uses the recent mean.
//!
//! Readings: the original measures relative one-way trip times (ROTT) at a receiver, which contain the offset of the
//! clocks. The sender uses the round-trip time instead, so a queue on the reverse path counts, too. n is the length of
//! the hole that the first lost segment begins. Only SACK shows the length; without SACK, n is 1. The delay at the loss
//! is the last sample, which the mean already contains. The mean begins with the first sample and the deviation with 0;
//! the deviation is from the updated mean. Without a sample, a loss is congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::catalog::{Entry, Parameters};

const SOURCE: &str = "Cen, Cosman, Voelker 2003";

/// ZigZag's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct ZigZagParameters {
    /// weight of a new sample in the mean
    #[parameter(source = SOURCE, range = 0.001..=1.0, default = 1.0 / 32.0)]
    gain: f64,
    /// weight of a new sample in the mean deviation
    #[parameter(source = SOURCE, range = 0.001..=1.0, default = 1.0 / 16.0)]
    deviation_gain: f64,
    /// number of deviations by which the delay must be below the mean for a single loss
    #[parameter(source = SOURCE, range = -10.0..=10.0, unit = "deviations", default = 1.0)]
    one: f64,
    /// number of deviations by which the delay must be below the mean for two consecutive losses
    #[parameter(source = SOURCE, range = -10.0..=10.0, unit = "deviations", default = 0.5)]
    two: f64,
    /// number of deviations by which the delay must be below the mean for three consecutive losses
    #[parameter(source = SOURCE, range = -10.0..=10.0, unit = "deviations", default = 0.0)]
    three: f64,
    /// number of deviations by which the delay must be below the mean for more than three consecutive losses
    #[parameter(source = SOURCE, range = -10.0..=10.0, unit = "deviations", default = 0.5)]
    more: f64,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("zigzag", file!())
        .summary(
            "wireless if the delay is below its mean, by more the fewer segments are lost in a row",
        )
        .citation("Cen, Cosman, Voelker, IEEE/ACM Trans. Networking 11(5), 2003")
        .build(|parameters, _| Box::new(ZigZag::new(parameters)))
}

/// Mean and mean deviation of the round-trip time, in seconds.
#[derive(Clone, Copy, Debug)]
struct Average {
    mean: f64,
    deviation: f64,
}

/// Differentiation of ZigZag.
#[derive(Clone, Debug)]
pub struct ZigZag {
    gain: f64,
    deviation_gain: f64,
    /// Number of deviations below the mean for 1, 2, 3 and more consecutive losses.
    below: [f64; 4],
    average: Option<Average>,
}

impl ZigZag {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &ZigZagParameters) -> Self {
        Self {
            gain: parameters.gain,
            deviation_gain: parameters.deviation_gain,
            below: [
                parameters.one,
                parameters.two,
                parameters.three,
                parameters.more,
            ],
            average: None,
        }
    }

    /// Returns the delay in seconds below which `losses` consecutive losses are wireless.
    fn threshold(&self, losses: u32) -> Option<f64> {
        let average = self.average?;
        let [one, two, three, more] = self.below;
        let below = match losses {
            0 | 1 => one,
            2 => two,
            3 => three,
            _ => more,
        };
        Some(average.mean - below * average.deviation)
    }
}

impl Differentiation for ZigZag {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _view: &View<'_>) {
        let Some(rtt) = ack.rtt else {
            return;
        };
        let rtt = rtt.as_secs_f64();
        let average = self.average.unwrap_or(Average {
            mean: rtt,
            deviation: 0.0,
        });
        let mean = average.mean + self.gain * (rtt - average.mean);
        let error = (rtt - mean).abs();
        self.average = Some(Average {
            mean,
            deviation: average.deviation + self.deviation_gain * (error - average.deviation),
        });
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        match (loss.rtt_latest, self.threshold(loss.hole)) {
            (Some(rtt), Some(threshold)) if rtt.as_secs_f64() < threshold => LossCause::Wireless,
            _ => LossCause::Congestion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Value;
    use crate::differentiation::bench::Bench;

    /// Returns a bench after samples of 100 and 164 ms, and then `last_ms`.
    ///
    /// After 164 ms, the mean is 100 + 64/32 = 102 ms and the deviation (164 − 102)/16 = 3.875 ms.
    fn bench(changes: &[(&str, Value)], last_ms: u64) -> Bench {
        let mut bench = Bench::new(entry(), changes);
        bench.samples(&[100, 164, last_ms]);
        bench
    }

    fn judged(mut bench: Bench, losses: [u32; 4]) -> [LossCause; 4] {
        losses.map(|losses| {
            bench.loss.hole = losses;
            bench.judge()
        })
    }

    #[test]
    fn the_threshold_goes_up_and_down_with_the_losses() {
        use LossCause::{Congestion as C, Wireless as W};
        // 97 ms: the mean is 102 − 5/32 = 101.84 ms, and the deviation 3.875 + (4.84 − 3.875)/16 = 3.935 ms. The
        // thresholds are 97.91, 99.88, 101.84 and 99.88 ms.
        assert_eq!(judged(bench(&[], 97), [1, 2, 3, 4]), [W, W, W, W]);
        // 99 ms: the mean is 101.91, the deviation 3.815, and the thresholds are 98.09, 100.00, 101.91 and 100.00 ms.
        assert_eq!(judged(bench(&[], 99), [1, 2, 3, 4]), [C, W, W, W]);
        // 101 ms: the mean is 101.97, the deviation 3.693, and the thresholds are 98.28, 100.12, 101.97 and 100.12 ms.
        assert_eq!(judged(bench(&[], 101), [1, 2, 3, 4]), [C, C, W, C]);
        assert_eq!(judged(bench(&[], 101), [3, 4, 5, 100]), [W, C, C, C]);
        // 103 ms: the mean is 102.03 ms.
        assert_eq!(judged(bench(&[], 103), [1, 2, 3, 4]), [C, C, C, C]);
    }

    #[test]
    fn its_constants_are_parameters() {
        use LossCause::{Congestion as C, Wireless as W};
        let with = |name, value, last| {
            let bench = bench(&[(name, Value::Real(value))], last);
            judged(bench, [1, 2, 3, 4])
        };
        assert_eq!(with("one", 0.5, 99), [W, W, W, W]);
        assert_eq!(with("two", 1.0, 99), [C, C, W, W]);
        assert_eq!(with("three", 1.0, 99), [C, W, C, W]);
        assert_eq!(with("more", 1.0, 99), [C, W, W, C]);
        // The mean is 100 + 32 = 132, then 132 − 29/2 = 117.5 ms; the deviation is (164 − 132)/16 = 2, then 2 + (14.5 −
        // 2)/16 = 2.78 ms.
        assert_eq!(with("gain", 0.5, 103), [W, W, W, W]);
        // The deviation is 62/2 = 31, then 31 + (4.84 − 31)/2 = 17.9 ms. The thresholds are 83.9, 92.9, 101.84 and 92.9
        // ms.
        assert_eq!(with("deviation_gain", 0.5, 97), [C, C, W, C]);
    }

    #[test]
    fn without_a_sample_a_loss_is_congestion() {
        let mut bench = Bench::new(entry(), &[]);
        bench.loss.hole = 3;
        bench.acks(1, 1, None);
        assert_eq!(bench.judge(), LossCause::Congestion);
        // The mean equals the only sample, so the sample is not below it.
        assert_eq!(bench.judge_after(&[100]), LossCause::Congestion);
    }
}
