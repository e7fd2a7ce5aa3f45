//! The runs of a plan, for those who have their own way to do them: `python/dupack/_executor.py`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dupack_engine::store::Begun;
use dupack_engine::{BatchSize, Conduct, Deal, Entered, Execution, Keeping, ParcelError};
use dupack_lab::run::Interrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::exception;
use crate::plan::Plan;
use crate::results::Results;
use crate::watch::{Counts, attended};

/// The number of an order, the order, how many runs it is for, and about what they cost.
type Batch<'py> = (u64, Bound<'py, PyBytes>, usize, u64);

/// What is still to be done, what is out, and what came of the rest.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Ledger {
    plan: Plan,
    counts: Counts,
    /// Where the finished runs are kept; nothing when the results are taken.
    begun: Mutex<Option<Begun>>,
    /// Nothing when the results are taken.
    deal: Mutex<Option<Deal<Plan>>>,
}

impl Ledger {
    /// One that keeps finished runs where they were `begun`, and gives out none of those that are there. It
    /// does some of them again, on as many threads as `execution` says; meanwhile `tick` is called. Gives the
    /// exception that interrupted that, too, or nothing.
    pub fn new(
        py: Python<'_>,
        plan: Plan,
        begun: Option<Begun>,
        execution: Execution,
        tick: Option<&Py<PyAny>>,
    ) -> PyResult<(Self, Option<PyErr>)> {
        let (counts, interrupt) = (Counts::of(plan.0.plan.work()), Interrupt::new());
        let keeping = match &begun {
            None => Keeping::nowhere(),
            Some(begun) => Keeping::within(Arc::clone(&begun.journal)),
        };
        let make = || {
            let conduct = Conduct {
                execution,
                watch: &counts,
                interrupt: &interrupt,
            };
            Deal::new(plan.clone(), keeping, &conduct)
        };
        let ended = attended(py, (&counts, &interrupt), tick, make)?;
        let this = Self {
            deal: Mutex::new(Some(ended.made)),
            plan,
            counts,
            begun: Mutex::new(begun),
        };
        Ok((this, ended.by))
    }

    fn deal(&self) -> MutexGuard<'_, Option<Deal<Plan>>> {
        self.deal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `of` makes of the deal, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        of: impl FnOnce(&mut Deal<Plan>) -> T + Send,
    ) -> PyResult<T> {
        let made = py.detach(|| self.deal().as_mut().map(of));
        made.ok_or_else(|| taken(py))
    }
}

#[pymethods]
impl Ledger {
    /// The next batch: the number of the order, the order, how many runs it is for, and about what they
    /// cost. If it is more than one run, that is at most `packets`, and at most one of so many `parts` of what
    /// is due. Nothing if none can be given out before others come back, or all is done.
    fn order<'py>(
        &self,
        py: Python<'py>,
        packets: u64,
        runs_max: usize,
        parts: u64,
    ) -> PyResult<Option<Batch<'py>>> {
        let size = BatchSize {
            packets,
            runs_max,
            parts,
        };
        let order = self.with(py, |deal| deal.order(size, &self.counts))?;
        Ok(order.map(|(order, cost)| {
            let bytes = PyBytes::new(py, &order.to_bytes());
            (order.number, bytes, order.tasks.len(), cost)
        }))
    }

    /// Enters what `Plan.perform` made of an order, and gives how many runs that were; 0 where it was
    /// entered before, or given up. Runs of that order which are not in it are due again.
    fn enter(&self, py: Python<'_>, parcel: &[u8]) -> PyResult<usize> {
        match self.with(py, |deal| deal.enter(parcel, &self.counts))? {
            Ok(Entered::Runs(runs)) => Ok(runs),
            Ok(Entered::Before) => Ok(0),
            Err(error) => Err(refused(py, &error)),
        }
    }

    /// What was ordered with that number does not come back: it is due again.
    fn give_up(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        self.with(py, |deal| deal.give_up(number))
    }

    /// How many runs are done, how many there are, and what there is to say since this was last asked.
    fn told(&self) -> (usize, usize, Vec<String>) {
        self.counts.told()
    }

    /// What came out, which is written into the folder if there is one, and what hindered that. `failures` are
    /// the runs that an algorithm in Python has ended. The ledger is closed.
    fn results(
        &self,
        py: Python<'_>,
        failures: Vec<Py<PyAny>>,
    ) -> PyResult<(Results, Option<PyErr>)> {
        let deal = self.deal().take().ok_or_else(|| taken(py))?;
        let results = py.detach(|| deal.results());
        let results = Results::new(self.plan.clone(), results).without(py, failures)?;
        let begun = { self.begun.lock() }
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let hindered = begun.and_then(|begun| results.deliver(py, begun).err());
        let hindered = results.check_any(py).err().or(hindered);
        Ok((results, hindered))
    }
}

/// What was sent here cannot be used.
pub fn refused(py: Python<'_>, error: &ParcelError) -> PyErr {
    let help = "all workers take the same build of dupack, and the same files";
    let details = [("help", Some(help.to_owned()))];
    exception(py, "WorkerError", &error.to_string(), &details)
}

fn taken(py: Python<'_>) -> PyErr {
    let message = "the results of this ledger were taken before";
    exception(py, "WorkerError", message, &[])
}
