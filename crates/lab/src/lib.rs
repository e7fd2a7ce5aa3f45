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
pub mod theory;
pub mod trace;
pub mod units;
