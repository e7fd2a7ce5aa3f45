//! Work on runs, some of which may need the interpreter all the time.
//!
//! Runs of stacks that are Rust alone are done on all threads, without the interpreter's lock
//! ([`attended`]). Where an algorithm is in Python, all runs of the experiment are done on the thread that
//! asked for them, one at a time, and the interpreter stays attached to it: taking its lock for each of
//! millions of calls would cost more than the calls, and there is one lock for all threads. Ctrl-C then
//! arrives in the middle of a method, as in any Python code, and a debugger stops there.

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

/// How often other threads of Python may run while this one simulates, and signals are looked for.
const BREATH: Duration = Duration::from_millis(10);

/// Where runs are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On as many threads as are asked for.
    Threads,
    /// On the thread that asks, with the interpreter.
    Here,
}

impl Place {
    /// Where runs of these stacks are done.
    pub fn of<'a>(mut stacks: impl Iterator<Item = &'a StackSpec>) -> Self {
        match stacks.any(is_python) {
            true => Self::Here,
            false => Self::Threads,
        }
    }

    /// Where the runs of `plan` are done.
    pub fn of_plan(plan: &Plan) -> Self {
        Self::of(plan.all_stacks())
    }

    /// How runs are done of which `jobs` at a time are asked for; 0 is one per processor.
    pub fn execution(self, jobs: usize) -> Execution {
        Execution {
            jobs: match self {
                Self::Here => Some(1),
                Self::Threads => (jobs > 0).then_some(jobs),
            },
        }
    }
}

/// What became of work on runs.
#[derive(Debug)]
pub struct Supervised<T> {
    /// What it made, which is only a part if it was interrupted or runs were given up.
    pub made: T,
    /// What interrupted it: Ctrl-C, or an exception of `tick`.
    pub by: Option<PyErr>,
    /// The runs that were given up.
    pub given_up: Vec<GivenUp>,
}

/// Does `work` on `all` runs at `place`, and looks for signals and calls `tick(done, all, notes)`
/// meanwhile; an exception of either ends it as soon as it can.
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
    // What an earlier work left behind is none of this one's.
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

/// Looks at the world from the middle of a run.
struct Looks {
    counts: Counts,
    tick: Option<Py<PyAny>>,
    /// When it last looked, and when it last called `tick`.
    last: Mutex<(Instant, Instant)>,
    /// What interrupted the work.
    by: Mutex<Option<PyErr>>,
}

impl Looks {
    #[expect(
        clippy::disallowed_methods,
        reason = "a bar moves and a key is pressed in real time; no run sees it"
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

    /// Whether the work is to end.
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

    /// Whether it is time to look, and to call `tick`.
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
