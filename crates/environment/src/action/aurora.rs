//! Aurora's action: multiplies the pacing rate by a small factor.
//!
//! Source: Jay et al., ICML 2019, §4.1, and the authors' code (github.com/PCCproject/PCC-RL, `src/gym/network_sim.py`).
//!
//! ```text
//! x_t = x_{t−1} · (1 + α·a)   if a ≥ 0
//!       x_{t−1} / (1 − α·a)   if a < 0;     α = 0.025
//! ```
//!
//! Our interpretation:
//! - The paper limits neither a nor x. The code limits a to ±10¹², and x to 40 to 1000 packets of 1500 bytes per
//!   second (0.48 to 12 Mbit/s), for links of 1.2 to 6 Mbit/s. Here, the limits are parameters. By default, a is within
//!   ±40, so that a step at most doubles or halves the rate, and x is from 0.1 to 1000 Mbit/s.
//! - The initial rate is a random multiple of the link's rate, from 0.3 to 1.5, as in the code. A real sender does not
//!   know the link's rate; set the `first` rate to avoid this.

use dupack_lab::experiment::Experiment;
use dupack_lab::units::Rate;
use dupack_net::random::Stream;
use serde::{Deserialize, Serialize};

use super::{FirstRate, bytes_per_second, check_rates};
use crate::error::EnvironmentError;

/// Factor that multiplies the pacing rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RateFactor {
    /// Relative change of the pacing rate by an action of 1 (α).
    pub alpha: f64,
    /// Maximum absolute value of an action.
    pub bound: f32,
    /// Minimum pacing rate.
    pub low: Rate,
    /// Maximum pacing rate.
    pub high: Rate,
    /// Initial pacing rate.
    pub first: FirstRate,
}

impl Default for RateFactor {
    fn default() -> Self {
        Self {
            alpha: 0.025,
            bound: 40.0,
            low: Rate::from_bits_per_second(100_000),
            high: Rate::from_bits_per_second(1_000_000_000),
            first: FirstRate::Shares([0.3, 1.5]),
        }
    }
}

impl RateFactor {
    pub(super) fn check(&self, experiment: &Experiment) -> Result<(), EnvironmentError> {
        let setting = EnvironmentError::setting;
        if !(self.alpha > 0.0 && self.alpha <= 1.0) {
            let message = format!(
                "invalid value {}: expected a number above 0 and at most 1",
                self.alpha
            );
            return Err(setting("action.alpha", message, "the paper uses 0.025"));
        }
        if !(self.bound > 0.0 && self.bound.is_finite()) {
            let message = format!("the bound {} allows no action", self.bound);
            return Err(setting("action.bound", message, "write a bound such as 40"));
        }
        check_rates(self.low, self.high, experiment)?;
        self.first.check(experiment)
    }

    pub(super) fn first_rate(&self, experiment: &Experiment, chance: &mut Stream) -> f64 {
        self.first.draw(experiment, self.limits(), chance)
    }

    /// Returns the pacing rate after `action`, given the previous `rate`. Both are in bytes per second.
    pub(super) fn next(&self, rate: f64, action: f64) -> f64 {
        let change = self.alpha * action;
        let next = match action >= 0.0 {
            true => rate * (1.0 + change),
            false => rate / (1.0 - change),
        };
        let (low, high) = self.limits();
        next.clamp(low, high)
    }

    fn limits(&self) -> (f64, f64) {
        (bytes_per_second(self.low), bytes_per_second(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_up_and_a_step_down_cancel() {
        let factor = RateFactor::default();
        let up = factor.next(1e6, 1.0);
        assert!((up - 1.025e6).abs() < 1e-6);
        assert!((factor.next(up, -1.0) - 1e6).abs() < 1e-6);
        assert_eq!(factor.next(1e6, 40.0), 2e6);
        assert_eq!(factor.next(1e6, 0.0), 1e6);
    }

    #[test]
    fn the_pace_stays_between_its_limits() {
        let factor = RateFactor::default();
        assert_eq!(factor.next(13_000.0, -40.0), 12_500.0);
        assert_eq!(factor.next(1e8, 40.0), 1.25e8);
    }
}
