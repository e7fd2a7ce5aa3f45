//! Distribution of a plan's runs in batches to external workers.
//!
//! [`Deal::order`] returns the next batch, and [`Deal::enter`] takes the results of a batch, in any order. Runs that
//! were ordered and did not return are dealt again, and no run is entered twice. Finished runs are kept and found again
//! as in a single process. The results are identical to the last bit.

use std::borrow::Borrow;

use dupack_lab::results::Results;
use dupack_lab::run::Plan;

use crate::batch::{BatchSize, Entered, Order};
use crate::journal::Done;
use crate::ledger::{Ledger, Made, PlanRuns};
use crate::parcel::{ParcelError, read_parcel};
use crate::session::{Keeping, Session};
use crate::set::Conduct;
use crate::watch::Watch;

/// Runs of a plan that are performed elsewhere.
#[derive(Debug)]
pub struct Deal<P: Borrow<Plan> + Clone + Send + Sync> {
    session: Session<PlanRuns<P>, Ledger<P>>,
}

impl<P: Borrow<Plan> + Clone + Send + Sync> Deal<P> {
    /// Begins with the first round of `plan`. Samples of held runs are performed here, as `conduct` says.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[must_use]
    pub fn new(plan: P, keeping: Keeping, conduct: &Conduct<'_>) -> Self {
        let runs = PlanRuns(plan.clone());
        let mut session = Session::new(runs.clone(), Ledger::new(plan), keeping);
        session.next_round(&runs, conduct);
        Self { session }
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.session.set.0.borrow()
    }

    /// Estimates the cost of the runs that are due and not out, in packets. With a precision there may be more later.
    #[must_use]
    pub const fn due_packets(&self) -> u64 {
        self.session.due_packets()
    }

    /// Returns the next batch of at least one run with its estimated cost in packets. Returns `None` if all runs are
    /// done, or if the next round needs runs that are out.
    pub fn order(&mut self, size: BatchSize, watch: &dyn Watch) -> Option<(Order, u64)> {
        let runs = self.session.set.clone();
        self.session.order(size, &runs, watch)
    }

    /// Enters the outcomes of an order, as written by [`parcel::write`](crate::parcel::write).
    ///
    /// # Errors
    /// If the parcel is invalid for this plan, or has runs that do not belong to its order. The order then stays out.
    pub fn enter(&mut self, parcel: &[u8], watch: &dyn Watch) -> Result<Entered, ParcelError> {
        let (number, done) = read_parcel(self.plan(), parcel)?;
        match self.session.is_of_order(number, done.tasks()) {
            None => return Ok(Entered::Before),
            Some(false) => return Err(ParcelError::Experiment),
            Some(true) => {}
        }
        let runs = done.runs.into_iter();
        let made = runs.map(|(task, run)| (task, Made::Run(Box::new(Done { run, cpu: None }))));
        let made = made.collect();
        Ok(self.session.enter(number, made, &done.given_up, watch))
    }

    /// Makes the runs of the order `number` due again, because it will not return.
    pub fn give_up(&mut self, number: u64) {
        self.session.give_up(number);
    }

    /// Returns the results. Runs that were not entered are missing.
    #[must_use]
    pub fn results(self) -> Results {
        self.session.books.evidence.results()
    }
}

#[cfg(test)]
mod tests;
