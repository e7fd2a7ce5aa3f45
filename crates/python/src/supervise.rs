//! Supervision of runs. Runs with an algorithm in Python need the interpreter all the time.
//!
//! Runs of stacks in Rust use all threads, without the interpreter's lock ([`attended`]). If an algorithm is in Python,
//! the runs of the experiment are performed one at a time on the calling thread, which keeps the interpreter's lock.
//! Taking the lock for each of millions of calls would cost more than the calls, and all threads would share one lock.
//! Ctrl-C then arrives during a method, as in any Python code, and a debugger stops there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dupack_algorithms::catalog::StackSpec;
use dupack_engine::Execution;
use dupack_lab::run::{GivenUp, Interrupt, Plan};
use pyo3::prelude::*;

use crate::plugin::{is_python, take_fatal};
use crate::watch::{Counts, TICK, attend, attended, lost};

/// Interval at which the calling thread allows other Python threads to run during a simulation, and looks for signals.
const BREATH: Duration = Duration::from_millis(10);

/// Threads on which runs are performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The requested number of threads.
    Threads,
    /// The calling thread, with the interpreter's lock.
    Here,
}

impl Place {
    /// Returns the threads for runs of these stacks.
    pub fn of<'a>(mut stacks: impl Iterator<Item = &'a StackSpec>) -> Self {
        match stacks.any(is_python) {
            true => Self::Here,
            false => Self::Threads,
        }
    }

    /// Returns the threads for the runs of `plan`.
    pub fn of_plan(plan: &Plan) -> Self {
        Self::of(plan.all_stacks())
    }

    /// Returns the execution for `jobs` concurrent runs; 0 stands for one run per processor.
    pub fn execution(self, jobs: usize) -> Execution {
        Execution {
            jobs: match self {
                Self::Here => Some(1),
                Self::Threads => (jobs > 0).then_some(jobs),
            },
        }
    }
}

/// Outcome of supervised work.
#[derive(Debug)]
pub struct Supervised<T> {
    /// Result of the work, which is incomplete if the work was interrupted or runs were given up.
    pub made: T,
    /// Exception that interrupted the work: Ctrl-C, or an exception of `tick`.
    pub by: Option<PyErr>,
    /// Runs that were given up.
    pub given_up: Vec<GivenUp>,
}

/// Performs `work` on `all` runs at `place`. During the work, this thread looks for signals and calls `tick(done, all,
/// notes)`. An exception of either ends the work as soon as possible.
///
/// # Errors
/// If the work panics.
pub fn supervised<T: Send>(
    py: Python<'_>,
    (place, all): (Place, usize),
    tick: Option<Py<PyAny>>,
    work: impl FnOnce(&Counts, &Interrupt) -> T + Send,
) -> PyResult<Supervised<T>> {
    match place {
        Place::Here => here(py, all, tick, work),
        Place::Threads => {
            let (counts, interrupt) = (Counts::of(all), Interrupt::new());
            let ended = attended(py, (&counts, &interrupt), tick.as_ref(), || {
                work(&counts, &interrupt)
            })?;
            Ok(Supervised {
                made: ended.made,
                by: ended.by,
                given_up: interrupt.take_given_up(),
            })
        }
    }
}

fn here<T>(
    py: Python<'_>,
    all: usize,
    tick: Option<Py<PyAny>>,
    work: impl FnOnce(&Counts, &Interrupt) -> T,
) -> PyResult<Supervised<T>> {
    // Discard an exception of earlier work.
    drop(take_fatal());
    let looks = Arc::new(Looks::new(all, tick));
    let asked = Arc::clone(&looks);
    let interrupt = Interrupt::by(move || asked.look());
    let made = catch_unwind(AssertUnwindSafe(|| work(&looks.counts, &interrupt)));
    let made = made.map_err(|_| lost())?;
    let by = looks.take_by().or_else(take_fatal);
    let by = by.or_else(|| attend(py, &looks.counts, looks.tick.as_ref()).err());
    Ok(Supervised {
        made,
        by,
        given_up: interrupt.take_given_up(),
    })
}

/// Looks for signals, and calls `tick`, during a run.
struct Looks {
    counts: Counts,
    tick: Option<Py<PyAny>>,
    /// Times of the last check for signals and of the last call of `tick`.
    last: Mutex<(Instant, Instant)>,
    /// Exception that interrupted the work.
    by: Mutex<Option<PyErr>>,
}

impl Looks {
    #[expect(
        clippy::disallowed_methods,
        reason = "the progress bar and Ctrl-C need real time; no run depends on it"
    )]
    fn new(all: usize, tick: Option<Py<PyAny>>) -> Self {
        let now = Instant::now();
        Self {
            counts: Counts::of(all),
            tick,
            last: Mutex::new((now, now)),
            by: Mutex::new(None),
        }
    }

    /// Returns `true` if the work has to end.
    fn look(&self) -> bool {
        if let Some(fatal) = take_fatal() {
            return self.end(fatal);
        }
        let (looks, ticks) = self.due();
        if !looks {
            return false;
        }
        let attended = Python::attach(|py| {
            py.detach(thread::yield_now);
            attend(py, &self.counts, self.tick.as_ref().filter(|_| ticks))
        });
        attended.is_err_and(|error| self.end(error))
    }

    /// Returns two flags: `true` if a check for signals is due, and `true` if a call of `tick` is due.
    fn due(&self) -> (bool, bool) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (looked, ticked) = *last;
        if looked.elapsed() < BREATH {
            return (false, false);
        }
        let elapsed = looked.elapsed();
        last.0 = looked + elapsed;
        let ticks = ticked.elapsed() >= TICK;
        if ticks {
            last.1 = last.0;
        }
        (true, ticks)
    }

    fn end(&self, by: PyErr) -> bool {
        *self.by.lock().unwrap_or_else(PoisonError::into_inner) = Some(by);
        true
    }

    fn take_by(&self) -> Option<PyErr> {
        self.by
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}
