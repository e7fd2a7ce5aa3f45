//! What an agent is rewarded for.

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

/// What an agent is rewarded for at the end of a step: a preset by name (`"aurora"`, `"orca"`), one with parameters
/// of one's own, or weights of features.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reward {
    /// Throughput less latency and loss (Aurora).
    Linear(LinearReward),
    /// Throughput to the most throughput, by how long packets wait (Orca).
    Power(PowerReward),
    /// A weighted sum of features.
    Weights(Weights),
}

impl Reward {
    /// The names of the presets.
    #[must_use]
    pub const fn presets() -> &'static [&'static str] {
        <Self as Named>::NAMES
    }

    /// The preset called `name`.
    ///
    /// # Errors
    /// If there is none.
    pub fn preset(name: &str) -> Result<Self, EnvironmentError> {
        Self::find(name).map_err(|message| {
            let remedy = "or weights of features";
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

    /// The reward of a step.
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

/// The table of one's own.
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

/// A parameter that is a number.
fn check_finite(place: &str, value: f64) -> Result<(), EnvironmentError> {
    if value.is_finite() {
        return Ok(());
    }
    let message = format!("{value} is no weight");
    Err(EnvironmentError::setting(place, message, "a finite number"))
}
