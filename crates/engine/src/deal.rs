//! Distribution of a plan's runs in batches to external workers.
//!
//! [`Deal::order`] returns the next batch, and [`Deal::enter`] takes the results of batches in any order. Runs without
//! a result are given out again once their order is [given up](Deal::give_up), and no run is entered twice. As in a
//! single process, finished runs are stored in journals and are not repeated. The results are the same as those of a
//! single process, to the last bit.

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

/// Runs of a plan that external workers perform.
#[derive(Debug)]
pub struct Deal<P: Borrow<Plan> + Clone + Send + Sync> {
    session: Session<PlanRuns<P>, Ledger<P>>,
}

impl<P: Borrow<Plan> + Clone + Send + Sync> Deal<P> {
    /// Starts the first round of `plan`. Samples of the runs found in journals are repeated in this process, according
    /// to `conduct`.
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

    /// Returns the estimated cost in packets of the due runs, without outstanding orders. If the experiment specifies a
    /// precision, runs may be added later.
    #[must_use]
    pub const fn due_packets(&self) -> u64 {
        self.session.due_packets()
    }

    /// Returns the next batch, which has at least one run, and its estimated cost in packets. Returns `None` if all
    /// runs are done, or if the next round needs the results of outstanding orders.
    pub fn order(&mut self, size: BatchSize, watch: &dyn Watch) -> Option<(Order, u64)> {
        let runs = self.session.set.clone();
        self.session.order(size, &runs, watch)
    }

    /// Enters the outcomes of an order, as written by [`parcel::write`](crate::parcel::write).
    ///
    /// # Errors
    /// If the parcel is invalid for this plan, or has runs that do not belong to its order. The order then stays
    /// outstanding.
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

    /// Makes the runs of the order `number` due again, because no result will arrive.
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
