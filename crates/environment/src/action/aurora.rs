//! Aurora's action: the pace changes by a small factor.
//!
//! Jay et al., ICML 2019, §4.1, and its authors' code (github.com/PCCproject/PCC-RL, `src/gym/network_sim.py`).
//!
//! ```text
//! x_t = x_{t−1} · (1 + α·a)   if a ≥ 0
//!       x_{t−1} / (1 − α·a)   if a < 0;     α = 0.025
//! ```
//!
//! Readings:
//! - The paper bounds neither a nor x; the code has a within ±10¹² and x from 40 to 1000 packets of 1500 bytes a
//!   second (0.48 to 12 Mbit/s), for links of 1.2 to 6 Mbit/s. Ours are parameters: a within ±40, with which a step
//!   at most doubles or halves the pace, and x from 0.1 to 1000 Mbit/s.
//! - The first pace is a random share of the link's rate, 0.3 to 1.5, as in the code. A sender cannot know that
//!   rate: whoever minds names a `first` pace.

use dupack_lab::experiment::Experiment;
use dupack_lab::units::Rate;
use dupack_net::random::Stream;
use serde::{Deserialize, Serialize};

use super::{FirstRate, bytes_per_second, check_rates};
use crate::error::EnvironmentError;

/// A factor on the pace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RateFactor {
    /// What an action of 1 changes (α).
    pub alpha: f64,
    /// The most that an action may be, either way.
    pub bound: f32,
    /// The least pace.
    pub low: Rate,
    /// The most.
    pub high: Rate,
    /// The first.
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
            let message = format!("{} is not above 0 and at most 1", self.alpha);
            return Err(setting("action.alpha", message, "the paper's is 0.025"));
        }
        if !(self.bound > 0.0 && self.bound.is_finite()) {
            let message = format!("a bound of {} leaves no action", self.bound);
            return Err(setting("action.bound", message, "for example 40"));
        }
        check_rates(self.low, self.high, experiment)?;
        self.first.check(experiment)
    }

    pub(super) fn first_rate(&self, experiment: &Experiment, chance: &mut Stream) -> f64 {
        self.first.draw(experiment, self.limits(), chance)
    }

    /// The pace after `rate`, both in bytes per second.
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
    fn up_and_down_again_is_where_it_was() {
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
