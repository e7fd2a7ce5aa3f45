//! Observations: chosen features of the last steps.
//!
//! An observation is a list of numbers: first the features of the oldest step, and at the end the features of the
//! latest step. If there were fewer steps, the missing ones have the neutral values of the features.

mod aurora;
mod orca;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::EnvironmentError;
use crate::feature::Feature;
use crate::measured::Measured;
use crate::names::{Named, name_or_table};
use crate::space::Space;

/// Observation of an agent: the name of a preset (`"aurora"`, `"orca"`), or your own choice of features.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Observation {
    /// Features of each step, in order.
    pub features: Vec<Feature>,
    /// Number of steps in an observation.
    pub history: usize,
}

/// Permitted numbers of steps in an observation.
const HISTORY: core::ops::RangeInclusive<usize> = 1..=1000;

impl Observation {
    /// Creates an observation of these features of the last `history` steps.
    #[must_use]
    pub fn new(features: &[Feature], history: usize) -> Self {
        Self {
            features: features.to_vec(),
            history,
        }
    }

    /// Returns the names of the presets.
    #[must_use]
    pub const fn presets() -> &'static [&'static str] {
        <Self as Named>::NAMES
    }

    /// Returns the preset called `name`.
    ///
    /// # Errors
    /// Returns an error if there is no such preset.
    pub fn preset(name: &str) -> Result<Self, EnvironmentError> {
        Self::find(name).map_err(|message| {
            EnvironmentError::setting(
                "observation",
                message,
                "choose one of these presets, or list features",
            )
        })
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.features.len() * self.history
    }

    /// Returns `true` if the observation is empty. A valid observation is never empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names and bounds of the values, such as `throughput` for the last step, or `throughput[-2]` for two
    /// steps before the last.
    #[must_use]
    pub fn space(&self) -> Space {
        let mut space = Space::new();
        for age in (0..self.history).rev() {
            for feature in &self.features {
                let told = feature.description();
                let name = match age {
                    0 => told.name.to_owned(),
                    age => format!("{}[-{age}]", told.name),
                };
                space.push(name, told.low, told.high);
            }
        }
        space
    }

    pub(crate) fn check(&self) -> Result<(), EnvironmentError> {
        if self.features.is_empty() {
            let message = "the observation has no features, so that the agent cannot learn";
            let remedy = "list features, for example [\"throughput\", \"rtt\", \"loss_ratio\"]";
            return Err(EnvironmentError::setting(
                "observation.features",
                message,
                remedy,
            ));
        }
        let mut seen = Vec::new();
        for (n, feature) in self.features.iter().enumerate() {
            if seen.contains(feature) {
                let place = format!("observation.features.{n}");
                let message = format!("the feature `{feature}` is listed twice");
                return Err(EnvironmentError::setting(
                    place,
                    message,
                    "remove one of them",
                ));
            }
            seen.push(*feature);
        }
        if !HISTORY.contains(&self.history) {
            let message = format!("invalid history of {} steps", self.history);
            return Err(EnvironmentError::setting(
                "observation.history",
                message,
                "choose 1 to 1000 steps",
            ));
        }
        Ok(())
    }

    /// Returns the values before the first step.
    pub(crate) fn nothing_yet(&self) -> Vec<f32> {
        let neutral = self.features.iter().map(|f| f.description().neutral);
        let neutral: Vec<f32> = neutral.collect();
        neutral.repeat(self.history)
    }

    /// Removes the oldest step from `numbers` and appends the features of `step`.
    pub(crate) fn add(&self, numbers: &mut [f32], step: &Measured) {
        let width = self.features.len();
        numbers.copy_within(width.., 0);
        let newest = numbers.len() - width;
        for (slot, feature) in numbers[newest..].iter_mut().zip(&self.features) {
            *slot = feature.of(step);
        }
    }
}

impl Named for Observation {
    const WHAT: &'static str = "observation";
    const NAMES: &'static [&'static str] = &["aurora", "orca"];

    fn named(name: &str) -> Option<Self> {
        match name {
            "aurora" => Some(aurora::observation()),
            "orca" => Some(orca::observation()),
            _ => None,
        }
    }
}

/// Observation that is given as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    features: Vec<Feature>,
    #[serde(default = "one")]
    history: usize,
}

const fn one() -> usize {
    1
}

impl From<Table> for Observation {
    fn from(table: Table) -> Self {
        Self {
            features: table.features,
            history: table.history,
        }
    }
}

impl<'de> Deserialize<'de> for Observation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_or_table::<D, Self, Table>(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_step_comes_last() {
        let observation = Observation::new(&[Feature::Acks, Feature::LatencyRatio], 3);
        let mut numbers = observation.nothing_yet();
        assert_eq!(numbers, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        for acks in [5.0, 7.0] {
            let step = Measured {
                acks,
                rtt: 2.0,
                rtt_mean_least: 1.0,
                ..Measured::default()
            };
            observation.add(&mut numbers, &step);
        }
        assert_eq!(numbers, [0.0, 1.0, 5.0, 2.0, 7.0, 2.0]);
        let names = observation.space().names;
        assert_eq!(names[..2], ["acks[-2]", "latency_ratio[-2]"]);
        assert_eq!(names[4..], ["acks", "latency_ratio"]);
    }

    #[test]
    fn an_empty_observation_is_refused() {
        let twice = Observation::new(&[Feature::Acks, Feature::Acks], 1);
        for (observation, part) in [
            (Observation::new(&[], 1), "cannot learn"),
            (Observation::new(&[Feature::Acks], 0), "history of 0 steps"),
            (
                Observation::new(&[Feature::Acks], 1001),
                "history of 1001 steps",
            ),
            (twice, "`acks` is listed twice"),
        ] {
            let error = observation.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let error = Observation::preset("auroa").unwrap_err().to_string();
        assert!(error.contains("did you mean `aurora`?"), "{error}");
    }
}
