//! Work that takes a while: without the interpreter's lock, with a bar, until it is done or Ctrl-C is
//! pressed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dupack_engine::{Amount, Watch};
use dupack_lab::run::Interrupt;
use pyo3::prelude::*;

/// How often Python is asked whether Ctrl-C was pressed, and the bar is moved.
pub const TICK: Duration = Duration::from_millis(100);

/// How far the work is.
#[derive(Debug, Default)]
pub struct Counts {
    done: AtomicUsize,
    all: AtomicUsize,
    has_begun: AtomicBool,
    notes: Mutex<Vec<String>>,
}

impl Counts {
    /// Nothing is done yet of so much.
    pub fn of(all: usize) -> Self {
        Self {
            all: AtomicUsize::new(all),
            ..Self::default()
        }
    }

    /// One more is done.
    pub fn add(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Done, all, and what was said since this was last asked.
    pub fn told(&self) -> (usize, usize, Vec<String>) {
        let notes = &mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        (
            self.done.load(Ordering::Relaxed),
            self.all.load(Ordering::Relaxed),
            std::mem::take(notes),
        )
    }
}

impl Watch for Counts {
    /// The first round is known when the work begins; others add to it.
    fn begins(&self, total: Amount, done: Amount) {
        match self.has_begun.swap(true, Ordering::Relaxed) {
            false => self.all.store(total.runs, Ordering::Relaxed),
            true => drop(self.all.fetch_add(total.runs, Ordering::Relaxed)),
        }
        self.done.fetch_add(done.runs, Ordering::Relaxed);
        if done.runs > 0 {
            self.note(&format!(
                "{} of {} runs were done before",
                done.runs, total.runs
            ));
        }
    }

    fn run_done(&self, _: u64) {
        self.add();
    }

    fn note(&self, text: &str) {
        let notes = &mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(text.to_owned());
    }
}

/// What became of the work, and of the wish to end it.
#[derive(Debug)]
pub struct Ended<T> {
    /// What it made, which is only a part if it was interrupted.
    pub made: T,
    /// What interrupted it: Ctrl-C, or an exception of `tick`.
    pub by: Option<PyErr>,
}

/// Does `work` on a thread of its own, without the interpreter's lock. Meanwhile this thread looks for
/// signals, and calls `tick(done, all, notes)`; an exception of either asks `interrupt`, and the work
/// ends as soon as it can.
///
/// # Errors
/// If the work panics.
pub fn attended<T: Send>(
    py: Python<'_>,
    (counts, interrupt): (&Counts, &Interrupt),
    tick: Option<&Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<Ended<T>> {
    let (made, by) = py.detach(|| {
        thread::scope(|scope| {
            let (done, wait) = channel();
            let worker = scope.spawn(move || {
                let made = work();
                // Nobody waits any more only if this thread's owner panics.
                let _ = done.send(());
                made
            });
            let mut by = None;
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(TICK) {
                if by.is_some() {
                    continue;
                }
                if let Err(error) = Python::attach(|py| attend(py, counts, tick)) {
                    interrupt.ask();
                    by = Some(error);
                }
            }
            (worker.join(), by)
        })
    });
    let by = match by {
        None => attend(py, counts, tick).err(),
        by => by,
    };
    let made = made.map_err(|_| lost())?;
    Ok(Ended { made, by })
}

/// The exception where the work has panicked.
pub fn lost() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(
        "dupack met a mistake of its own, and what was done is lost; please report it with the text above",
    )
}

/// Looks for signals, and calls `tick(done, all, notes)`.
pub fn attend(py: Python<'_>, counts: &Counts, tick: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let Some(tick) = tick else {
        return Ok(());
    };
    tick.call1(py, counts.told())?;
    Ok(())
}
