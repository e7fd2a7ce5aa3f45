//! Experiments with TCP senders in a simulated network: experiment files, runs, results, statistics and traces.
//!
//! An [`Experiment`](experiment::Experiment) is parsed from a file and checked once, as a [`Plan`](run::Plan). The plan
//! performs single runs ([`Plan::perform`](run::Plan::perform)); `dupack-engine` performs all of them. Measures and
//! verdicts are computed from the [`Results`](results::Results).

pub mod experiment;
pub mod path_file;
pub mod results;
pub mod run;
pub mod significance;
pub mod stats;
pub mod trace;
pub mod units;

/// Hash of this crate's sources, computed at build time: sixteen hexadecimal digits. Stored runs contain the hash, so
/// that runs of other code are not reused.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
