//! Aurora's reward: throughput minus latency and loss.
//!
//! Source: Jay et al., ICML 2019, §4.2, and the authors' code (github.com/PCCproject/PCC-RL, `src/gym/network_sim.py`).
//!
//! ```text
//! r = 10 · throughput − 1000 · latency − 2000 · loss
//! ```
//!
//! Our interpretation:
//! - Throughput is in packets per second, latency is in seconds, and loss is a fraction, as in the code, which divides
//!   bits per second by the bits of a packet of 1500 bytes. Here, a packet is a full segment.
//! - The code multiplies the sum by 0.001 (`REWARD_SCALE`); the paper does not. The preset uses the scale of the code,
//!   because rewards in the thousands slow down the learning of values.
//! - Latency is the mean round-trip time of the step. In a step without a sample, the code uses 0, which rewards an agent
//!   for not sending. Here, the last mean is used.
//! - Loss is lost / (lost + acknowledged), as in the code.
//!
//! The reward grows with the rate of the path without a limit, so an episode on a fast path outweighs many episodes on
//! slow paths.

use serde::{Deserialize, Serialize};

use super::check_finite;
use crate::error::EnvironmentError;
use crate::measured::{Measured, per};

/// Linear reward.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LinearReward {
    /// Weight of delivered segments per second.
    pub throughput: f64,
    /// Penalty per second of round-trip time.
    pub latency: f64,
    /// Penalty for a loss ratio of 1.
    pub loss: f64,
    /// Factor by which the sum is multiplied.
    pub scale: f64,
}

impl Default for LinearReward {
    fn default() -> Self {
        Self {
            throughput: 10.0,
            latency: 1000.0,
            loss: 2000.0,
            scale: 0.001,
        }
    }
}

impl LinearReward {
    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        check_finite("reward.throughput", self.throughput)?;
        check_finite("reward.latency", self.latency)?;
        check_finite("reward.loss", self.loss)?;
        check_finite("reward.scale", self.scale)
    }

    pub(super) fn of(&self, step: &Measured) -> f64 {
        let packets = per(step.delivery_rate(), step.segment);
        let sum =
            self.throughput * packets - self.latency * step.rtt - self.loss * step.loss_ratio();
        sum * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reward_is_the_papers_sum_in_thousandths() {
        let step = Measured {
            duration: 0.1,
            // 800 packets per second are delivered, and one fifth of all packets is lost.
            delivered_bytes: 80.0 * 1448.0,
            lost_bytes: 20.0 * 1448.0,
            rtt: 0.060,
            segment: 1448.0,
            ..Measured::default()
        };
        let reward = LinearReward::default().of(&step);
        assert!(
            (reward - (8000.0 - 60.0 - 400.0) * 0.001).abs() < 1e-9,
            "{reward}"
        );
    }
}
