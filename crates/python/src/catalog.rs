//! The algorithms that stacks are made of.

use std::sync::{PoisonError, RwLock};

use dupack_algorithms::catalog::{Catalog as Entries, StackSpec};
use dupack_report::catalog::Listing;
use dupack_report::deploy;
use dupack_report::table::Colour;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::plugin::{Declaration, entry_of};

/// A catalog: those of dupack, and those that Python registers.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Catalog(RwLock<Entries>);

impl Catalog {
    /// As it stands now. Cheap.
    pub fn now(&self) -> Entries {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        entries.clone()
    }
}

#[pymethods]
impl Catalog {
    #[new]
    fn new() -> Self {
        Self(RwLock::new(Entries::builtin()))
    }

    /// Takes in the class in Python that `declaration` is about, in place of the one of the same name if it
    /// `replaces` that.
    fn register(
        &self,
        py: Python<'_>,
        declaration: Declaration<'_>,
        replaces: bool,
    ) -> PyResult<()> {
        let entry = entry_of(&declaration)?;
        // A copy first: what is refused changes nothing.
        let mut with = self.now();
        entry
            .register(&mut with, replaces)
            .map_err(|error| exception(py, "AlgorithmError", &error.to_string(), &[]))?;
        let before = {
            let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *entries, with)
        };
        // Not before the lock is free: with a class of Python any code may run.
        drop(before);
        Ok(())
    }

    /// Everything about an algorithm, or about all, as JSON.
    fn listing(&self, py: Python<'_>, name: Option<&str>) -> PyResult<String> {
        let catalog = self.now();
        match Listing::of(&catalog, name) {
            Some(listing) => Ok(listing.json().to_string()),
            None => Err(unknown(py, &catalog, name.unwrap_or_default())),
        }
    }

    /// The same, for people to read.
    fn text(&self, py: Python<'_>, name: Option<&str>, width: Option<u16>) -> PyResult<String> {
        let catalog = self.now();
        match Listing::of(&catalog, name) {
            Some(listing) => Ok(listing.text(Colour::No, width)),
            None => Err(unknown(py, &catalog, name.unwrap_or_default())),
        }
    }

    /// The canonical spelling of a stack.
    fn canonical(&self, py: Python<'_>, stack: &str) -> PyResult<String> {
        Ok(self.stack(py, stack)?.to_string())
    }

    /// What of a stack Linux has, and what turns it on, as JSON.
    fn deployment(&self, py: Python<'_>, stack: &str) -> PyResult<String> {
        let spec = self.stack(py, stack)?;
        Ok(deploy::stack_json(&spec, &self.now()).to_string())
    }
}

impl Catalog {
    /// The stack that `text` spells.
    pub fn stack(&self, py: Python<'_>, text: &str) -> PyResult<StackSpec> {
        StackSpec::parse(text, &self.now()).map_err(|error| {
            let details = [("stack", Some(text.to_owned()))];
            exception(py, "StackError", &error.to_string(), &details)
        })
    }
}

fn unknown(py: Python<'_>, catalog: &Entries, name: &str) -> PyErr {
    let meant = catalog.suggest(name);
    let help = meant.map(|meant| format!("did you mean `{meant}`? "));
    let help = help.unwrap_or_default() + "dupack.stacks() lists them all";
    let message = format!("there is no algorithm `{name}`");
    exception(py, "StackError", &message, &[("help", Some(help))])
}
