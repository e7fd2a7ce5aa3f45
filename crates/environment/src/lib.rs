//! Environments for reinforcement learning: an agent is the congestion control of a flow over a simulated path.
//!
//! An experiment (`dupack_lab`) describes the path, and the simulation is the same: flows, links, recovery and random
//! numbers. Only the congestion control of some flows belongs to agents, which give an order at each step. A policy
//! that acts like a control of the catalog produces the same packets as this control in an experiment.
//!
//! | topic | place |
//! | --- | --- |
//! | observable numbers, by name | [`Feature`] |
//! | presets from the literature | `observation/`, `action/`, `reward/`: one file for each preset, with its source |
//! | effect of an order on a sender | `control.rs` |
//! | values drawn for every episode | [`Range`] |
//! | one environment, many environments | [`Environment`], [`VectorEnvironment`] |
//!
//! One agent on a path of 10 Mbit/s:
//!
//! ```
//! use dupack_algorithms::catalog::Catalog;
//! use dupack_environment::{Blueprint, Environment, EnvironmentError, StepOutput, Settings};
//! use dupack_lab::experiment::load::Source;
//!
//! let path = Source::new(
//!     "path",
//!     r#"
//!     stacks = ["rack/cubic"]
//!     duration = "10s"
//!     [path]
//!     rate = "10Mbit/s"
//!     delay = "20ms"
//!     buffer = "50pkt"
//!     "#,
//! );
//! let settings = Settings::from_toml(
//!     r#"
//!     observation = "aurora"
//!     action = { kind = "rate", low = "1Mbit/s", high = "20Mbit/s" }
//!     reward = "orca"
//!     interval = "10ms"
//!     "#,
//! )?;
//! let blueprint = Blueprint::new(&path, settings, &Catalog::builtin())?;
//! let mut environment = Environment::new(blueprint);
//!
//! let mut observation = [0.0; 30];
//! environment.reset(Some(7), &[], &mut observation)?;
//! let (mut reward, mut terminated, mut truncated) = ([0.0], [false], [false]);
//! while environment.is_running() {
//!     // The action 0.5 sets a rate of 1 Mbit/s · 20^0.75 = 9.46 Mbit/s.
//!     let mut outcome = StepOutput::new(&mut observation, &mut reward, &mut terminated, &mut truncated);
//!     environment.step(&[0.5], &mut outcome)?;
//! }
//! assert!(truncated[0]);
//! let goodput = environment.info().map_or(0.0, |info| info.agents[0].goodput);
//! assert!(goodput > 9.3, "{goodput}");
//! # Ok::<(), EnvironmentError>(())
//! ```

pub mod action;
mod blueprint;
mod cell;
mod control;
mod environment;
mod episode;
mod error;
mod feature;
mod info;
mod interval;
mod measured;
mod names;
mod observation;
mod range;
pub mod reward;
mod settings;
mod space;
mod vector;

pub use action::Action;
pub use blueprint::Blueprint;
pub use environment::{Environment, StepOutput, episode_seed};
pub use episode::Fingerprint;
pub use error::EnvironmentError;
pub use feature::{Description, Feature};
pub use info::{AgentInfo, Info};
pub use interval::Interval;
pub use measured::Measured;
pub use observation::Observation;
pub use range::{Between, OneOf, Range, Scale};
pub use reward::Reward;
pub use settings::Settings;
pub use space::Space;
pub use vector::{Autoreset, Seeds, Threads, VectorEnvironment, environment_seed};

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
