//! Experiments: files, sweeps, runs, results, statistics, traces, units.

pub mod experiment;
pub mod results;
pub mod run;
pub mod stats;
pub mod trace;
pub mod units;
