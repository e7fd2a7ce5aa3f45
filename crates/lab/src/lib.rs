//! Experiments: files, sweeps, measures, statistics, papers, reports.

pub mod stats;
pub mod units;
