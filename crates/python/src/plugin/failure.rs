//! Failures of an algorithm: an exception in one of its methods, or an answer of the wrong type.

use std::cell::RefCell;

use dupack_lab::run::{Fault, GivenUp, Plan, Purpose};
use dupack_tcp::time::Instant;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::errors::exception;

/// Reason why a run was given up.
#[derive(Debug)]
pub struct Broken {
    /// Class and method, such as `Half.on_ack`.
    pub place: String,
    /// Simulated time of the failure.
    pub time: Instant,
    /// The exception.
    pub error: PyErr,
}

thread_local! {
    /// An exception that is not a failure of an algorithm, such as Ctrl-C during a method. It ends all runs.
    static FATAL: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

impl Broken {
    /// Gives up the run of this thread. If the exception is not a failure of the algorithm, it ends all runs.
    pub fn give_up(self, py: Python<'_>) {
        if !self.error.is_instance_of::<PyException>(py) {
            FATAL.set(Some(self.error.clone_ref(py)));
        }
        dupack_lab::run::give_up(Box::new(self));
    }
}

/// Takes the exception that ends all runs of this thread, if there is one.
pub fn take_fatal() -> Option<PyErr> {
    FATAL.take()
}

/// Creates the exception for a fact that is read after its call has ended.
pub fn stale(what: &str) -> PyErr {
    Python::attach(|py| {
        let message = format!("this {what} is no longer valid: its call has ended");
        let help = "facts are valid only during the call that received them: keep the numbers, not the facts";
        exception(
            py,
            "AlgorithmError",
            &message,
            &[("help", Some(help.to_owned()))],
        )
    })
}

/// Creates the exception for a plug-in that gave up during the check of a plan. No run of such a plan is possible.
pub fn failed_check(py: Python<'_>, fault: Fault) -> PyErr {
    drop(take_fatal());
    let broken = match fault.downcast::<Broken>() {
        Ok(broken) => broken,
        Err(_) => return exception(py, "AlgorithmError", "an algorithm gave up", &[]),
    };
    if !broken.error.is_instance_of::<PyException>(py) {
        return broken.error;
    }
    let message = format!(
        "{} failed before the first run: {}",
        broken.place, broken.error
    );
    let error = exception(py, "AlgorithmError", &message, &[]);
    error.set_cause(py, Some(broken.error));
    error
}

/// Converts `given_up` to instances of `dupack.Failure`, in the order of points, stacks and seeds. Interrupted runs are
/// left out because they did not fail.
pub fn failures(
    py: Python<'_>,
    plan: Option<&Plan>,
    given_up: Vec<GivenUp>,
) -> PyResult<Vec<Py<PyAny>>> {
    let mut given_up = given_up;
    given_up.sort_by_key(|run| {
        (
            run.job.point,
            run.job.stack,
            run.job.seed,
            run.purpose == Purpose::Harm,
        )
    });
    let mut failures = Vec::new();
    for run in given_up {
        let Ok(broken) = run.fault.downcast::<Broken>() else {
            continue;
        };
        if !broken.error.is_instance_of::<PyException>(py) {
            continue;
        }
        let label = plan.map_or_else(String::new, |plan| plan.label(run.job.point));
        let purpose = match run.purpose {
            Purpose::Comparison => "comparison",
            Purpose::Harm => "harm",
            Purpose::Show => "show",
        };
        let class = py.import("dupack._failures")?.getattr("Failure")?;
        let failure = class.call_method1(
            "of",
            (
                (run.job.point, label, run.stack, run.job.seed, purpose),
                (broken.place, broken.time.as_secs_f64()),
                broken.error.into_value(py),
            ),
        )?;
        failures.push(failure.unbind());
    }
    Ok(failures)
}

/// Returns an error for the first run that was given up. A caller that has no other results uses this function.
///
/// # Errors
/// If a run was given up.
pub fn given_up(py: Python<'_>, given_up: Vec<GivenUp>) -> PyResult<()> {
    let failures = failures(py, None, given_up)?;
    told(py, failures, 0)
}

/// Issues a warning about `failures`.
///
/// # Errors
/// Returns the first failure if there are no other `runs`.
pub fn told(py: Python<'_>, failures: Vec<Py<PyAny>>, runs: usize) -> PyResult<()> {
    if failures.is_empty() {
        return Ok(());
    }
    let module = py.import("dupack._failures")?;
    if runs > 0 {
        module.getattr("warn")?.call1((failures,))?;
        return Ok(());
    }
    Err(PyErr::from_value(
        module.getattr("all_failed")?.call1((failures,))?,
    ))
}
