//! The size of an experiment, found before anything of it is built: how many runs it has, and how much memory they
//! take. Every front asks here before it begins.
//!
//! The memory is an estimate. It rests on what was measured of runs on 64-bit Linux, rounded up, and is there to
//! refuse what cannot work: an experiment that is refused takes several times the memory that there is, or close
//! to it.

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

/// Bytes of a finished run in memory, with what is written of it: 10,000 runs take 110 MB.
const RUN: u64 = 11_000;
/// The same for each of its flows.
const RUN_FLOW: u64 = 100;
/// Bytes of a run in a list of what is to do.
const TASK: u64 = 120;
/// Bytes of a point beside its experiment, and so many for each byte of the experiment's text: 10,000 points of a short
/// experiment take 39 MB.
const POINT: u64 = 4_000;
const POINT_TEXT: u64 = 16;
/// Bytes of a stack at a point, with the standing flow's: scenarios are made when they are run.
const SCENARIO: u64 = 32;

/// What is in memory at a time of the results of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Those of all runs.
    All,
    /// Those of one point after the other, as with `--stream`.
    Points,
    /// Those of so many runs, as of a shard.
    Runs(u64),
}

/// How large an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Points of its sweep.
    pub points: u64,
    /// Runs at a point, those that measure harm and those that a precision may add included.
    pub runs_at_point: u64,
    /// Bytes of memory that the plan takes.
    pub plan_bytes: u64,
    /// Bytes of memory of a finished run.
    pub run_bytes: u64,
    /// Bytes of memory of a run while it goes on, at the point where that is most.
    pub running_bytes: u64,
}

/// An experiment that does not fit into memory.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("{runs} take about {needed} of memory, and {there} are available")]
pub struct TooLarge {
    runs: String,
    needed: String,
    there: String,
    #[help]
    remedy: &'static str,
}

impl Size {
    /// All runs; `None` if they cannot be counted.
    #[must_use]
    pub const fn runs(&self) -> Option<u64> {
        self.points.checked_mul(self.runs_at_point)
    }

    /// Bytes of memory that it takes with `jobs` runs at a time; `None` if they cannot be counted.
    #[must_use]
    pub fn bytes(&self, held: Held, jobs: u64) -> Option<u64> {
        let (runs, dealt) = match held {
            Held::All => (self.runs()?, 0),
            Held::Points => (self.runs_at_point, 0),
            // To deal runs to shards takes a list of all of them.
            Held::Runs(runs) => (runs, self.runs()?.checked_mul(TASK)?),
        };
        let results = runs.checked_mul(self.run_bytes)?.checked_add(dealt)?;
        let running = jobs.checked_mul(self.running_bytes)?;
        results.checked_add(running)?.checked_add(self.plan_bytes)
    }

    /// An error if it does not fit into `room` bytes of memory with `jobs` runs at a time.
    ///
    /// # Errors
    /// If so.
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
                "take fewer flows, a smaller buffer or a shorter run",
            ),
            (_, true, _) => (
                format!("{jobs} runs at a time"),
                "run fewer of them at a time, with --jobs",
            ),
            (_, _, Held::All) => (
                runs,
                "take fewer points, stacks or seeds; or keep an experiment file's results in files: `dupack run FILE \
                 --stream`, or Experiment.stream in Python",
            ),
            (_, _, Held::Points) => (
                runs,
                "--stream holds one point at a time: take fewer seeds or stacks",
            ),
            (_, _, Held::Runs(_)) => (runs, "split the runs into more shards"),
        };
        let needed = needed.map_or("more than 10 exabytes".to_owned(), bytes_in_words);
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
    /// How large it is.
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

    /// Checks that it fits into the memory of this machine with `threads` runs at a time.
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

/// An error if there are too many points, runs or scenarios to make a plan of `e`. Nothing is built yet.
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
        "{points} points with {} stacks do not fit into memory, of which {} are available",
        e.stacks.len(),
        bytes_in_words(there)
    );
    fail(
        source,
        key,
        message,
        "take fewer points or stacks, or fewer groups of flows",
    )
}

/// Bytes of the points and scenarios of `e`; `None` if they cannot be counted.
fn plan_bytes(e: &Experiment, points: u64) -> Option<u64> {
    // A point has its own values in place of the sweep.
    let text = bare(e).to_string();
    let text = (text.len() as u64).checked_mul(POINT_TEXT)?;
    let scenarios = (e.stacks.len() as u64).checked_mul(SCENARIO)?;
    let point = POINT.checked_add(text)?.checked_add(scenarios)?;
    points.checked_mul(point)
}

/// The product; `None` if it is more than 2^64.
fn product(mut factors: impl Iterator<Item = usize>) -> Option<u64> {
    factors.try_fold(1_u64, |product, factor| product.checked_mul(factor as u64))
}

/// `bytes` for people: `23.8 GB`.
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
