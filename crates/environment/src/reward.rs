//! Rewards.

mod aurora;
mod orca;
mod weights;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::EnvironmentError;
use crate::measured::Measured;
use crate::names::{Named, name_or_table};

pub use aurora::LinearReward;
pub use orca::PowerReward;
pub use weights::Weights;

/// Reward of an agent at the end of a step: the name of a preset (`"aurora"`, `"orca"`), the formula of a preset with
/// your own parameters, or weights of features.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reward {
    /// Throughput minus latency and loss (Aurora).
    Linear(LinearReward),
    /// Throughput relative to the maximum, scaled down by queueing delay (Orca).
    Power(PowerReward),
    /// Weighted sum of features.
    Weights(Weights),
}

impl Reward {
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
            let remedy = "choose one of these presets, or write weights of features";
            EnvironmentError::setting("reward", message, remedy)
        })
    }

    pub(crate) fn check(&self) -> Result<(), EnvironmentError> {
        match self {
            Self::Linear(linear) => linear.check(),
            Self::Power(power) => power.check(),
            Self::Weights(weights) => weights.check(),
        }
    }

    /// Returns the reward of a step.
    #[must_use]
    pub fn of(&self, step: &Measured) -> f64 {
        match self {
            Self::Linear(linear) => linear.of(step),
            Self::Power(power) => power.of(step),
            Self::Weights(weights) => weights.of(step),
        }
    }
}

impl Named for Reward {
    const WHAT: &'static str = "reward";
    const NAMES: &'static [&'static str] = &["aurora", "orca"];

    fn named(name: &str) -> Option<Self> {
        match name {
            "aurora" => Some(Self::Linear(LinearReward::default())),
            "orca" => Some(Self::Power(PowerReward::default())),
            _ => None,
        }
    }
}

/// Reward that is given as a table.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Table {
    Linear(LinearReward),
    Power(PowerReward),
    Weights(Weights),
}

impl From<Table> for Reward {
    fn from(table: Table) -> Self {
        match table {
            Table::Linear(linear) => Self::Linear(linear),
            Table::Power(power) => Self::Power(power),
            Table::Weights(weights) => Self::Weights(weights),
        }
    }
}

impl<'de> Deserialize<'de> for Reward {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_or_table::<D, Self, Table>(deserializer)
    }
}

/// Checks that a parameter is finite.
fn check_finite(place: &str, value: f64) -> Result<(), EnvironmentError> {
    if value.is_finite() {
        return Ok(());
    }
    let message = format!("{value} is not finite");
    Err(EnvironmentError::setting(
        place,
        message,
        "write a finite number",
    ))
}
