//! The files of papers that were rerun: one folder per paper, and one page for all papers.

use std::sync::Arc;

use dupack_lab::results::Answered;
use dupack_lab::trace::{packets_csv, windows_csv};
use dupack_report::files::Files;

use super::evidence::ExperimentResults;
use super::markdown::pages;
use super::paper_page::page;
use super::reproduction::Reproduction;
use super::summary::Summaries;

/// Returns all files of `reproductions`.
#[must_use]
pub fn files(reproductions: &[Reproduction]) -> Files<'_> {
    let mut files = Files::new();
    for reproduction in reproductions {
        files.add_folder(reproduction.key, reproduction.files());
    }
    files.add_page(page(reproductions));
    for (name, text) in pages(reproductions) {
        files.add(format!("pages/{name}"), move || text.clone());
    }
    files.add("pages/conclusions.toml", || {
        Summaries::of(reproductions).toml()
    });
    files
}

impl Reproduction {
    /// Returns the files of this paper: verdicts, figures, tables, and the results on which they are based.
    #[must_use]
    pub fn files(&self) -> Files<'_> {
        let mut files = Files::new();
        files.add("verdicts.csv", || self.verdicts_csv());
        if let Some(reread) = &self.readings {
            files.add("readings.csv", || reread.csv(&self.book.claims));
        }
        for figure in self.figures() {
            files.add_figure(&format!("figures/{}", figure.name), figure.svg.as_str());
        }
        for table in self.tables() {
            files.add(format!("tables/{}.csv", table.name), || table.csv());
        }
        for part in &self.evidence.parts {
            files.add_folder(part.name, part.files());
        }
        files
    }
}

impl ExperimentResults {
    /// Returns the files of an experiment: its numbers, its traces, and the runs followed over time.
    fn files(&self) -> Files<'_> {
        let mut files = Files::new();
        files.add_numbers(&Arc::new(Answered::of(&self.results)));
        for traced in &self.traces {
            let (job, trace) = (traced.job, &traced.trace);
            let run = run_name(job.point, &trace.stack, job.seed);
            files.add(format!("{run}-packets.csv"), || packets_csv(trace));
            files.add(format!("{run}-windows.csv"), || windows_csv(trace));
        }
        for followed in &self.followed {
            let job = followed.job;
            let run = run_name(job.point, &self.results.stacks[job.stack], job.seed);
            files.add(format!("{run}-series.csv"), || followed.course.csv());
        }
        files
    }
}

/// Formats a run as part of a file name.
fn run_name(point: usize, stack: &str, seed: u64) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let stack: String = stack.chars().map(plain).collect();
    format!("point{}-{stack}-seed{seed}", point + 1)
}
