//! Which runs are to be done, for those who have their own way to do them.

use std::borrow::Borrow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dupack_lab::run as lab;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::plan::Plan;
use crate::results::Results;

impl Borrow<lab::Plan> for Plan {
    fn borrow(&self) -> &lab::Plan {
        &self.0.plan
    }
}

/// Which runs are to be done, and what came out of those that are.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Ledger {
    plan: Plan,
    books: Mutex<Option<lab::Ledger<Plan>>>,
}

impl Ledger {
    /// One in which nothing is done.
    pub fn new(plan: Plan) -> Self {
        Self {
            books: Mutex::new(Some(lab::Ledger::new(plan.clone()))),
            plan,
        }
    }

    fn books(&self) -> MutexGuard<'_, Option<lab::Ledger<Plan>>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Ledger {
    /// The runs that are due, each as text with about how many packets it sends; none when all is
    /// done.
    fn due(&self) -> Vec<(String, u64)> {
        let mut books = self.books();
        let due = books.as_mut().map(lab::Ledger::due).unwrap_or_default();
        let due = due.into_iter().map(|task| {
            let text = serde_json::to_string(&task).expect("it has numbers alone");
            (text, self.plan.0.plan.likely_packets(task))
        });
        due.collect()
    }

    /// Enters what [`Plan::perform`](crate::plan::Plan) gave, here or on another machine.
    fn enter(&self, py: Python<'_>, runs: Vec<String>) -> PyResult<()> {
        let plan = &self.plan.0.plan;
        let mut read = Vec::with_capacity(runs.len());
        for run in runs {
            let run = plan
                .read_run(&run)
                .map_err(|error| exception(py, "WorkerError", &error.to_string(), &[]))?;
            read.push(run);
        }
        if let Some(books) = &mut *self.books() {
            books.enter(read);
        }
        Ok(())
    }

    /// What came out; the ledger is closed.
    fn results(&self, py: Python<'_>) -> PyResult<Results> {
        let books = self.books().take();
        let books = books.ok_or_else(|| {
            exception(
                py,
                "WorkerError",
                "the results of this ledger were taken before",
                &[],
            )
        })?;
        Ok(Results::new(self.plan.clone(), books.results()))
    }
}
