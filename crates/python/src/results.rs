//! Results of an experiment.

use std::path::PathBuf;
use std::sync::Arc;

use dupack_claims::Judged;
use dupack_columns::Table as Columns;
use dupack_engine::folder::{Folder, IfPresent, MemoryFolder, OutputFolder};
use dupack_engine::store::Begun;
use dupack_engine::{Carried, Conduct, Shown, show};
use dupack_lab::results as lab;
use dupack_lab::results::store;
use dupack_lab::run::{Interrupt, OverTime, Plan as Runs};
use dupack_report::comparison::{self, Beside};
use dupack_report::files::{DeliveryError, EXPERIMENT, Files};
use dupack_report::notes::notes;
use dupack_report::table::{Colour, Legend};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::errors::diagnosed;
use crate::plan::Plan;
use crate::supervise::Place;
use crate::table::Table;

/// Results of an experiment.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Results {
    plan: Plan,
    results: Arc<lab::Answered<'static>>,
    /// One run over time for every stack, if these runs were performed together with the other runs.
    over_time: Option<OverTime>,
    judged: Vec<Judged>,
    /// Runs that failed because of an exception in an algorithm in Python: instances of `dupack.Failure`.
    failures: Vec<Py<PyAny>>,
    /// Note on the failures, for people.
    told: Option<String>,
}

impl Results {
    /// Creates the results of `plan`, and evaluates the claims.
    pub fn new(plan: Plan, results: lab::Results) -> Self {
        let judged = plan.0.rules.judge_results(&results);
        Self {
            plan,
            results: Arc::new(lab::Answered::owning(results)),
            over_time: None,
            judged,
            failures: Vec::new(),
            told: None,
        }
    }

    /// Creates the results of `plan` with its runs over time.
    pub fn of_carried(plan: Plan, carried: Carried) -> Self {
        Self {
            over_time: carried.over_time,
            ..Self::new(plan, carried.results)
        }
    }

    /// Adds the runs that failed, and a note on them.
    pub fn without(mut self, py: Python<'_>, failures: Vec<Py<PyAny>>) -> PyResult<Self> {
        if !failures.is_empty() {
            let told = py.import("dupack._failures")?.getattr("told")?;
            let told: String = told
                .call1((failures.iter().collect::<Vec<_>>(),))?
                .extract()?;
            let mut results = lab::Results::clone(&self.results);
            results.warnings.push(told.clone());
            self.results = Arc::new(lab::Answered::owning(results));
            self.told = Some(told);
            self.failures = failures;
        }
        Ok(self)
    }

    /// Returns an error if every run has failed.
    ///
    /// # Errors
    /// The first failure.
    pub fn check_any(&self, py: Python<'_>) -> PyResult<()> {
        if self.failures.is_empty() || !self.results.runs.is_empty() {
            return Ok(());
        }
        let raised = py.import("dupack._failures")?.getattr("all_failed")?;
        let raised = raised.call1((self.failures.iter().collect::<Vec<_>>(),))?;
        Err(PyErr::from_value(raised))
    }

    /// Writes the report into the folder of the experiment. If all runs are complete, removes the journal, which is
    /// only needed after an interruption.
    pub fn deliver(&self, py: Python<'_>, begun: Begun) -> PyResult<()> {
        if !self.results.runs.is_empty() {
            self.files_into(py, &begun.folder)?;
        }
        if self.results.missing() == 0 {
            begun
                .complete()
                .map_err(|error| diagnosed(py, "FolderError", &error))?;
        }
        Ok(())
    }

    fn files_into<F: Folder + Sync>(&self, py: Python<'_>, folder: &F) -> PyResult<()> {
        let written = py.detach(|| self.files()?.write(folder));
        written.map_err(|error| diagnosed(py, "FolderError", &error))
    }

    fn files(&self) -> Result<Files<'_>, DeliveryError> {
        let checked = &self.plan.0;
        let beside = Beside {
            judged: self.judged.clone(),
            over_time: { self.over_time.clone() }.or_else(|| over_time(&checked.plan)),
            ..Beside::default()
        };
        Ok(comparison::files(&self.results, &checked.catalog, beside)?)
    }
}

#[pymethods]
impl Results {
    /// The number of planned runs.
    #[getter]
    fn planned(&self) -> usize {
        self.results.planned
    }

    /// The number of planned runs that are missing.
    #[getter]
    fn missing(&self) -> usize {
        self.results.missing()
    }

    /// The stacks, in their canonical spelling.
    #[getter]
    fn stacks(&self) -> Vec<String> {
        self.results.stacks.clone()
    }

    /// Notes on the results, for people.
    #[getter]
    fn notes(&self) -> Vec<String> {
        let told = self.told.iter().cloned();
        told.chain(notes(&self.results)).collect()
    }

    /// The runs that failed because of an exception in an algorithm in Python.
    #[getter]
    fn failures(&self) -> Vec<&Py<PyAny>> {
        self.failures.iter().collect()
    }

    /// Returns a table by its name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        py.detach(|| table(&self.results, name))
    }

    /// Returns all results as one JSON object, as in `results.json`.
    fn json(&self) -> String {
        comparison::json_text(&self.results, &self.judged, &self.plan.0.catalog)
    }

    /// Returns the results as a table for a terminal with a `width` in columns.
    fn text(&self, width: Option<u16>) -> String {
        comparison::text(&self.results, Legend::Whole, Colour::No, width)
    }

    /// Returns `runs.csv` and `summary.csv`, as the command line writes them.
    fn csv(&self) -> (Vec<u8>, Vec<u8>) {
        (
            store::runs_csv(&self.results),
            store::summary_csv(&self.results),
        )
    }

    /// Writes the report into a new folder: the same files as the command line.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let failed = |error| diagnosed(py, "FolderError", &error);
        let folder =
            OutputFolder::create_for("write()", &folder, IfPresent::Refuse).map_err(failed)?;
        let text = &self.plan.0.source.text;
        folder.write(EXPERIMENT, text.as_bytes()).map_err(failed)?;
        self.files_into(py, &folder)
    }

    /// Returns the figures of the report as SVG, by name.
    fn figures(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let folder = MemoryFolder::default();
        let written = py.detach(|| -> Result<_, DeliveryError> {
            let folder = folder;
            self.files()?.write(&folder)?;
            Ok(folder.into_files())
        });
        let files = written.map_err(|error| diagnosed(py, "FolderError", &error))?;
        let figures = files.into_iter().filter_map(|(name, bytes)| {
            let name = name
                .strip_prefix("figures/")?
                .strip_suffix(".svg")?
                .to_owned();
            Some((name, String::from_utf8(bytes).ok()?))
        });
        Ok(figures.collect())
    }
}

/// Performs one run over time for every stack. If an algorithm is in Python, the calling thread holds the interpreter's
/// lock.
fn over_time(plan: &Runs) -> Option<OverTime> {
    let place = Place::of_plan(plan);
    let conduct = Conduct {
        execution: place.execution(0),
        watch: &(),
        interrupt: &Interrupt::new(),
    };
    let show = || show(plan, Shown::OverTime, &conduct).over_time;
    match place {
        Place::Here => Python::attach(|_| show()),
        Place::Threads => show(),
    }
}

/// Returns a table of `results` by its name.
pub fn table(results: &lab::Answered<'_>, name: &str) -> PyResult<Table> {
    let found = Columns::ALL.into_iter().find(|table| table.name() == name);
    let found = found.ok_or_else(|| PyKeyError::new_err(format!("unknown table {name:?}")))?;
    Ok(Table(found.of(results)))
}
