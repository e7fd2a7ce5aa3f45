//! Custom reward: a weighted sum of the same features that observations contain.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::check_finite;
use crate::error::EnvironmentError;
use crate::feature::Feature;
use crate::measured::Measured;

/// Weight of each feature: the reward per unit of the feature.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Weight by feature: `{ throughput = 1.0, queueing = -10.0, loss_ratio = -5.0 }`.
    pub weights: BTreeMap<Feature, f64>,
}

impl Weights {
    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        if self.weights.values().all(|weight| *weight == 0.0) {
            let message = "all weights are 0, so that every step has the same reward";
            let remedy = "write weights such as { throughput = 1.0, loss_ratio = -5.0 }";
            return Err(EnvironmentError::setting("reward.weights", message, remedy));
        }
        let mut weights = self.weights.iter();
        weights.try_for_each(|(feature, weight)| {
            check_finite(&format!("reward.weights.{feature}"), *weight)
        })
    }

    pub(super) fn of(&self, step: &Measured) -> f64 {
        let terms = self.weights.iter();
        terms
            .map(|(feature, weight)| weight * f64::from(feature.of(step)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reward_is_the_weighted_sum() {
        let step = Measured {
            duration: 1.0,
            delivered_bytes: 1_000_000.0,
            timeouts: 2.0,
            ..Measured::default()
        };
        let weights = BTreeMap::from([(Feature::Throughput, 0.5), (Feature::Timeouts, -1.0)]);
        assert!((Weights { weights }.of(&step) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn weights_that_reward_nothing_are_refused() {
        for weights in [
            BTreeMap::new(),
            BTreeMap::from([(Feature::Rtt, 0.0)]),
            BTreeMap::from([(Feature::Rtt, f64::NAN)]),
        ] {
            assert!(Weights { weights }.check().is_err());
        }
    }
}
