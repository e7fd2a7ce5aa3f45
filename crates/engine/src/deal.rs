//! The runs of a plan, dealt out in batches to whoever has processors, wherever they are.
//!
//! [`Deal::order`] returns the next batch, [`Deal::enter`] takes what came of one, in any order. Runs that were ordered and did
//! not come back are dealt out again, and nothing is entered twice. Finished runs are kept, and found again, as in one
//! process. The results are the same to the last bit.

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

/// The runs of a plan while others perform them.
#[derive(Debug)]
pub struct Deal<P: Borrow<Plan> + Clone + Send + Sync> {
    session: Session<PlanRuns<P>, Ledger<P>>,
}

impl<P: Borrow<Plan> + Clone + Send + Sync> Deal<P> {
    /// Begins with the first round of `plan`. Samples of the runs that were kept are performed here, as `conduct` says.
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

    /// Returns about what is due and not out costs, in packets. With a precision there may be more to come.
    #[must_use]
    pub const fn due_packets(&self) -> u64 {
        self.session.due_packets()
    }

    /// Returns the next batch, and about what it costs, in packets: at least one run. `None` if there is nothing to
    /// give out before what is out comes back, and if all is done.
    pub fn order(&mut self, size: BatchSize, watch: &dyn Watch) -> Option<(Order, u64)> {
        let runs = self.session.set.clone();
        self.session.order(size, &runs, watch)
    }

    /// Enters what [`parcel::write`](crate::parcel::write) made of an order.
    ///
    /// # Errors
    /// If it is no parcel of this plan's runs, or has runs that were not ordered with it. It is still out
    /// then.
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

    /// Makes the runs of the order with that number due again: it will not come back.
    pub fn give_up(&mut self, number: u64) {
        self.session.give_up(number);
    }

    /// Returns what came out; some runs are missing if not all were entered.
    #[must_use]
    pub fn results(self) -> Results {
        self.session.books.evidence.results()
    }
}

#[cfg(test)]
mod tests;
