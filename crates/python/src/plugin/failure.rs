//! An algorithm that failed: an exception in one of its methods, or an answer of a wrong kind.

use std::cell::RefCell;

use dupack_lab::run::{Fault, GivenUp, Plan, Purpose};
use dupack_tcp::time::Instant;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::errors::exception;

/// Why a run was given up.
#[derive(Debug)]
pub struct Broken {
    /// Where: `Half.on_ack`.
    pub place: String,
    /// In simulated time.
    pub time: Instant,
    /// What was raised.
    pub error: PyErr,
}

thread_local! {
    /// An exception that is no failure of an algorithm, such as Ctrl-C in the middle of it: it ends all.
    static FATAL: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

impl Broken {
    /// Gives up the run of this thread. What is no failure of the algorithm ends all runs.
    pub fn give_up(self, py: Python<'_>) {
        if !self.error.is_instance_of::<PyException>(py) {
            FATAL.set(Some(self.error.clone_ref(py)));
        }
        dupack_lab::run::give_up(Box::new(self));
    }
}

/// The exception on this thread that ends all runs, if there was one.
pub fn take_fatal() -> Option<PyErr> {
    FATAL.take()
}

/// The exception for a fact that is asked after its call.
pub fn stale(what: &str) -> PyErr {
    Python::attach(|py| {
        let message = format!("this {what} is of a call that is over");
        let help = "facts are valid while the method runs that they were given to: keep the numbers, not the facts";
        exception(
            py,
            "AlgorithmError",
            &message,
            &[("help", Some(help.to_owned()))],
        )
    })
}

/// What a plug-in said that gave up when a plan was checked, as an exception: nothing of the plan can be
/// run.
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

/// `given_up` as instances of `dupack.Failure`, in the order of points, stacks and seeds. Those that were
/// interrupted are left out: they did not fail.
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

/// The first of the runs that were given up, as an exception, where nothing came out without them.
///
/// # Errors
/// If there is one.
pub fn given_up(py: Python<'_>, given_up: Vec<GivenUp>) -> PyResult<()> {
    let failures = failures(py, None, given_up)?;
    told(py, failures, 0)
}

/// Warns of `failures`.
///
/// # Errors
/// If there are some, and no `runs` beside them: what the first one says.
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
