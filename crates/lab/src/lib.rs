//! Experiments: files, sweeps, runs, results, statistics, traces, units.

pub mod experiment;
pub mod path_file;
pub mod results;
pub mod run;
pub mod significance;
pub mod stats;
pub mod trace;
pub mod units;

/// The hash of this crate's sources: sixteen hexadecimal digits, made when it is built. A stored run
/// names it, so that it is not taken for one of other code.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
