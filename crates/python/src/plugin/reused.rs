//! Arguments that are created once and filled for each call.
//!
//! If a method keeps a view, this view must not show the values of a later call. After a call, the reference counts
//! show if Python still holds one of the arguments. In this case, the arguments stay invalid, and the next call creates
//! new ones. Otherwise the next call fills the same arguments again.

use std::cell::Cell;
use std::fmt;

use dupack_tcp::facts;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::board::{Call, lent};
use super::facts::{AckFacts, Credit, Departure, Fact, Sent, View};

/// Arguments of a method, in order. The view is the last one.
pub trait Facts: Sized {
    /// Rust values for the arguments except the view, in order.
    type About<'a>: Copy;

    /// Creates new facts, and the tuple of arguments for Python.
    fn make(py: Python<'_>) -> PyResult<(Py<PyTuple>, Self)>;

    /// Fills the facts. They are valid until `call` ends.
    fn fill(&self, call: Call, about: Self::About<'_>, view: &facts::View<'_>);

    /// Invalidates the facts.
    fn end(&self);

    /// Returns `true` if Python code still holds one of the facts.
    fn are_kept(&self, py: Python<'_>) -> bool;
}

/// Returns the reference count of an object.
#[expect(
    deprecated,
    reason = "its replacement is unsafe to call; without it, every call would make new arguments"
)]
fn references<T>(object: &Py<T>, py: Python<'_>) -> isize {
    object.get_refcnt(py)
}

/// Implements [`Facts`] for a tuple. The arguments of the macro are the indices of the facts and of the view.
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
                // If the view is the only argument, `about` is not used otherwise.
                let _: Self::About<'_> = about;
                $(self.$place.get().fill(call, about.$place);)*
                self.$view.get().fill(call, view);
            }

            fn end(&self) {
                $(self.$place.get().end();)*
                self.$view.get().end();
            }

            fn are_kept(&self, py: Python<'_>) -> bool {
                // One reference belongs to `self`, and one to the tuple.
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

/// Arguments of one method.
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
    /// Calls `method` with facts from `about` and `view`, and lends `view` for the duration of the call.
    pub fn call<'py>(
        &self,
        method: &Bound<'py, PyAny>,
        about: F::About<'_>,
        view: &facts::View<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = method.py();
        // A nested call of the same method gets its own arguments.
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
