//! Experiments: files, sweeps, runs, results, claims, statistics, traces, units.

pub mod claims;
pub mod experiment;
pub mod results;
pub mod run;
pub mod stats;
pub mod trace;
pub mod units;
