//! An instance of a Python class, which belongs to one connection.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use dupack_algorithms::catalog::{Context, Value, Values};
use dupack_tcp::facts::View;
use dupack_tcp::time::Instant;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::failure::Broken;
use super::read::{Read, Wrong};
use super::reused::{Facts, Reused};
use super::values;
use crate::errors::exception;

/// Defines the methods of a trait. `METHODS` contains their names in Python, and `Method` their indices.
macro_rules! methods {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// Names of the methods, by index.
        pub const METHODS: &[&str] = &[$($name),+];

        #[derive(Clone, Copy)]
        enum Method {
            $($variant),+
        }
    };
}
pub(super) use methods;

/// A registered class.
#[derive(Debug)]
pub struct Class {
    pub class: Py<PyType>,
    /// Callable that creates an instance. Its arguments are the class, the context, and the parameter values by name.
    pub make: Py<PyAny>,
    /// Name of the class in messages.
    pub name: String,
    /// `true` for each method of the trait that the class overrides, by index.
    pub overrides: Vec<bool>,
}

/// An instance and the bound methods of the instance.
pub struct Object {
    class: Arc<Class>,
    names: &'static [&'static str],
    /// Bound methods, by index. Empty if the instance could not be created.
    methods: Vec<Option<Py<PyAny>>>,
    state: Cell<State>,
    /// Time of the last call that had a time among its arguments.
    now: Cell<Instant>,
}

/// State of an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    /// A method failed and the run was given up.
    Failed,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Python").field(&self.class.name).finish()
    }
}

impl Object {
    /// Creates the instance of a connection. If this fails, the object is in the failed state from the start.
    pub fn new(
        class: &Arc<Class>,
        names: &'static [&'static str],
        values: &Values,
        context: &Context,
    ) -> Self {
        let mut object = Self {
            class: Arc::clone(class),
            names,
            methods: Vec::new(),
            state: Cell::new(State::Works),
            now: Cell::new(Instant::ZERO),
        };
        Python::attach(|py| match object.made(py, values, context) {
            Ok(methods) => object.methods = methods,
            Err(error) => {
                let place = class.name.clone();
                object.fail(py, place, error);
            }
        });
        object
    }

    fn made(
        &self,
        py: Python<'_>,
        values: &Values,
        context: &Context,
    ) -> PyResult<Vec<Option<Py<PyAny>>>> {
        let given = PyDict::new(py);
        for (spec, value) in values.iter() {
            match value {
                Value::Choice(word) => given.set_item(&*spec.name, &**word)?,
                Value::Integer(number) => given.set_item(&*spec.name, number)?,
                Value::Real(number) => given.set_item(&*spec.name, number)?,
                Value::Time(span) => given.set_item(&*spec.name, span.as_secs_f64())?,
            }
        }
        let context = values::Context::of(py, context)?;
        let instance = self
            .class
            .make
            .bind(py)
            .call1((&self.class.class, context, given))?;
        let methods = self
            .names
            .iter()
            .zip(&self.class.overrides)
            .map(|(name, own)| match own {
                true => Ok(Some(instance.getattr(*name)?.unbind())),
                false => Ok(None),
            });
        methods.collect()
    }

    /// Returns `true` if the class overrides the method at the index `place` and the instance has not failed. Otherwise
    /// the default of the trait applies.
    pub fn has(&self, place: usize) -> bool {
        self.state.get() == State::Works && self.methods.get(place).is_some_and(Option::is_some)
    }

    /// Returns `true` if the instance has failed.
    pub fn is_broken(&self) -> bool {
        self.state.get() == State::Failed
    }

    /// Calls the method at the index `place` by means of `call`, and converts its return value with `read`. Returns
    /// `None` if the class does not override the method, if the instance has failed before, or if it fails now. A
    /// failure gives up the run. `now` is the time if it is among the arguments of the method.
    pub fn ask<T>(
        &self,
        place: usize,
        now: Option<Instant>,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T> {
        if let Some(now) = now {
            self.now.set(now);
        }
        if self.state.get() == State::Failed {
            return None;
        }
        let method = self.methods.get(place)?.as_ref()?;
        Python::attach(|py| {
            let answer = match call(method.bind(py)) {
                Ok(answer) => answer,
                Err(error) => {
                    self.fail(py, self.place(place), error);
                    return None;
                }
            };
            match read(&answer) {
                Ok(read) => Some(read),
                Err(wrong) => {
                    self.refuse(place, &answer, wrong);
                    None
                }
            }
        })
    }

    /// Same as [`ask`](Self::ask), with facts about `about` and `view` as arguments.
    pub fn ask_of<T, F: Facts>(
        &self,
        place: usize,
        facts: &Reused<F>,
        about: F::About<'_>,
        view: &View<'_>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T> {
        self.ask(
            place,
            Some(view.now),
            |method| facts.call(method, about, view),
            read,
        )
    }

    /// Same as [`ask`](Self::ask), with arguments that are created for this call.
    pub fn ask_with<T>(
        &self,
        place: usize,
        now: Option<Instant>,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T> {
        self.ask(
            place,
            now,
            |method| method.call1(arguments(method.py())?),
            read,
        )
    }

    /// Same as [`ask`](Self::ask), without arguments.
    pub fn ask_alone<T>(
        &self,
        place: usize,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Read<T>,
    ) -> Option<T> {
        self.ask(place, None, |method| method.call0(), read)
    }

    /// Gives up the run because the method at the index `place` behaved wrongly; `why` describes the behaviour.
    pub fn protest(&self, place: usize, why: &str) {
        if self.is_broken() {
            return;
        }
        Python::attach(|py| {
            let place = self.place(place);
            let error = exception(py, "AlgorithmError", &format!("{place}: {why}"), &[]);
            self.fail(py, place, error);
        });
    }

    fn refuse(&self, place: usize, answer: &Bound<'_, PyAny>, wrong: Wrong) {
        let py = answer.py();
        let place = self.place(place);
        let error = match wrong {
            Wrong::Raised(error) => error,
            Wrong::Expected(what) => {
                let message = format!("{place} returned {}, expected {what}", shown(answer));
                let help = answer
                    .is_none()
                    .then(|| "is a `return` missing?".to_owned());
                exception(py, "AlgorithmError", &message, &[("help", help)])
            }
        };
        self.fail(py, place, error);
    }

    fn fail(&self, py: Python<'_>, place: String, error: PyErr) {
        self.state.set(State::Failed);
        let time = self.now.get();
        let broken = Broken { place, time, error };
        broken.give_up(py);
    }

    fn place(&self, place: usize) -> String {
        format!("{}.{}", self.class.name, self.names[place])
    }
}

/// Returns a description of a value: its `repr`, shortened, and its type.
fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 120;
    if value.is_none() {
        return "None".to_owned();
    }
    let kind = value.get_type();
    let kind = kind
        .name()
        .map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let Ok(looks) = value.repr() else {
        return format!("a {kind}");
    };
    let looks = looks.to_string_lossy();
    let short: String = looks.chars().take(MOST).collect();
    let more = if short.len() < looks.len() { "…" } else { "" };
    format!("{short}{more} (a {kind})")
}
