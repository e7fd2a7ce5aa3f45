//! Ledger of a plan's runs, for callers that perform the runs on other machines or processes: see
//! `python/dupack/_executor.py`.

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

/// A batch: the number of the order, the order, its number of runs, and its approximate cost in packets.
type Batch<'py> = (u64, Bound<'py, PyBytes>, usize, u64);

/// The runs of a plan, and the state of each run: due, assigned to a worker, or finished.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Ledger {
    plan: Plan,
    counts: Counts,
    /// The folder that stores finished runs. `None` without a folder, or after the results are taken.
    begun: Mutex<Option<Begun>>,
    /// `None` after the results are taken.
    deal: Mutex<Option<Deal<Plan>>>,
}

impl Ledger {
    /// Creates a ledger that stores finished runs in `begun`, and does not assign runs that are stored there already.
    /// As a check, the constructor repeats some of the stored runs on the number of threads in `execution`, and calls
    /// `tick` during this check. Also returns the exception that interrupted this check, if any.
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

    /// Calls `of` with the deal, without the interpreter's lock.
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
    /// Returns the next batch: the number of the order, the order, its number of runs, and its approximate cost in
    /// packets. A batch of more than one run has at most `packets` packets, and is at most one of `parts` equal parts
    /// of the work that is due. Returns `None` if no run can be assigned before others are returned, or if all runs are
    /// done.
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

    /// Enters the parcel that `Plan.perform` returned for an order, and returns the number of runs in the parcel.
    /// Returns 0 if the order was entered or given up before. Runs of the order that are missing in the parcel are due
    /// again.
    fn enter(&self, py: Python<'_>, parcel: &[u8]) -> PyResult<usize> {
        match self.with(py, |deal| deal.enter(parcel, &self.counts))? {
            Ok(Entered::Runs(runs)) => Ok(runs),
            Ok(Entered::Before) => Ok(0),
            Err(error) => Err(refused(py, &error)),
        }
    }

    /// Marks the runs of an order as due again, because no parcel will be returned for this order.
    fn give_up(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        self.with(py, |deal| deal.give_up(number))
    }

    /// Returns the number of finished runs, the number of all runs, and the messages since the last call.
    fn told(&self) -> (usize, usize, Vec<String>) {
        self.counts.told()
    }

    /// Closes the ledger. Returns the results, and an error if the results could not be written into the folder.
    /// `failures` are the runs that failed in an algorithm in Python.
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

/// Creates a `WorkerError` for an invalid parcel or order.
pub fn refused(py: Python<'_>, error: &ParcelError) -> PyErr {
    let help = "all workers need the same build of dupack, and the same files";
    let details = [("help", Some(help.to_owned()))];
    exception(py, "WorkerError", &error.to_string(), &details)
}

fn taken(py: Python<'_>) -> PyErr {
    let message = "the results of this ledger have already been taken";
    exception(py, "WorkerError", message, &[])
}
