//! Experiments: files, sweeps, measures, statistics, papers, reports.

pub mod experiment;
pub mod figure;
pub mod report;
pub mod results;
pub mod stats;
pub mod units;
