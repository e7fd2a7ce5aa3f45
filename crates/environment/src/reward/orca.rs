//! Orca's reward: throughput minus loss, relative to the maximum throughput and scaled down by delay.
//!
//! Source: Abbasloo et al., SIGCOMM 2020. The paper was not available to us, so this file follows the authors' code
//! (github.com/Soheil-ab/Orca, `rl-module/envwrapper.py`, `get_state`).
//!
//! ```text
//! r = (thr − 5 · loss rate) / thr_max · min(1, 1.25 · RTTmin / SRTT)
//! ```
//!
//! According to other publications, the paper's reward is power (throughput / delay), normalised by the maximum
//! throughput and the minimum delay, where a delay of up to β · RTTmin counts as RTTmin. For longer delays, the code
//! uses SRTT / β, which avoids a discontinuity.
//!
//! Our interpretation: all rates are in bytes per second, and `thr_max` is the maximum over the episode.
//! Retransmissions count as losses. Before any data is delivered, the reward is 0; the code divides by 0 in this case.

use serde::{Deserialize, Serialize};

use super::check_finite;
use crate::error::EnvironmentError;
use crate::feature::{DELAY_MARGIN, LOSS_WEIGHT};
use crate::measured::{Measured, per};

/// Reward based on power.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PowerReward {
    /// Weight of a lost byte relative to a delivered byte.
    pub loss: f64,
    /// Multiple of the minimum round-trip time up to which delay does not reduce the reward (β).
    pub margin: f64,
}

impl Default for PowerReward {
    fn default() -> Self {
        Self {
            loss: LOSS_WEIGHT,
            margin: DELAY_MARGIN,
        }
    }
}

impl PowerReward {
    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        check_finite("reward.loss", self.loss)?;
        if self.margin >= 1.0 && self.margin.is_finite() {
            return Ok(());
        }
        let message = format!(
            "the margin {} is below the minimum round-trip time",
            self.margin
        );
        Err(EnvironmentError::setting(
            "reward.margin",
            message,
            "write 1 or more; Orca's margin is 1.25",
        ))
    }

    pub(super) fn of(&self, step: &Measured) -> f64 {
        let delay = (self.margin * per(step.rtt_least, step.srtt)).min(1.0);
        let rate = step.delivery_rate() - self.loss * step.loss_rate();
        per(rate, step.rate_most) * delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_costs_nothing_within_the_margin_and_proportionally_beyond() {
        let reward = |srtt: f64, lost_bytes: f64| {
            PowerReward::default().of(&Measured {
                duration: 1.0,
                delivered_bytes: 800.0,
                lost_bytes,
                rate_most: 1000.0,
                rtt_least: 0.040,
                srtt,
                ..Measured::default()
            })
        };
        assert!((reward(0.050, 0.0) - 0.8).abs() < 1e-12);
        assert!((reward(0.100, 0.0) - 0.4).abs() < 1e-12);
        assert!((reward(0.040, 100.0) - 0.3).abs() < 1e-12);
        assert_eq!(PowerReward::default().of(&Measured::default()), 0.0);
    }
}
