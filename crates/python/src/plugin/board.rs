//! Scoreboard and round-trip times. A method may read them only during its call.
//!
//! Nothing is copied. The sender lends the scoreboard and the round-trip times for the duration of a call, in
//! thread-local variables ([`lent`]). The Python objects hold only the number of the call: they read the lent objects
//! while that call is in progress, and raise an exception otherwise.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use dupack_tcp::facts::View;
use dupack_tcp::rtt;
use dupack_tcp::scoreboard::{self, SegmentId};
use pyo3::prelude::*;
use scoped_tls::scoped_thread_local;

use super::failure::stale;
use super::values::{RttEstimator, Segment};

scoped_thread_local!(
    /// Scoreboard of the sender whose call is in progress.
    static BOARD: scoreboard::Scoreboard
);
scoped_thread_local!(
    /// Round-trip times of the sender whose call is in progress.
    static RTT: rtt::RttEstimator
);

thread_local! {
    /// Number of the call in progress; 0 if there is none.
    static CALL: Cell<u64> = const { Cell::new(0) };
}

/// Number of the next call.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Unique number of a method call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call(pub u64);

impl Call {
    /// Returns a new, unique number.
    pub fn new() -> Self {
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Guard that restores the number of the outer call when an inner call ends, also after a panic.
struct Before(u64);

impl Drop for Before {
    fn drop(&mut self) {
        CALL.set(self.0);
    }
}

/// Runs `work` as part of the call `call`, and lends it the contents of `view`.
pub fn lent<T>(call: Call, view: &View<'_>, work: impl FnOnce() -> T) -> T {
    let _before = Before(CALL.replace(call.0));
    BOARD.set(view.scoreboard, || RTT.set(view.rtt, work))
}

/// Returns a copy of the round-trip times if `call` is in progress.
pub fn round_trips(call: Call) -> PyResult<RttEstimator> {
    if CALL.get() != call.0 || !RTT.is_set() {
        return Err(stale("View"));
    }
    Ok(RTT.with(RttEstimator::of))
}

/// The outstanding segments.
#[pyclass(frozen, freelist = 16, module = "dupack._native")]
#[derive(Debug)]
pub struct Scoreboard {
    call: Call,
}

impl Scoreboard {
    /// Creates the scoreboard object for `call`.
    pub const fn of(call: Call) -> Self {
        Self { call }
    }

    /// Returns the result of `ask` for the scoreboard if the call is in progress.
    fn ask<T>(&self, ask: impl FnOnce(&scoreboard::Scoreboard) -> T) -> PyResult<T> {
        if CALL.get() != self.call.0 || !BOARD.is_set() {
            return Err(stale("Scoreboard"));
        }
        Ok(BOARD.with(ask))
    }
}

#[pymethods]
impl Scoreboard {
    #[getter]
    fn una(&self) -> PyResult<u64> {
        self.ask(scoreboard::Scoreboard::una)
    }

    #[getter]
    fn nxt(&self) -> PyResult<u64> {
        self.ask(scoreboard::Scoreboard::nxt)
    }

    #[getter]
    fn flight_size(&self) -> PyResult<u64> {
        self.ask(scoreboard::Scoreboard::flight_size)
    }

    #[getter]
    fn forward_ack(&self) -> PyResult<u64> {
        self.ask(scoreboard::Scoreboard::forward_ack)
    }

    #[getter]
    fn sacked_bytes(&self) -> PyResult<u64> {
        self.ask(scoreboard::Scoreboard::sacked_bytes)
    }

    #[getter]
    fn sacked_segments(&self) -> PyResult<u64> {
        self.ask(scoreboard::Scoreboard::sacked_segments)
    }

    #[getter]
    fn first(&self) -> PyResult<u64> {
        self.ask(|board| board.first().0)
    }

    #[getter]
    fn end(&self) -> PyResult<u64> {
        self.ask(|board| board.end().0)
    }

    #[getter]
    fn is_empty(&self) -> PyResult<bool> {
        self.ask(scoreboard::Scoreboard::is_empty)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.ask(scoreboard::Scoreboard::len)
    }

    /// Returns the segment with this id, if it is outstanding.
    fn get(&self, id: u64) -> PyResult<Option<Segment>> {
        self.ask(|board| board.get(SegmentId(id)).map(|segment| Segment(*segment)))
    }

    /// Iterates over outstanding segments and their ids in sequence order, starting at `id`.
    fn iter_from(&self, id: u64) -> PyResult<SegmentIterator> {
        let first = self.ask(|board| board.first().0.max(id))?;
        Ok(SegmentIterator {
            board: Self { call: self.call },
            next: AtomicU64::new(first),
        })
    }

    fn __iter__(&self) -> PyResult<SegmentIterator> {
        self.iter_from(0)
    }

    /// Returns the id of the first outstanding segment that starts at or after `offset`. If there is none, returns the
    /// id after the last outstanding segment.
    fn id_at(&self, offset: u64) -> PyResult<u64> {
        self.ask(|board| board.id_at(offset).0)
    }

    /// Returns the number of consecutive missing segments from `offset` to the next sacked segment; 1 if no segment
    /// after `offset` is sacked.
    fn hole(&self, offset: u64) -> PyResult<u32> {
        self.ask(|board| board.hole(offset))
    }

    fn __repr__(&self) -> String {
        let words = self.ask(|board| {
            format!(
                "<Scoreboard: {} segments, {} of them sacked>",
                board.len(),
                board.sacked_segments(),
            )
        });
        words.unwrap_or_else(|_| "<Scoreboard of a call that has ended>".to_owned())
    }
}

/// Iterator over segments.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct SegmentIterator {
    board: Scoreboard,
    next: AtomicU64,
}

#[pymethods]
impl SegmentIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self) -> PyResult<Option<(u64, Segment)>> {
        let id = self.next.load(Ordering::Relaxed);
        let segment = self.board.get(id)?;
        if segment.is_some() {
            self.next.store(id + 1, Ordering::Relaxed);
        }
        Ok(segment.map(|segment| (id, segment)))
    }
}
