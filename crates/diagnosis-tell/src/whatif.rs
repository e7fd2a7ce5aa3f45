//! What another sender would have taken for the same transfer on the same path.
//!
//! A path that was read off one sender's packets need not be the path that another would find: what the
//! capture does not show, such as other flows that give way, is not in it. So first the captured sender is
//! simulated on it ([`WhatIf::gate`]), and where it does not do what it did in the capture nothing is asked.
//! Only what has passed can be asked of others ([`Passed::ask`]).
//!
//! Where a capture does not tell which of several senders it was, each is simulated, and what is asked rests on
//! all that do what it did, the likelier the more.
//!
//! Every number of the path has its interval. A stack is run on the path's best guesses, which tell what
//! chance alone makes of it, and on paths drawn from the intervals, which tell what the uncertainty of the path
//! adds; all stacks of a seed meet the same path and the same chance. How long the captured sender took beside its
//! own simulations tells of the path, too.
//!
//! Where the captured connection has turns, the simulated ones have them, too: answers of the same sizes, each as long after
//! everything before was acknowledged as in the capture. What another sender makes of single answers is told beside ([`Replies`]).

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

/// So many seeds (the usual of experiments here): the mean of a spread of 20 % is known to 10 %.
pub const SEEDS: u32 = 20;

/// A question about one transfer of a capture.
#[derive(Clone, Debug)]
pub struct WhatIf<'a> {
    path: &'a Path,
    captured: &'a [Captured],
    catalog: &'a Catalog,
    /// `true` if the capture tells the sender: otherwise even the only one that does what it did is not known to be it.
    pub is_named: bool,
    /// How many seeds there are.
    pub seeds: u32,
    /// How many runs at a time.
    pub execution: Execution,
}

impl<'a> WhatIf<'a> {
    /// Of the transfer on `path` by the sender `captured`, whose stack is of `catalog`.
    #[must_use]
    pub fn new(path: &'a Path, captured: &'a Captured, catalog: &'a Catalog) -> Self {
        Self::of_any(path, std::slice::from_ref(captured), catalog)
    }

    /// Of the transfer on `path` by one of the senders `captured`, the likeliest first.
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

    /// Whether one of the senders that may have been captured, simulated on the path, does what it did.
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

/// The stacks that are asked if nobody names any: all of `catalog` that Linux has with SACK, where the captured sender
/// keeps Linux's rules, which are those it would have. What takes queues that mark is no sender for the Internet (RFC 8257).
#[must_use]
pub fn usual_stacks(catalog: &Catalog) -> Vec<StackSpec> {
    let has_sack = |stack: &StackSpec| {
        let commands = Deployment::of(stack).commands();
        !commands.iter().any(|command| command.contains(SACK_OFF))
    };
    let usual = |stack: &StackSpec| has_sack(stack) && !stack.needs(LINUX).exact_echo;
    catalog.deployable().into_iter().filter(usual).collect()
}

/// The setting that turns SACK off in Linux: no path is helped by it.
const SACK_OFF: &str = "tcp_sack=0";

/// The rules by which stacks are asked that Linux has.
pub const LINUX: Dialect = Dialect::Linux;
