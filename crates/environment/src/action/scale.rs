//! Actions that set a pacing rate or a window on a logarithmic scale.
//!
//! ```text
//! value = low · (high / low)^((a + 1) / 2),  −1 ≤ a ≤ 1
//! ```
//!
//! The action −1 is the minimum, 1 is the maximum, and 0 is their geometric mean. Most reinforcement learning libraries
//! draw their first actions around 0 and expect bounds of ±1.

use dupack_lab::experiment::Experiment;
use dupack_lab::units::Rate;
use dupack_net::random::Stream;
use serde::{Deserialize, Serialize};

use super::{FirstRate, bytes_per_second, check_rates};
use crate::error::EnvironmentError;

/// Pacing rate between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RateScale {
    /// Pacing rate for the action −1.
    pub low: Rate,
    /// Pacing rate for the action 1.
    pub high: Rate,
    /// Pacing rate before the first action; by default, the geometric mean of the bounds.
    #[serde(default)]
    pub first: Option<FirstRate>,
}

/// Window between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WindowScale {
    /// Window for the action −1, in segments.
    pub low: u32,
    /// Window for the action 1, in segments.
    pub high: u32,
    /// Window before the first action, in segments; by default, 10 (RFC 6928).
    #[serde(default = "initial_window")]
    pub first: u32,
}

const fn initial_window() -> u32 {
    10
}

impl RateScale {
    /// Creates a scale of pacing rates from `low` to `high`.
    #[must_use]
    pub const fn new(low: Rate, high: Rate) -> Self {
        Self {
            low,
            high,
            first: None,
        }
    }

    pub(super) fn check(&self, experiment: &Experiment) -> Result<(), EnvironmentError> {
        check_rates(self.low, self.high, experiment)?;
        self.first.map_or(Ok(()), |first| first.check(experiment))
    }

    pub(super) fn first_rate(&self, experiment: &Experiment, chance: &mut Stream) -> f64 {
        let limits = (bytes_per_second(self.low), bytes_per_second(self.high));
        match self.first {
            Some(first) => first.draw(experiment, limits, chance),
            None => self.rate(0.0),
        }
    }

    /// Returns the pacing rate for `action` in bytes per second.
    pub(super) fn rate(&self, action: f64) -> f64 {
        on_scale(
            bytes_per_second(self.low),
            bytes_per_second(self.high),
            action,
        )
    }
}

impl WindowScale {
    /// Creates a scale of windows from `low` to `high` segments. The initial window has 10 segments (RFC 6928).
    #[must_use]
    pub const fn new(low: u32, high: u32) -> Self {
        Self {
            low,
            high,
            first: initial_window(),
        }
    }

    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        for (place, window) in [("action.low", self.low), ("action.first", self.first)] {
            if window == 0 {
                let message = "with a window of 0 segments, nothing is ever sent";
                return Err(EnvironmentError::setting(
                    place,
                    message,
                    "write at least 1",
                ));
            }
        }
        if self.low >= self.high {
            let message = format!(
                "the minimum window {} is not below the maximum, {}",
                self.low, self.high
            );
            return Err(EnvironmentError::setting(
                "action.low",
                message,
                "set low < high",
            ));
        }
        Ok(())
    }

    pub(super) fn segments(&self, action: f64) -> f64 {
        on_scale(f64::from(self.low), f64::from(self.high), action)
    }
}

fn on_scale(low: f64, high: f64, action: f64) -> f64 {
    let place = (action + 1.0) / 2.0;
    // Due to rounding, the power might slightly exceed the bounds.
    (low * libm::pow(high / low, place)).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_exact_and_the_middle_is_the_geometric_mean() {
        let window = WindowScale::new(2, 200);
        assert_eq!([-1.0, 1.0].map(|a| window.segments(a)), [2.0, 200.0]);
        assert!((window.segments(0.0) - 20.0).abs() < 1e-9);
    }

    #[test]
    fn invalid_windows_are_refused() {
        for (low, high, first, part) in [
            (0, 10, 10, "action.low"),
            (10, 10, 10, "not below the maximum"),
            (1, 10, 0, "action.first"),
        ] {
            let window = WindowScale { low, high, first };
            let error = window.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
