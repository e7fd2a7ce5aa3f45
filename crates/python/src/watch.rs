//! Long work without the interpreter's lock, with a progress bar and Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dupack_engine::{Amount, Watch};
use dupack_lab::run::Interrupt;
use pyo3::prelude::*;

/// Interval at which the progress bar is updated and Python checks for Ctrl-C.
pub const TICK: Duration = Duration::from_millis(100);

/// Progress of the work.
#[derive(Debug, Default)]
pub struct Counts {
    done: AtomicUsize,
    all: AtomicUsize,
    has_begun: AtomicBool,
    notes: Mutex<Vec<String>>,
}

impl Counts {
    /// Creates a counter for `all` runs, of which none is done.
    pub fn of(all: usize) -> Self {
        Self {
            all: AtomicUsize::new(all),
            ..Self::default()
        }
    }

    /// Counts one more finished run.
    pub fn add(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of finished runs, the number of all runs, and the messages since the last call.
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
    /// The first round sets the number of runs; later rounds add to it.
    fn begins(&self, total: Amount, done: Amount) {
        match self.has_begun.swap(true, Ordering::Relaxed) {
            false => self.all.store(total.runs, Ordering::Relaxed),
            true => drop(self.all.fetch_add(total.runs, Ordering::Relaxed)),
        }
        self.done.fetch_add(done.runs, Ordering::Relaxed);
        if done.runs > 0 {
            self.note(&format!(
                "{} of {} runs are already done",
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

/// Outcome of the work, and the exception that interrupted the work.
#[derive(Debug)]
pub struct Ended<T> {
    /// Result of the work, which is incomplete if the work was interrupted.
    pub made: T,
    /// Exception that interrupted the work: Ctrl-C, or an exception of `tick`.
    pub by: Option<PyErr>,
}

/// Performs `work` on another thread, without the interpreter's lock. During the work, this thread looks for signals
/// and calls `tick(done, all, notes)`. An exception of either requests `interrupt`, and the work ends as soon as
/// possible.
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
                // Sending fails only if the thread that owns the receiver panics.
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

/// Creates the exception for work that has panicked.
pub fn lost() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(
        "internal error in dupack; the results are lost: please report it with the text above",
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
