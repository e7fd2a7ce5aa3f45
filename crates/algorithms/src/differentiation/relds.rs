//! RELDS: a loss is wireless if the delay is below a moving threshold.
//!
//! C.-H. Lim, J.-W. Jang, "Robust end-to-end loss differentiation scheme for transport control protocol over
//! wired/wireless networks", IET Communications 2(2), 2008; Park et al. §2.
//!
//! **Our reading.** Park et al. only say that the threshold is a function of the minimum and the sample RTT, and that
//! it moves; the cited work was not available. The simplest matching form is a fixed position between the minimum and
//! the mean round-trip time, where the mean follows the samples.
//!
//! ```text
//! mean      ← (1 − g) · mean + g · RTT                  at each sample, g = 1/8
//! threshold = RTTmin + w · (mean − RTTmin)              w = 1/2
//! RTT < threshold  →  wireless
//! ```
//!
//! A delay is therefore long relative to the recent delays. [`lda_eq`](super::lda_eq) and [`spike`](super::spike)
//! compare with the maximum delay of the connection: one outlier affects them for the whole connection, but affects
//! RELDS only for some tens of samples. The disadvantage: on a path whose delay hardly varies, a loss near the mean is
//! congestion.
//!
//! RTT is the last sample, and RTTmin that of the connection. Without a sample, a loss is congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::catalog::{Entry, Parameters};

/// RELDS's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct ReldsParameters {
    /// weight of a new sample in the mean round-trip time
    #[parameter(
        source = "our reading: as for SRTT (RFC 6298 §2.3)",
        range = 0.001..=1.0,
        default = 0.125,
    )]
    gain: f64,
    /// position of the threshold between the minimum (0) and the mean (1) round-trip time
    #[parameter(source = "our reading: half-way", range = 0.0..=10.0, default = 0.5)]
    weight: f64,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("relds", file!())
        .summary(
            "wireless if the delay is below a threshold that moves with the mean delay (our \
             reading)",
        )
        .citation(
            "Lim, Jang, RELDS, IET Communications 2(2), 2008; we know only the account in Park et al. §2",
        )
        .build(|parameters, _| Box::new(Relds::new(parameters)))
}

/// Differentiation of RELDS.
#[derive(Clone, Debug)]
pub struct Relds {
    gain: f64,
    weight: f64,
    /// Mean round-trip time in seconds.
    mean: Option<f64>,
}

impl Relds {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &ReldsParameters) -> Self {
        Self {
            gain: parameters.gain,
            weight: parameters.weight,
            mean: None,
        }
    }

    /// Returns the threshold in seconds; `least` is RTTmin.
    fn threshold(&self, least: f64) -> Option<f64> {
        Some(least + self.weight * (self.mean? - least))
    }
}

impl Differentiation for Relds {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _view: &View<'_>) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs_f64();
            let mean = self.mean.unwrap_or(rtt);
            self.mean = Some(mean + self.gain * (rtt - mean));
        }
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let threshold = loss.rtt_min.and_then(|m| self.threshold(m.as_secs_f64()));
        match (loss.rtt_latest, threshold) {
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

    #[test]
    fn the_threshold_by_hand() {
        // The mean is 100, then 100 + (260 − 100)/8 = 120, then 120 + (108 − 120)/8 = 118.5 ms, so the threshold is 100
        // + 18.5/2 = 109.25 ms.
        let mut bench = Bench::new(entry(), &[]);
        assert_eq!(bench.judge_after(&[100, 260]), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[108]), LossCause::Wireless);
        // The mean is 118.5 − 8.5/8 = 117.4 ms, so the threshold is 108.7 ms, which is below 110 ms.
        assert_eq!(bench.judge_after(&[110]), LossCause::Congestion);
    }

    #[test]
    fn the_threshold_moves_with_the_samples() {
        // After many samples of 200 ms, the threshold is near 150 ms; after many of 120 ms, it is near 110 ms.
        let mut bench = Bench::new(entry(), &[]);
        bench.samples(&[100]);
        bench.samples(&[200; 100]);
        assert_eq!(bench.judge_after(&[130]), LossCause::Wireless);
        bench.samples(&[120; 100]);
        assert_eq!(bench.judge_after(&[130]), LossCause::Congestion);
    }

    #[test]
    fn its_constants_are_parameters() {
        // The mean is 120, then 118.75 ms. With a weight of 1.5 the threshold is 128.125 ms; with a weight of 0.5, as
        // above, it is 109.375 ms.
        let far = ("weight", Value::Real(1.5));
        let mut bench = Bench::new(entry(), &[far]);
        assert_eq!(bench.judge_after(&[100, 260, 110]), LossCause::Wireless);
        assert_eq!(
            Bench::new(entry(), &[]).judge_after(&[100, 260, 110]),
            LossCause::Congestion
        );
        // With a gain of one half, the mean is 180, then 145 ms, and the threshold is 122.5 ms.
        let mut quick = Bench::new(entry(), &[("gain", Value::Real(0.5))]);
        assert_eq!(quick.judge_after(&[100, 260, 110]), LossCause::Wireless);
    }

    #[test]
    fn without_a_sample_a_loss_is_congestion() {
        let mut bench = Bench::new(entry(), &[]);
        bench.acks(1, 1, None);
        assert_eq!(bench.judge(), LossCause::Congestion);
    }
}
