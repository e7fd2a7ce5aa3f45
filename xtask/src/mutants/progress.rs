//! What one sees while mutants are tried.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::known::{Finding, Found};
use super::stage::Stage;

/// A bar over the mutants of this call; a line for each stage of a portion where no bar can be shown.
pub struct Bar {
    bar: ProgressBar,
    stage: Stage,
    due: usize,
    counts: Counts,
}

/// What the current stage found.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    caught: usize,
    missed: usize,
    unviable: usize,
}

impl Bar {
    /// A bar for so many mutants.
    pub fn new(mutants: usize) -> Self {
        let bar = ProgressBar::new(mutants as u64);
        let style =
            ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} mutants, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            stage: Stage::FIRST,
            due: 0,
            counts: Counts::default(),
        }
    }

    /// So many mutants meet the tests of a stage.
    pub fn begins(&mut self, stage: Stage, due: usize) {
        (self.stage, self.due, self.counts) = (stage, due, Counts::default());
        self.bar.set_message(stage.name());
    }

    /// A mutant is tried.
    pub fn found(&mut self, finding: &Finding) {
        match finding.found {
            Found::Caught | Found::TimedOut => self.counts.caught += 1,
            Found::Missed | Found::Doubted => self.counts.missed += 1,
            Found::Unviable => self.counts.unviable += 1,
        }
        // The next stages are for what this one missed.
        if finding.found != Found::Missed || finding.stage.is_last() {
            self.bar.inc(1);
        }
    }

    /// The stage is done with them.
    pub fn ends(&self) {
        let Counts {
            caught,
            missed,
            unviable,
        } = self.counts;
        let (due, stage) = (self.due, self.stage.name());
        let text = format!(
            "{due} mutants, {stage}: {caught} caught, {missed} not, {unviable} did not compile"
        );
        match self.bar.is_hidden() {
            true => eprintln!("{text}"),
            false => self.bar.println(text),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
