//! Prediction of the time that another sender would have taken for the same transfer on the same path.
//!
//! A path that was inferred from one sender's packets need not be the path that another sender would find: the capture
//! does not show everything, such as other flows that give way. Therefore the captured sender is simulated on the path
//! first ([`WhatIf::gate`]). If it does not behave as it did in the capture, there is no prediction. Only a transfer
//! that has passed this gate can be asked about other senders ([`Passed::ask`]).
//!
//! If the captured sender may be one of several, each of them is simulated. A prediction is based on all senders that
//! behave as the captured one did, weighted by their likelihood.
//!
//! Every number of the path has its interval. A stack is run on the best estimate of the path, which shows the effect
//! of chance alone, and on paths drawn from the intervals, which adds the effect of the path's uncertainty. All stacks
//! of a seed have the same path and the same chance. The ratio of the captured duration to those of its own simulations
//! also describes the path.
//!
//! If the captured connection has turns, so do the simulated ones: answers of the same sizes, each as long after the
//! acknowledgment of everything before as in the capture. Single answers are predicted separately ([`Replies`]).

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

/// Number of seeds (as usual for experiments here): with a spread of 20 %, the mean is known to 10 %.
pub const SEEDS: u32 = 20;

/// Question about one transfer of a capture.
#[derive(Clone, Debug)]
pub struct WhatIf<'a> {
    path: &'a Path,
    captured: &'a [Captured],
    catalog: &'a Catalog,
    /// `true` if the capture names the sender. Otherwise a sender may not be the captured one even if it alone behaves
    /// like it.
    pub is_named: bool,
    /// Number of seeds.
    pub seeds: u32,
    /// Number of concurrent runs.
    pub execution: Execution,
}

impl<'a> WhatIf<'a> {
    /// Creates a question about the transfer on `path` by the sender `captured`, whose stack is in `catalog`.
    #[must_use]
    pub fn new(path: &'a Path, captured: &'a Captured, catalog: &'a Catalog) -> Self {
        Self::of_any(path, std::slice::from_ref(captured), catalog)
    }

    /// Creates a question about the transfer on `path` by one of the senders `captured`, the likeliest first.
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

    /// Simulates the senders that may have been captured, and compares each with the capture.
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

/// Returns the stacks that are asked about by default: all of `catalog` that Linux has with SACK, under Linux's rules.
/// Stacks that need queues with marking are excluded, because they are not meant for the Internet (RFC 8257).
#[must_use]
pub fn usual_stacks(catalog: &Catalog) -> Vec<StackSpec> {
    let has_sack = |stack: &StackSpec| {
        let commands = Deployment::of(stack).commands();
        !commands.iter().any(|command| command.contains(SACK_OFF))
    };
    let usual = |stack: &StackSpec| has_sack(stack) && !stack.needs(LINUX).exact_echo;
    catalog.deployable().into_iter().filter(usual).collect()
}

/// Setting that turns SACK off in Linux: it helps on no path.
const SACK_OFF: &str = "tcp_sack=0";

/// Dialect of the stacks that Linux has.
pub const LINUX: Dialect = Dialect::Linux;
