//! An experiment that was checked, and its runs.

use std::path::PathBuf;
use std::sync::Arc;

use dupack_algorithms::catalog::Catalog as Entries;
use dupack_claims::Rules;
use dupack_lab::experiment::json_schema;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{self as lab, Execution, Interrupt, Task};
use dupack_report::begun::{Begun, BegunError};
use dupack_report::folder::{IfPresent, OutputFolder};
use pyo3::prelude::*;

use crate::catalog::Catalog;
use crate::errors::{diagnosed, exception, experiment};
use crate::ledger::Ledger;
use crate::results::{self, Results};
use crate::table::Table;
use crate::trace::Trace;
use crate::watch::{Counts, attended};

/// An experiment that was checked. It does not change.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug, Clone)]
pub struct Plan(pub Arc<Checked>);

/// What is behind it.
#[derive(Debug)]
pub struct Checked {
    pub plan: lab::Plan,
    pub source: Source,
    pub rules: Rules,
    pub catalog: Entries,
}

#[pymethods]
impl Plan {
    /// Checks the experiment `text`, which is called `name` where something is wrong with it. Paths in
    /// it start at `folder`.
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        name: &str,
        folder: PathBuf,
        catalog: &Catalog,
        harm: bool,
    ) -> PyResult<Self> {
        let mut source = Source::new(name, text);
        source.folder = folder;
        let catalog = catalog.now();
        let checked = py.detach(|| {
            let mut plan = lab::Plan::new(source.parse()?, &source, &catalog)?;
            if harm {
                plan = plan.measuring_harm(&catalog);
            }
            let rules = Rules::of_plan(&plan, &source, &catalog)?;
            Ok((plan, rules))
        });
        let (plan, rules) = checked.map_err(|error| experiment(py, &error))?;
        Ok(Self(Arc::new(Checked {
            plan,
            source,
            rules,
            catalog,
        })))
    }

    /// The stacks in their canonical spelling.
    #[getter]
    fn stacks(&self) -> Vec<String> {
        self.0.plan.empty_results().stacks
    }

    /// Its points in words.
    #[getter]
    fn points(&self) -> Vec<String> {
        let plan = &self.0.plan;
        let points = 0..plan.points().len();
        points.map(|point| plan.label(point)).collect()
    }

    /// How many runs there are to do, without those that a precision may add.
    #[getter]
    fn runs(&self) -> usize {
        self.0.plan.work()
    }

    /// Pairs that defeat each other.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.plan.warnings().to_vec()
    }

    /// A table without any run: `points` or `parameters`.
    fn table(&self, name: &str) -> PyResult<Table> {
        results::table(&self.0.plan.empty_results(), name)
    }

    /// The first of the seeds.
    #[getter]
    fn first_seed(&self) -> u64 {
        let first = self.0.plan.jobs();
        first.first().map_or(1, |job| job.seed)
    }

    /// Follows a flow packet by packet, counted from 0 as points and stacks are; the first of the stack
    /// under comparison, if none is named.
    #[pyo3(signature = (point, stack, seed, flow=None))]
    fn trace(
        &self,
        py: Python<'_>,
        point: usize,
        stack: usize,
        seed: u64,
        flow: Option<usize>,
    ) -> PyResult<Trace> {
        self.follow(py, lab::Job { point, stack, seed }, flow)
    }

    /// The runs that are still to be done, for those who do them themselves.
    fn ledger(&self) -> Ledger {
        Ledger::new(self.clone())
    }

    /// Does all runs on `jobs` threads (0: one per processor), and calls `tick(done, all, notes)` ten
    /// times a second. With `folder`, finished runs are kept there at once; with `resume`, those that
    /// are there are not done again. Gives the results, and the exception that interrupted them or
    /// nothing.
    #[pyo3(signature = (jobs, tick=None, folder=None, resume=false))]
    fn run(
        &self,
        py: Python<'_>,
        jobs: usize,
        tick: Option<Py<PyAny>>,
        folder: Option<PathBuf>,
        resume: bool,
    ) -> PyResult<(Results, Option<PyErr>)> {
        let plan = &self.0.plan;
        let begun = folder.map(|folder| self.begin(folder, resume)).transpose();
        let begun = begun.map_err(|error| diagnosed(py, "FolderError", &error))?;
        let execution = Execution {
            jobs: (jobs > 0).then_some(jobs),
        };
        let (counts, interrupt) = (Counts::of(plan.work()), Interrupt::new());
        let ended = attended(py, (&counts, &interrupt), tick.as_ref(), || match &begun {
            None => plan.execute(execution, &counts, &interrupt),
            Some(begun) => plan.execute_keeping(&begun.journal, execution, &counts, &interrupt),
        })?;
        let results = Results::new(self.clone(), ended.made);
        if let Some(begun) = begun {
            results.deliver(py, begun)?;
        }
        Ok((results, ended.by))
    }

    /// Does the runs `tasks`, which a ledger gave out, and gives what came out, each as text for the
    /// ledger. For a worker: it looks for signals, and shows no bar.
    fn perform(&self, py: Python<'_>, tasks: Vec<String>) -> PyResult<Vec<String>> {
        let tasks = tasks.iter().map(|text| task(py, text));
        let tasks = tasks.collect::<PyResult<Vec<Task>>>()?;
        let (counts, interrupt) = (Counts::of(tasks.len()), Interrupt::new());
        let plan = &self.0.plan;
        let ended = attended(py, (&counts, &interrupt), None, || {
            let runs = tasks.iter().map(|task| {
                let run = plan.perform(*task, &interrupt)?;
                Some(plan.write_run(*task, &run))
            });
            runs.collect::<Option<Vec<String>>>()
        })?;
        match (ended.by, ended.made) {
            (None, Some(made)) => Ok(made),
            (Some(by), _) => Err(by),
            (None, None) => Ok(Vec::new()),
        }
    }
}

impl Plan {
    fn begin(&self, folder: PathBuf, resume: bool) -> Result<Begun, BegunError> {
        if resume {
            let experiment = self.0.plan.empty_results().experiment;
            return Begun::again(&folder, &experiment);
        }
        let folder = OutputFolder::create(&folder, IfPresent::Refuse)?;
        Begun::new(folder, &self.0.source)
    }
}

/// A run that a ledger gave out.
pub fn task(py: Python<'_>, text: &str) -> PyResult<Task> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("this is no run to do: {error}");
        exception(py, "WorkerError", &message, &[])
    })
}

/// The engine of this build: its version and the hash of its sources.
#[pyfunction]
pub fn engine() -> String {
    lab::engine()
}

/// The JSON Schema of experiments.
#[pyfunction]
pub fn schema() -> String {
    json_schema().to_string()
}

/// The TOML text of the fields in the JSON text `fields`.
#[pyfunction]
pub fn to_toml(py: Python<'_>, fields: &str) -> PyResult<String> {
    let failed = |message: String| exception(py, "ExperimentError", &message, &[]);
    let fields: toml::Table =
        serde_json::from_str(fields).map_err(|error| failed(error.to_string()))?;
    toml::to_string_pretty(&fields).map_err(|error| failed(error.to_string()))
}

/// The fields in the TOML text `text`, as JSON text.
#[pyfunction]
pub fn from_toml(py: Python<'_>, text: &str) -> PyResult<String> {
    let fields: Result<toml::Table, _> = toml::from_str(text);
    let fields = fields.map_err(|error| exception(py, "ExperimentError", error.message(), &[]))?;
    Ok(serde_json::json!(fields).to_string())
}
