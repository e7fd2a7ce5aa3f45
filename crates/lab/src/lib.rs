//! Experiments: files, sweeps, measures, statistics, papers, reports.

pub mod agreement;
pub mod catalog;
pub mod experiment;
pub mod figure;
pub mod papers;
pub mod report;
pub mod results;
pub mod run;
pub mod stats;
#[cfg(target_os = "linux")]
pub mod testbed;
pub mod theory;
pub mod trace;
pub mod units;
