//! Settings of an environment, in addition to the experiment that describes the path.

use std::collections::BTreeMap;

use dupack_tcp::time::Duration;
use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::error::EnvironmentError;
use crate::interval::Interval;
use crate::names::Named;
use crate::observation::Observation;
use crate::range::Range;
use crate::reward::Reward;

/// Settings: observation, action, reward and interval of the agents, and the ranges of values drawn for every episode.
///
/// ```
/// use dupack_environment::Settings;
///
/// let settings = Settings::from_toml(
///     r#"
///     observation = { features = ["throughput", "queueing", "loss_ratio"], history = 4 }
///     action = { kind = "rate", low = "500kbit/s", high = "40Mbit/s" }
///     reward = { kind = "weights", weights = { throughput = 1.0, queueing = -20.0 } }
///     interval = "rtt"
///
///     [ranges]
///     "path.rate" = { low = "2Mbit/s", high = "20Mbit/s", scale = "log" }
///     "path.loss" = { low = "0%", high = "2%" }
///     "path.buffer" = { values = ["20pkt", "200pkt"] }
///     "#,
/// )?;
/// assert_eq!(settings.observation.len(), 12);
/// # Ok::<(), dupack_environment::EnvironmentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// Observation of an agent.
    pub observation: Observation,
    /// Action of an agent.
    pub action: Action,
    /// Reward of an agent.
    pub reward: Reward,
    /// Length of a step.
    pub interval: Interval,
    /// Ranges of values drawn for every episode, by key of the experiment.
    pub ranges: BTreeMap<String, Range>,
}

/// Default length of a step.
const USUAL_STEP: Interval = Interval::Time(Duration::from_millis(10));

impl Default for Settings {
    /// Returns Aurora's presets, with steps of 10 ms and no ranges.
    fn default() -> Self {
        Self::named("aurora").unwrap_or_else(|| unreachable!("aurora is a preset"))
    }
}

impl Settings {
    /// Returns the names of the presets.
    #[must_use]
    pub const fn presets() -> &'static [&'static str] {
        <Self as Named>::NAMES
    }

    /// Returns the observation, action, reward and interval of one paper: `"aurora"` with steps of half a round-trip
    /// time (as in the authors' code), or `"orca"` with steps of 20 ms.
    ///
    /// # Errors
    /// Returns an error if there is no such preset.
    pub fn preset(name: &str) -> Result<Self, EnvironmentError> {
        let found = Self::find(name).map(|settings| Self {
            interval: match name {
                "aurora" => Interval::RoundTrips(0.5),
                _ => Interval::Time(Duration::from_millis(20)),
            },
            ..settings
        });
        found.map_err(|message| {
            EnvironmentError::setting(
                "preset",
                message,
                "choose one of these presets, or set observation, action and reward separately",
            )
        })
    }

    /// Parses settings from TOML. Missing keys have the values of [`default`](Self::default).
    ///
    /// # Errors
    /// Returns an error if the text is not valid TOML, or contains an unknown key or an invalid value.
    pub fn from_toml(text: &str) -> Result<Self, EnvironmentError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(String::new(), |span| {
                let line = text
                    .get(..span.start)
                    .unwrap_or_default()
                    .lines()
                    .count()
                    .max(1);
                format!(", line {line}")
            });
            let remedy = "docs/environments.md lists the settings";
            EnvironmentError::setting(format!("the settings{at}"), error.message(), remedy)
        })
    }
}

impl Named for Settings {
    const WHAT: &'static str = "preset";
    const NAMES: &'static [&'static str] = &["aurora", "orca"];

    fn named(name: &str) -> Option<Self> {
        Some(Self {
            observation: Observation::named(name)?,
            action: Action::named(name)?,
            reward: Reward::named(name)?,
            interval: USUAL_STEP,
            ranges: BTreeMap::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_exists_and_parses_back() {
        for name in Settings::presets() {
            let settings = Settings::preset(name).unwrap();
            let text = toml::to_string(&settings).unwrap();
            assert_eq!(Settings::from_toml(&text).unwrap(), settings, "{text}");
        }
        let aurora = Settings::preset("aurora").unwrap();
        assert_eq!(aurora.observation.len(), 30);
        assert_eq!(Settings::preset("orca").unwrap().observation.len(), 70);
        let by_name =
            "observation = \"orca\"\naction = \"orca\"\nreward = \"orca\"\ninterval = \"20ms\"";
        assert_eq!(
            Settings::from_toml(by_name).unwrap(),
            Settings::preset("orca").unwrap()
        );
    }

    #[test]
    fn errors_name_the_line() {
        for (text, parts) in [
            (
                "interval = \"10ms\"\nreward = \"aurra\"",
                ["line 2", "did you mean `aurora`?"],
            ),
            (
                "observation = { features = [\"rt\"] }",
                ["line 1", "did you mean `rtt`?"],
            ),
            ("observation = 3", ["line 1", "the name of a preset"]),
            ("action = { kind = \"speed\" }", ["speed", "rate_factor"]),
            (
                "action = { kind = \"rate\", low = \"1Mbit/s\" }",
                ["missing field", "high"],
            ),
            (
                "action = { kind = \"window\", low = 1, high = 9, most = 3 }",
                ["most", "unknown field"],
            ),
            (
                "action = { kind = \"rate\", low = \"1\", high = \"2Mbit/s\" }",
                ["`1`", "unit"],
            ),
            ("step = \"10ms\"", ["unknown field", "interval"]),
            ("interval = \"0ms\"", ["line 1", "makes no progress"]),
            (
                "reward = { kind = \"weights\", weights = { speed = 1.0 } }",
                ["speed", "throughput"],
            ),
            (
                "[ranges]\n\"path.rate\" = { low = \"1Mbit/s\" }",
                ["line 2", "expected { low"],
            ),
            ("preset", ["line 1", "the settings"]),
        ] {
            let error = Settings::from_toml(text).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{text}: {error}");
            }
        }
        let error = Settings::preset("orka").unwrap_err().to_string();
        assert!(error.contains("did you mean `orca`?"), "{error}");
    }
}
