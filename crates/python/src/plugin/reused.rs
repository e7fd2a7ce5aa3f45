//! Arguments that are made once and filled again for each call.
//!
//! A view that a method has kept must not turn into that of a later call. What Python still holds after a
//! call, as its count of references tells, is therefore left to it, dead, and new arguments are made for
//! the next call. What nobody kept is filled again.

use std::cell::Cell;
use std::fmt;

use dupack_tcp::facts;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::board::{Call, lent};
use super::facts::{AckFacts, Credit, Departure, Fact, Sent, View};

/// The facts of a signature, in its order.
pub trait Facts: Sized {
    /// New ones, and the tuple that Python is called with.
    fn make(py: Python<'_>) -> PyResult<(Py<PyTuple>, Self)>;

    /// The call is over.
    fn end(&self);

    /// Whether somebody else holds one of them.
    fn are_kept(&self, py: Python<'_>) -> bool;
}

/// How many references there are to an object.
#[expect(
    deprecated,
    reason = "what replaces it is unsafe to call; without it each call would make its arguments anew"
)]
fn references<T>(object: &Py<T>, py: Python<'_>) -> isize {
    object.get_refcnt(py)
}

macro_rules! signature {
    ($($name:ident: $class:ident),+) => {
        impl Facts for ($(Py<$class>,)+) {
            fn make(py: Python<'_>) -> PyResult<(Py<PyTuple>, Self)> {
                $(let $name = Py::new(py, $class::default())?;)+
                let tuple = PyTuple::new(py, [$($name.bind(py).as_any()),+])?;
                Ok((tuple.unbind(), ($($name,)+)))
            }

            fn end(&self) {
                let ($($name,)+) = self;
                $($name.get().end();)+
            }

            fn are_kept(&self, py: Python<'_>) -> bool {
                let ($($name,)+) = self;
                // One reference is here, one in the tuple.
                $(references($name, py) > 2)||+
            }
        }
    };
}

signature!(view: View);
signature!(ack: AckFacts, view: View);
signature!(ack: AckFacts, credit: Credit, view: View);
signature!(sent: Sent, view: View);
signature!(sent: Sent, departure: Departure, view: View);

/// The arguments of one method.
pub struct Reused<F> {
    held: Cell<Option<(Py<PyTuple>, F)>>,
}

impl<F> Default for Reused<F> {
    fn default() -> Self {
        let held = Cell::new(None);
        Self { held }
    }
}

impl<F> fmt::Debug for Reused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reused").finish_non_exhaustive()
    }
}

impl<F: Facts> Reused<F> {
    /// Has `fill` fill the facts, and calls `method` with them. For as long, `view` is lent.
    pub fn call<'py>(
        &self,
        method: &Bound<'py, PyAny>,
        view: &facts::View<'_>,
        fill: impl FnOnce(Call, &F),
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = method.py();
        // A method that comes to be called within its own call has arguments of its own.
        let (tuple, facts) = match self.held.take() {
            Some(held) => held,
            None => F::make(py)?,
        };
        let call = Call::new();
        fill(call, &facts);
        let answer = lent(call, view, || method.call1(tuple.bind(py)));
        facts.end();
        if references(&tuple, py) == 1 && !facts.are_kept(py) {
            self.held.set(Some((tuple, facts)));
        }
        answer
    }
}
