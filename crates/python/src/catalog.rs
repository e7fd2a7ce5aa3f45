//! Catalog of algorithms.

use std::sync::{PoisonError, RwLock};

use dupack_algorithms::catalog::{Catalog as Entries, StackSpec};
use dupack_report::catalog::Listing;
use dupack_report::deploy;
use dupack_report::parameters::Scope;
use dupack_report::table::Colour;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::plugin::{Declaration, entry_of};

/// Catalog of the algorithms of dupack and of the algorithms registered from Python.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Catalog(RwLock<Entries>);

impl Catalog {
    /// Returns a snapshot of the catalog. A snapshot is cheap.
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

    /// Registers the Python class that `declaration` describes. With `replaces`, the class replaces the algorithm of
    /// the same name.
    fn register(
        &self,
        py: Python<'_>,
        declaration: Declaration<'_>,
        replaces: bool,
    ) -> PyResult<()> {
        let entry = entry_of(&declaration)?;
        // Register in a copy first, so that a rejected class changes nothing.
        let mut with = self.now();
        entry
            .register(&mut with, replaces)
            .map_err(|error| exception(py, "AlgorithmError", &error.to_string(), &[]))?;
        let before = {
            let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *entries, with)
        };
        // Drop the old catalog after the lock is released: dropping a Python class may run any code.
        drop(before);
        Ok(())
    }

    /// Returns the description of one algorithm, or of all algorithms, as JSON.
    fn listing(&self, py: Python<'_>, name: Option<&str>) -> PyResult<String> {
        let catalog = self.now();
        match Listing::of(&catalog, name) {
            Some(listing) => Ok(listing.json().to_string()),
            None => Err(unknown(py, &catalog, name.unwrap_or_default())),
        }
    }

    /// Returns the description of one algorithm, or of all algorithms, as text for people.
    fn text(&self, py: Python<'_>, name: Option<&str>, width: Option<u16>) -> PyResult<String> {
        let catalog = self.now();
        match Listing::of(&catalog, name) {
            Some(listing) => Ok(listing.text(Scope::All, Colour::No, width)),
            None => Err(unknown(py, &catalog, name.unwrap_or_default())),
        }
    }

    /// Returns the canonical spelling of a stack.
    fn canonical(&self, py: Python<'_>, stack: &str) -> PyResult<String> {
        Ok(self.stack(py, stack)?.to_string())
    }

    /// Returns, as JSON, which parts of a stack Linux implements and how to enable them.
    fn deployment(&self, py: Python<'_>, stack: &str) -> PyResult<String> {
        let spec = self.stack(py, stack)?;
        Ok(deploy::stack_json(&spec, &self.now()).to_string())
    }
}

impl Catalog {
    /// Parses a stack.
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
    let help = help.unwrap_or_default() + "dupack.stacks() lists all algorithms";
    let message = format!("unknown algorithm `{name}`");
    exception(py, "StackError", &message, &[("help", Some(help))])
}
