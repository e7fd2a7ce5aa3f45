//! Actions: one number per step, which sets a pacing rate or a window, or multiplies one of them by a factor.
//!
//! | kind | the number a | effect |
//! | --- | --- | --- |
//! | `rate_factor` | within ± `bound` | rate · (1 + α·a), or rate / (1 − α·a) if a < 0 |
//! | `rate` | from −1 to 1 | rate = low · (high / low)^((a + 1) / 2) |
//! | `window_factor` | within ± `bound` | the window of the stack's own control · 2^a |
//! | `window` | from −1 to 1 | window = low · (high / low)^((a + 1) / 2) |
//!
//! The rate is the pacing rate. `"aurora"` is a `rate_factor`, and `"orca"` is a `window_factor`; their files cite
//! their sources. Pacing rates count payload: at 10 Mbit/s with segments of 1448 bytes, the packets take 10.36 Mbit/s
//! on the link.

mod aurora;
mod orca;
mod scale;

use dupack_lab::experiment::Experiment;
use dupack_lab::units::Rate;
use dupack_net::random::Stream;
use serde::{Deserialize, Deserializer, Serialize};

use crate::cell::Cell;
use crate::control::{Hold, WIDE};
use crate::error::EnvironmentError;
use crate::names::{Named, name_or_table};
use crate::space::Space;

pub use aurora::RateFactor;
pub use orca::WindowFactor;
pub use scale::{RateScale, WindowScale};

/// Action of an agent: the name of a preset (`"aurora"`, `"orca"`), or a kind with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Multiplies the pacing rate by a factor.
    RateFactor(RateFactor),
    /// Sets the pacing rate.
    Rate(RateScale),
    /// Multiplies the window of the stack's own control.
    WindowFactor(WindowFactor),
    /// Sets the window.
    Window(WindowScale),
}

/// Initial pacing rate of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a rate such as \"1Mbit/s\", or a range of shares of the path's rate such as [0.3, 1.5]"
)]
#[non_exhaustive]
pub enum FirstRate {
    /// A fixed rate.
    Rate(Rate),
    /// A rate that is drawn uniformly between these multiples of the path's rate.
    Shares([f64; 2]),
}

impl Action {
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
            let remedy =
                "choose one of these presets, or write a kind of action with its parameters";
            EnvironmentError::setting("action", message, remedy)
        })
    }

    /// Returns the name and bounds of the action's number.
    #[must_use]
    pub fn space(&self) -> Space {
        let (low, high) = self.bounds();
        let name = match self {
            Self::RateFactor(_) => "rate_factor",
            Self::Rate(_) => "rate",
            Self::WindowFactor(_) => "window_factor",
            Self::Window(_) => "window",
        };
        let mut space = Space::new();
        space.push(name.to_owned(), low, high);
        space
    }

    /// Returns the smallest and largest allowed action.
    pub(crate) const fn bounds(&self) -> (f32, f32) {
        match self {
            Self::RateFactor(factor) => (-factor.bound, factor.bound),
            Self::WindowFactor(factor) => (-factor.bound, factor.bound),
            Self::Rate(_) | Self::Window(_) => (-1.0, 1.0),
        }
    }

    /// Returns the part of the control that the action sets.
    pub(crate) const fn hold(&self) -> Hold {
        match self {
            Self::RateFactor(_) | Self::Rate(_) => Hold::Rate,
            Self::Window(_) => Hold::Window,
            Self::WindowFactor(_) => Hold::Factor,
        }
    }

    /// Returns the minimum of a multiplied window, in segments.
    pub(crate) const fn least_window(&self) -> f64 {
        match self {
            Self::WindowFactor(factor) => factor.least as f64,
            _ => 1.0,
        }
    }

    pub(crate) fn check(&self, experiment: &Experiment) -> Result<(), EnvironmentError> {
        match self {
            Self::RateFactor(factor) => factor.check(experiment),
            Self::Rate(rate) => rate.check(experiment),
            Self::WindowFactor(factor) => factor.check(),
            Self::Window(window) => window.check(),
        }
    }

    /// Creates the cell of a flow for a new episode of `experiment`. `chance` draws the initial pacing rate; segments
    /// have `segment` bytes.
    pub(crate) fn begin(&self, experiment: &Experiment, segment: f64, chance: &mut Stream) -> Cell {
        match self {
            Self::RateFactor(factor) => Cell::new(WIDE, factor.first_rate(experiment, chance)),
            Self::Rate(rate) => Cell::new(WIDE, rate.first_rate(experiment, chance)),
            Self::Window(window) => Cell::new(f64::from(window.first) * segment, 0.0),
            Self::WindowFactor(_) => Cell::new(WIDE, 0.0),
        }
    }

    /// Writes the order for `action` into the cell. `action` must be within its bounds.
    pub(crate) fn order(&self, action: f32, cell: &Cell, segment: f64) {
        let action = f64::from(action);
        match self {
            Self::RateFactor(factor) => cell.set_rate(factor.next(cell.rate(), action)),
            Self::Rate(rate) => cell.set_rate(rate.rate(action)),
            Self::Window(window) => cell.set_window(window.segments(action) * segment),
            // A factor of 2^0 has no effect, so no order is given.
            Self::WindowFactor(_) if action == 0.0 => {}
            Self::WindowFactor(_) => cell.multiply(libm::exp2(action)),
        }
    }
}

impl Named for Action {
    const WHAT: &'static str = "action";
    const NAMES: &'static [&'static str] = &["aurora", "orca"];

    fn named(name: &str) -> Option<Self> {
        match name {
            "aurora" => Some(Self::RateFactor(RateFactor::default())),
            "orca" => Some(Self::WindowFactor(WindowFactor::default())),
            _ => None,
        }
    }
}

/// Action that is given as a table.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Table {
    RateFactor(RateFactor),
    Rate(RateScale),
    WindowFactor(WindowFactor),
    Window(WindowScale),
}

impl From<Table> for Action {
    fn from(table: Table) -> Self {
        match table {
            Table::RateFactor(factor) => Self::RateFactor(factor),
            Table::Rate(rate) => Self::Rate(rate),
            Table::WindowFactor(factor) => Self::WindowFactor(factor),
            Table::Window(window) => Self::Window(window),
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        name_or_table::<D, Self, Table>(deserializer)
    }
}

impl FirstRate {
    /// Returns the initial pacing rate in bytes per second, clamped to `low` and `high`.
    fn draw(self, experiment: &Experiment, (low, high): (f64, f64), chance: &mut Stream) -> f64 {
        let drawn = match self {
            Self::Rate(rate) => bytes_per_second(rate),
            Self::Shares([least, most]) => {
                let path = path_rate(experiment).map_or(0.0, bytes_per_second);
                path * (least + (most - least) * chance.unit())
            }
        };
        drawn.clamp(low, high)
    }

    fn check(self, experiment: &Experiment) -> Result<(), EnvironmentError> {
        let Self::Shares([least, most]) = self else {
            return Ok(());
        };
        if !(least > 0.0 && least <= most && most.is_finite()) {
            let message = format!("the shares {least} and {most} are not positive and ascending");
            return Err(EnvironmentError::setting(
                "action.first",
                message,
                "write two shares such as [0.3, 1.5]",
            ));
        }
        if path_rate(experiment).is_none() {
            let message =
                "the initial pace is a share of path.rate, but the experiment has no path.rate";
            let remedy = "set the pace itself, for example \"1Mbit/s\"";
            return Err(EnvironmentError::setting("action.first", message, remedy));
        }
        Ok(())
    }
}

fn path_rate(experiment: &Experiment) -> Option<Rate> {
    experiment.path.as_ref()?.rate
}

fn bytes_per_second(rate: Rate) -> f64 {
    rate.as_bits_per_second() as f64 / 8.0
}

/// Checks the bounds of a pacing rate: both must be above 0 and ascending, and the maximum must be high enough to fully
/// use the path.
fn check_rates(low: Rate, high: Rate, experiment: &Experiment) -> Result<(), EnvironmentError> {
    if low.as_bits_per_second() == 0 {
        let message = "at a pace of 0, nothing is ever sent";
        return Err(EnvironmentError::setting(
            "action.low",
            message,
            "write a pace such as \"100kbit/s\"",
        ));
    }
    if low >= high {
        let message = format!("the minimum pace {low} is not below the maximum, {high}");
        return Err(EnvironmentError::setting(
            "action.low",
            message,
            "set low < high",
        ));
    }
    if let Some(path) = path_rate(experiment)
        && high < path
    {
        let message = format!("a pace of at most {high} cannot fill a path of {path}");
        let remedy = "raise it above the highest rate that the path can have";
        return Err(EnvironmentError::setting("action.high", message, remedy));
    }
    Ok(())
}
