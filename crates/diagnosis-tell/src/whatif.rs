//! Prediction of the time that another sender would have taken for the same transfer on the same path.
//!
//! The path that was inferred from one sender's packets may differ from the path for another sender. For example, other
//! flows may reduce their rates. Therefore, the captured sender is first simulated on the path ([`WhatIf::gate`]). If
//! the simulation differs from the capture, no prediction is made. Only a transfer that has passed this gate has
//! predictions for other senders ([`Passed::ask`]).
//!
//! If the captured sender may be one of several, each of them is simulated. A prediction is based on all senders that
//! behave like the captured one, weighted by their likelihood.
//!
//! Every number of the path has a confidence interval. A stack is run on the best estimate of the path, and these runs
//! show the effect of chance. It is also run on paths that are drawn from the intervals, and these runs also show the
//! effect of the path's uncertainty. All stacks with the same seed have the same path and the same random events. The
//! ratio of the captured duration to the simulated durations of the captured sender gives additional information about
//! the path.
//!
//! If the captured connection has turns, the simulated connections also have turns: the answers have the same sizes,
//! and each answer follows the acknowledgment of all previous data after the same time as in the capture. Single
//! answers are predicted separately ([`Replies`]).

mod answer;
pub mod course;
mod estimate;
mod gate;
mod replies;
mod runs;
#[cfg(test)]
mod tests;
pub mod values;

use dupack_algorithms::catalog::{Catalog, Deployment, Dialect, StackSpec};
use dupack_engine::{Execution, Watch};
use dupack_lab::run::Interrupt;

pub use answer::{Answer, Gain, Offer, Role};
pub use estimate::Estimate;
pub use gate::{Bound, Checked, Gate, Passed, Quantity, Reason, Simulated};

pub use replies::{Replies, Reply};

use crate::experiment::Captured;
use dupack_diagnosis::path::Path;
use runs::Runs;

/// Number of seeds, the usual number for experiments. If the durations have a standard deviation of 20 %, the mean is
/// known to about 10 %.
pub const SEEDS: u32 = 20;

/// Question about one transfer of a capture.
#[derive(Clone, Debug)]
pub struct WhatIf<'a> {
    path: &'a Path,
    captured: &'a [Captured],
    catalog: &'a Catalog,
    /// `true` if the capture identifies the sender. If it is `false`, the captured sender may differ from the simulated
    /// sender, even if only one simulated sender behaves like it.
    pub is_named: bool,
    /// Number of seeds.
    pub seeds: u32,
    /// Settings for concurrent runs.
    pub execution: Execution,
}

impl<'a> WhatIf<'a> {
    /// Creates a question about the transfer on `path` by the sender `captured`. `catalog` contains the stack of the
    /// sender.
    #[must_use]
    pub fn new(path: &'a Path, captured: &'a Captured, catalog: &'a Catalog) -> Self {
        Self::of_any(path, std::slice::from_ref(captured), catalog)
    }

    /// Creates a question about the transfer on `path` by one of the senders `captured`, which are ordered by
    /// likelihood.
    #[must_use]
    pub fn of_any(path: &'a Path, captured: &'a [Captured], catalog: &'a Catalog) -> Self {
        Self {
            path,
            captured,
            catalog,
            is_named: true,
            seeds: SEEDS,
            execution: Execution::default(),
        }
    }

    /// Simulates the senders that may have been captured, and compares each simulation with the capture.
    #[must_use]
    pub fn gate(&self, progress: &dyn Watch, interrupt: &Interrupt) -> Gate<'a> {
        gate::gate(self, progress, interrupt)
    }

    fn simulation<'b>(
        &'b self,
        captured: &'b Captured,
        progress: &'b dyn Watch,
        interrupt: &'b Interrupt,
    ) -> Runs<'b> {
        Runs {
            path: self.path,
            captured,
            catalog: self.catalog,
            execution: self.execution,
            progress,
            interrupt,
        }
    }
}

/// Returns the stacks for which durations are predicted by default: all stacks of `catalog` that Linux supports with
/// SACK. Stacks that need ECN marking queues are excluded, because they are not meant for the Internet (RFC 8257).
#[must_use]
pub fn usual_stacks(catalog: &Catalog) -> Vec<StackSpec> {
    let has_sack = |stack: &StackSpec| {
        let commands = Deployment::of(stack).commands();
        !commands.iter().any(|command| command.contains(SACK_OFF))
    };
    let usual = |stack: &StackSpec| has_sack(stack) && !stack.needs(LINUX).exact_echo;
    catalog.deployable().into_iter().filter(usual).collect()
}

/// Setting that turns SACK off in Linux, which is not useful on any path.
const SACK_OFF: &str = "tcp_sack=0";

/// Dialect of the stacks that Linux supports.
pub const LINUX: Dialect = Dialect::Linux;
