//! Size of an experiment, computed before anything is built: the number of its runs, and the memory that they need.
//! Every front end checks the size before it starts.
//!
//! The memory is an estimate, based on measurements of runs on 64-bit Linux and rounded up. Its purpose is to reject
//! experiments that cannot succeed: a rejected experiment needs close to the available memory, or several times as
//! much.

mod one;

use miette::Diagnostic;
use thiserror::Error;

use super::check::fail;
use super::harm::Harm;
use super::plan::Plan;
use super::room::room;
use crate::experiment::Experiment;
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::points::bare;
pub(super) use one::run;
use one::{RUNNING, flows, running_bytes};

/// Bytes of a finished run in memory, including its output: 10,000 runs take 110 MB.
const RUN: u64 = 11_000;
/// Bytes of each flow of a finished run.
const RUN_FLOW: u64 = 100;
/// Bytes of a run in a list of jobs.
const TASK: u64 = 120;
/// Bytes of a point without its experiment, and bytes per byte of the experiment's text: 10,000 points of a short
/// experiment take 39 MB.
const POINT: u64 = 4_000;
const POINT_TEXT: u64 = 16;
/// Bytes of a stack at a point, including the harm runs. The number is small because a scenario is created only when it
/// is run.
const SCENARIO: u64 = 32;

/// Results that are in memory at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Results of all runs.
    All,
    /// Results of one point at a time, as with `--stream`.
    Points,
    /// Results of this many runs, as in a shard.
    Runs(u64),
}

/// Size of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Number of points of the sweep.
    pub points: u64,
    /// Number of runs at a point, including the runs that measure harm and the runs that a precision may add.
    pub runs_at_point: u64,
    /// Bytes of memory of the plan.
    pub plan_bytes: u64,
    /// Bytes of memory of a finished run.
    pub run_bytes: u64,
    /// Bytes of memory of a run in progress, at the point where this is largest.
    pub running_bytes: u64,
}

/// An experiment that does not fit into memory.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("{needed} of memory are needed for {runs}, but only {there} are available")]
pub struct TooLarge {
    runs: String,
    needed: String,
    there: String,
    #[help]
    remedy: &'static str,
}

impl Size {
    /// Returns the number of runs, or `None` if it overflows.
    #[must_use]
    pub const fn runs(&self) -> Option<u64> {
        self.points.checked_mul(self.runs_at_point)
    }

    /// Returns the bytes of memory needed with `jobs` runs at a time, or `None` if the number overflows.
    #[must_use]
    pub fn bytes(&self, held: Held, jobs: u64) -> Option<u64> {
        let (runs, dealt) = match held {
            Held::All => (self.runs()?, 0),
            Held::Points => (self.runs_at_point, 0),
            // Splitting runs into shards needs a list of all runs.
            Held::Runs(runs) => (runs, self.runs()?.checked_mul(TASK)?),
        };
        let results = runs.checked_mul(self.run_bytes)?.checked_add(dealt)?;
        let running = jobs.checked_mul(self.running_bytes)?;
        results.checked_add(running)?.checked_add(self.plan_bytes)
    }

    /// Checks that the experiment fits into `room` bytes of memory with `jobs` runs at a time.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn fits(&self, held: Held, jobs: u64, room: u64) -> Result<(), TooLarge> {
        let needed = self.bytes(held, jobs);
        if needed.is_some_and(|needed| needed <= room) {
            return Ok(());
        }
        let all = self.runs();
        let count = |runs: Option<u64>| runs.map_or("more than 2^64".to_owned(), |n| n.to_string());
        let runs = match held {
            Held::All => format!("the results of {} runs", count(all)),
            Held::Points => format!("the results of the {} runs of a point", self.runs_at_point),
            Held::Runs(runs) => format!("the results of {runs} runs"),
        };
        let least = self.plan_bytes.checked_add(self.running_bytes);
        let small = least.is_some_and(|least| least <= room);
        let few = self.bytes(held, 1).is_some_and(|one| one <= room);
        let (runs, remedy) = match (small, few, held) {
            (false, ..) => (
                "one run of this experiment".to_owned(),
                "reduce the number of flows, the buffer or the duration",
            ),
            (_, true, _) => (
                format!("{jobs} runs at a time"),
                "run fewer at a time, with --jobs",
            ),
            (_, _, Held::All) => (
                runs,
                "reduce the number of points, stacks or seeds, or keep the results of an \
                 experiment file in files: `dupack run FILE --stream`, or Experiment.stream in \
                 Python",
            ),
            (_, _, Held::Points) => (
                runs,
                "--stream keeps one point at a time in memory: reduce the number of seeds or \
                 stacks",
            ),
            (_, _, Held::Runs(_)) => (runs, "split the runs into more shards"),
        };
        let needed = needed.map_or("more than 10 exabytes".to_owned(), |needed| {
            format!("about {}", bytes_in_words(needed))
        });
        let there = bytes_in_words(room);
        Err(TooLarge {
            runs,
            needed,
            there,
            remedy,
        })
    }
}

impl Plan {
    /// Returns the size of the experiment.
    #[must_use]
    pub fn size(&self) -> Size {
        let e = self.experiment();
        let points = self.points();
        let each = points.iter().map(|point| &*point.experiment);
        let flows = each.clone().map(flows).max().unwrap_or(1);
        let running = each.map(running_bytes).max().unwrap_or(RUNNING);
        let companions = self.harm.as_ref().map_or(0, Harm::companions);
        let stacks = (self.stacks().len() + companions) as u64;
        let seeds = self
            .precision
            .map_or(self.seeds().len(), |rule| rule.seeds_max());
        Size {
            points: points.len() as u64,
            runs_at_point: stacks.saturating_mul(seeds as u64),
            plan_bytes: plan_bytes(e, points.len() as u64).unwrap_or(u64::MAX),
            run_bytes: RUN.saturating_add(flows.saturating_mul(RUN_FLOW)),
            running_bytes: running,
        }
    }

    /// Checks that the experiment fits into the memory of this machine with `threads` runs at a time.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn fits(&self, held: Held, threads: usize) -> Result<(), TooLarge> {
        let size = self.size();
        let all = size.runs().unwrap_or(u64::MAX);
        let jobs = (threads as u64).min(all);
        size.fits(held, jobs, room())
    }
}

/// Rejects experiments with too many points, runs or scenarios for a plan, before anything is built.
pub(super) fn plan(e: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    let lengths = e.sweep.values().map(Vec::len);
    let points = match e.points.len() {
        0 => product(lengths),
        listed => Some(listed as u64),
    };
    let needed = points.and_then(|points| plan_bytes(e, points));
    let there = room();
    if needed.is_some_and(|needed| needed <= there) {
        return Ok(());
    }
    let key = if e.points.is_empty() {
        "sweep"
    } else {
        "points"
    };
    let points = points.map_or("more than 2^64".to_owned(), |points| points.to_string());
    let message = format!(
        "{points} points with {} stacks do not fit into the {} of available memory",
        e.stacks.len(),
        bytes_in_words(there)
    );
    fail(
        source,
        key,
        message,
        "reduce the number of points, stacks or groups of flows",
    )
}

/// Returns the bytes of the points and scenarios of `e`, or `None` if the number overflows.
fn plan_bytes(e: &Experiment, points: u64) -> Option<u64> {
    // The text of a point contains its own values instead of the sweep.
    let text = bare(e).to_string();
    let text = (text.len() as u64).checked_mul(POINT_TEXT)?;
    let scenarios = (e.stacks.len() as u64).checked_mul(SCENARIO)?;
    let point = POINT.checked_add(text)?.checked_add(scenarios)?;
    points.checked_mul(point)
}

/// Returns the product, or `None` if it exceeds 2^64.
fn product(mut factors: impl Iterator<Item = usize>) -> Option<u64> {
    factors.try_fold(1_u64, |product, factor| product.checked_mul(factor as u64))
}

/// Formats `bytes` for readers: `23.8 GB`.
#[must_use]
pub fn bytes_in_words(bytes: u64) -> String {
    let units = [
        (1e18, "EB"),
        (1e15, "PB"),
        (1e12, "TB"),
        (1e9, "GB"),
        (1e6, "MB"),
    ];
    let bytes = bytes as f64;
    let unit = units.into_iter().find(|(size, _)| bytes >= *size);
    match unit {
        Some((size, unit)) => format!("{:.1} {unit}", bytes / size),
        None => format!("{:.0} kB", (bytes / 1e3).ceil()),
    }
}

#[cfg(test)]
mod tests;
