//! Runs of stacks on a path.

use std::time::Duration as StdDuration;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_engine::{Conduct, Execution, Watch, carry_out_all};
use dupack_lab::experiment::Seeds;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Measure, Run};
use dupack_lab::run::{Interrupt, Plan};

use crate::experiment::{Captured, time_to_run, with};
use crate::whatif::values::Values;
use dupack_diagnosis::path::Path;

/// Parameters of the runs.
pub(super) struct Runs<'a> {
    pub path: &'a Path,
    pub captured: &'a Captured,
    pub catalog: &'a Catalog,
    pub execution: Execution,
    pub progress: &'a dyn Watch,
    pub interrupt: &'a Interrupt,
}

/// Paths on which stacks are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The best estimate of the path, for every seed.
    Best,
    /// A different path for each seed, drawn from the confidence intervals.
    Drawn,
}

/// Outcome of a simulated transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SimulatedTransfer {
    /// Time from the first segment to the last ACK, in seconds. If the transfer did not end, this is the simulated
    /// time.
    pub seconds: f64,
    pub losses: f64,
    pub timeouts: f64,
    pub end: End,
}

/// Status of a transfer at the end of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Reached,
    NotReached,
}

impl Runs<'_> {
    /// Returns the outcomes of each of `stacks` for the seeds from 1 to `seeds`. Returns `None` if the runs were
    /// interrupted, and an error message if a stack cannot run on the path.
    pub(super) fn of(
        &self,
        stacks: &[StackSpec],
        over: Over,
        seeds: u32,
    ) -> Result<Option<Vec<Vec<SimulatedTransfer>>>, String> {
        let plans: Vec<Plan> = (1..=u64::from(seeds))
            .map(|seed| self.plan(stacks, over, seed))
            .collect::<Result<_, _>>()?;
        let conduct = Conduct {
            execution: self.execution,
            watch: self.progress,
            interrupt: self.interrupt,
        };
        let done = carry_out_all(&plans, &conduct);
        if done.len() < plans.len() * stacks.len() {
            return Ok(None);
        }
        let done: Vec<(usize, SimulatedTransfer)> = { done.iter() }
            .map(|(task, run)| (task.job.stack, self.outcome(run)))
            .collect();
        let of = |n: usize| done.iter().filter(move |(stack, _)| *stack == n);
        let outcomes = (0..stacks.len()).map(|n| of(n).map(|(_, outcome)| *outcome).collect());
        Ok(Some(outcomes.collect()))
    }

    fn plan(&self, stacks: &[StackSpec], over: Over, seed: u64) -> Result<Plan, String> {
        let values = match over {
            Over::Best => Values::best(self.path),
            Over::Drawn => Values::drawn(self.path, seed),
        };
        let mut written = with(self.path, &values, self.captured);
        written.experiment.stacks = stacks.iter().map(ToString::to_string).collect();
        written.experiment.seeds = Seeds::List(vec![seed]);
        let source = Source::of_flags(&written.experiment);
        Plan::with_files(written.experiment, &source, self.catalog, &written.files)
            .map_err(|error| error.to_string())
    }

    fn outcome(&self, run: &Run) -> SimulatedTransfer {
        let value = |measure| run.values.get(measure);
        // The receiver has all data when it sends the last ACK, which arrives half a round trip later.
        let back = self
            .path
            .least_rtt
            .value()
            .unwrap_or_default()
            .as_secs_f64()
            / 2.0;
        let (seconds, end) = match value(Measure::Completion) {
            Some(seconds) => (seconds + back, End::Reached),
            None => (self.limit(), End::NotReached),
        };
        let losses = [Measure::QueueDrops, Measure::LinkLosses];
        SimulatedTransfer {
            seconds,
            losses: losses.into_iter().filter_map(value).sum(),
            timeouts: value(Measure::Timeouts).unwrap_or(0.0),
            end,
        }
    }

    fn limit(&self) -> f64 {
        let limit = time_to_run(self.path);
        StdDuration::from_nanos(limit.as_nanos()).as_secs_f64()
    }
}
