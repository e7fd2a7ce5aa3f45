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

/// The facts of a signature, in its order; a view is the last of them.
pub trait Facts: Sized {
    /// What the others are about, in their order.
    type About<'a>: Copy;

    /// New ones, and the tuple that Python is called with.
    fn make(py: Python<'_>) -> PyResult<(Py<PyTuple>, Self)>;

    /// Are about these from now on, as long as `call` goes on.
    fn fill(&self, call: Call, about: Self::About<'_>, view: &facts::View<'_>);

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

/// The facts at these places, and the place of the view.
macro_rules! signature {
    ([$($place:tt: $class:ident),*] $view:tt) => {
        impl Facts for ($(Py<$class>,)* Py<View>,) {
            type About<'a> = ($(<$class as Fact>::About<'a>,)*);

            fn make(py: Python<'_>) -> PyResult<(Py<PyTuple>, Self)> {
                let facts = ($(Py::new(py, $class::default())?,)* Py::new(py, View::default())?,);
                let objects = [$(facts.$place.bind(py).as_any(),)* facts.$view.bind(py).as_any()];
                Ok((PyTuple::new(py, objects)?.unbind(), facts))
            }

            fn fill(&self, call: Call, about: Self::About<'_>, view: &facts::View<'_>) {
                // Where the view is all there is, it is about nothing else.
                let _: Self::About<'_> = about;
                $(self.$place.get().fill(call, about.$place);)*
                self.$view.get().fill(call, view);
            }

            fn end(&self) {
                $(self.$place.get().end();)*
                self.$view.get().end();
            }

            fn are_kept(&self, py: Python<'_>) -> bool {
                // One reference is here, one in the tuple.
                $(references(&self.$place, py) > 2 ||)* references(&self.$view, py) > 2
            }
        }
    };
}

signature!([] 0);
signature!([0: AckFacts] 1);
signature!([0: AckFacts, 1: Credit] 2);
signature!([0: Sent] 1);
signature!([0: Sent, 1: Departure] 2);

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
    /// Calls `method` with facts about `about` and `view`. For as long, `view` is lent.
    pub fn call<'py>(
        &self,
        method: &Bound<'py, PyAny>,
        about: F::About<'_>,
        view: &facts::View<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = method.py();
        // A method that comes to be called within its own call has arguments of its own.
        let (tuple, facts) = match self.held.take() {
            Some(held) => held,
            None => F::make(py)?,
        };
        let call = Call::new();
        facts.fill(call, about, view);
        let answer = lent(call, view, || method.call1(tuple.bind(py)));
        facts.end();
        if references(&tuple, py) == 1 && !facts.are_kept(py) {
            self.held.set(Some((tuple, facts)));
        }
        answer
    }
}
