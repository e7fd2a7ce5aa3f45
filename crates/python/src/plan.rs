//! A checked experiment and its runs.

use std::borrow::Borrow;
use std::path::PathBuf;
use std::sync::Arc;

use dupack_algorithms::catalog::Catalog as Entries;
use dupack_claims::Rules;
use dupack_engine::folder::{IfPresent, OutputFolder};
use dupack_engine::store::{Begun, FolderError};
use dupack_engine::{Conduct, Execution, Keeping, Shown, carry_out_plan, parcel};
use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{DEFAULT_STACKS, json_schema};
use dupack_lab::results::Answered;
use dupack_lab::run as lab;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::catalog::Catalog;
use crate::errors::{diagnosed, exception, experiment};
use crate::ledger::{Ledger, refused};
use crate::plugin::{failed_check, failures};
use crate::results::{self, Results};
use crate::stream::{self, Streamed};
use crate::supervise::{Place, supervised};
use crate::table::Table;
use crate::trace::Trace;

/// A parcel of runs, the exception that ended the work early, and the runs that failed in an algorithm in Python.
type Performed<'py> = (Bound<'py, PyBytes>, Option<PyErr>, Vec<Py<PyAny>>);

/// A checked experiment. Immutable.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug, Clone)]
pub struct Plan(pub Arc<Checked>);

/// Contents of a [`Plan`].
#[derive(Debug)]
pub struct Checked {
    pub plan: lab::Plan,
    pub source: Source,
    pub rules: Rules,
    pub catalog: Entries,
    /// `true` if runs also measure harm.
    pub harm: bool,
}

#[pymethods]
impl Plan {
    /// Checks the experiment `text`. Error messages call the experiment `name`. Paths in the experiment are relative to
    /// `folder`.
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
        // Creating a plan builds every stack once, and an algorithm in Python may fail while it is built.
        drop(lab::take_fault());
        let checked = py.detach(|| {
            let mut plan = lab::Plan::new(source.parse()?, &source, &catalog)?;
            if harm {
                plan = plan.measuring_harm(&catalog);
            }
            let rules = Rules::of_plan(&plan, &source, &catalog)?;
            Ok((plan, rules))
        });
        if let Some(fault) = lab::take_fault() {
            return Err(failed_check(py, fault));
        }
        let (plan, rules) = checked.map_err(|error| experiment(py, &error))?;
        Ok(Self(Arc::new(Checked {
            plan,
            source,
            rules,
            catalog,
            harm,
        })))
    }

    /// The stacks, in their canonical spelling.
    #[getter]
    fn stacks(&self) -> Vec<String> {
        self.0.plan.stack_names()
    }

    /// The points of the sweep, in words.
    #[getter]
    fn points(&self) -> Vec<String> {
        let plan = &self.0.plan;
        let points = 0..plan.points().len();
        points.map(|point| plan.label(point)).collect()
    }

    /// The number of runs, without the runs that `precision` may add.
    #[getter]
    fn runs(&self) -> usize {
        self.0.plan.work()
    }

    /// Pairs of settings that contradict each other.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.plan.warnings().to_vec()
    }

    /// Returns a table that needs no run: `points` or `parameters`.
    fn table(&self, name: &str) -> PyResult<Table> {
        results::table(&Answered::owning(self.0.plan.empty_results()), name)
    }

    /// The first seed.
    #[getter]
    fn first_seed(&self) -> u64 {
        self.0.plan.first_job(0).seed
    }

    /// Traces a flow packet by packet. Flows, points and stacks are numbered from 0. The default flow is the first flow
    /// of the stack under comparison.
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

    /// Returns a ledger of the runs that are due, for callers that perform the runs on other machines or processes.
    /// With `folder`, finished runs are stored there as soon as they are entered. With `resume`, runs that are stored
    /// there already are not assigned. Some of these stored runs are repeated as a check, on `jobs` threads (0: one per
    /// processor), and `tick(done, all, notes)` is called during this check. Also returns the exception that
    /// interrupted this check, if any.
    #[pyo3(signature = (jobs, tick=None, folder=None, resume=false))]
    fn ledger(
        &self,
        py: Python<'_>,
        jobs: usize,
        tick: Option<Py<PyAny>>,
        folder: Option<PathBuf>,
        resume: bool,
    ) -> PyResult<(Ledger, Option<PyErr>)> {
        let execution = Place::Threads.execution(jobs);
        fits(py, &self.0.plan, lab::Held::All, execution)?;
        let begun = self.begun(py, folder, resume)?;
        Ledger::new(py, self.clone(), begun, execution, tick.as_ref())
    }

    /// Performs all runs on `jobs` threads (0: one per processor), and calls `tick(done, all, notes)` ten times a
    /// second. With `folder`, each finished run is stored there at once. With `resume`, runs that are stored there
    /// already are not repeated. Returns the results, and the exception that interrupted the runs, if any.
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
        let place = Place::of_plan(plan);
        let execution = place.execution(jobs);
        fits(py, plan, lab::Held::All, execution)?;
        let begun = self.begun(py, folder, resume)?;
        // Without a folder, no report is requested yet.
        let (keeping, shown) = match &begun {
            None => (Keeping::nowhere(), Shown::Nothing),
            Some(begun) => (Keeping::within(Arc::clone(&begun.journal)), Shown::OverTime),
        };
        let ended = supervised(py, (place, plan.work()), tick, |watch, interrupt| {
            let conduct = Conduct {
                execution,
                watch,
                interrupt,
            };
            carry_out_plan(plan, keeping, shown, &conduct)
        })?;
        let given_up = ended.given_up.into_iter();
        // A run over time repeats one of the compared runs, and that run has failed, too.
        let given_up = given_up.filter(|run| run.purpose != lab::Purpose::Show);
        let failures = failures(py, Some(plan), given_up.collect())?;
        let results = Results::of_carried(self.clone(), ended.made).without(py, failures)?;
        if ended.by.is_none() {
            results.check_any(py)?;
        }
        let hindered = begun.and_then(|begun| results.deliver(py, begun).err());
        Ok((results, ended.by.or(hindered)))
    }

    /// Performs all runs block by block. Each block is written to `folder` in the format `parts` (`csv` or `parquet`),
    /// and then dropped from memory. Returns the warnings and the table as text, or the exception that interrupted the
    /// runs.
    #[pyo3(signature = (folder, jobs, tick=None, resume=false, parts=None))]
    fn stream(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        jobs: usize,
        tick: Option<Py<PyAny>>,
        resume: bool,
        parts: Option<&str>,
    ) -> PyResult<(Option<Streamed>, Option<PyErr>)> {
        let asked = stream::Asked {
            folder,
            resume,
            format: parts.and_then(stream::format),
            jobs,
        };
        stream::stream(py, self, &asked, tick)
    }

    /// Performs the runs of an order on a worker, and returns a parcel for the ledger. The worker looks for signals but
    /// shows no progress bar. Also returns the exception of a signal, if any; the parcel then has the runs that were
    /// done by then. Also returns the runs that failed in an algorithm in Python, as instances of `dupack.Failure`.
    fn perform<'py>(&self, py: Python<'py>, order: &[u8]) -> PyResult<Performed<'py>> {
        let plan = &self.0.plan;
        let order = parcel::read_order(plan, order).map_err(|error| refused(py, &error))?;
        let place = Place::of_plan(plan);
        let runs = order.tasks.len();
        let ended = supervised(py, (place, runs), None, |_, interrupt| {
            parcel::write(plan, order.number, &parcel::fulfil(plan, &order, interrupt))
        })?;
        let failures = failures(py, Some(plan), ended.given_up)?;
        Ok((PyBytes::new(py, &ended.made), ended.by, failures))
    }
}

impl Plan {
    fn begun(
        &self,
        py: Python<'_>,
        folder: Option<PathBuf>,
        resume: bool,
    ) -> PyResult<Option<Begun>> {
        let begun = folder.map(|folder| self.begin(folder, resume)).transpose();
        begun.map_err(|error| diagnosed(py, "FolderError", &error))
    }

    fn begin(&self, folder: PathBuf, resume: bool) -> Result<Begun, FolderError> {
        if resume {
            return Begun::again(&folder, self.0.plan.experiment(), &self.0.source);
        }
        let folder = OutputFolder::create(&folder, IfPresent::Refuse)?;
        Begun::new(folder, &self.0.source)
    }
}

/// Allows the lab to borrow its plan.
impl Borrow<lab::Plan> for Plan {
    fn borrow(&self) -> &lab::Plan {
        &self.0.plan
    }
}

/// Returns an error if the results of `plan` do not fit into memory.
pub fn fits(
    py: Python<'_>,
    plan: &lab::Plan,
    held: lab::Held,
    execution: Execution,
) -> PyResult<()> {
    plan.fits(held, execution.threads())
        .map_err(|error| diagnosed(py, "ExperimentError", &error))
}

/// Returns the engine of this build: the version and the hash of the sources.
#[pyfunction]
pub fn engine() -> String {
    lab::engine()
}

/// Returns the JSON Schema of experiments.
#[pyfunction]
pub fn schema() -> String {
    json_schema().to_string()
}

/// Returns the stacks that `dupack.compare` runs by default.
#[pyfunction]
pub fn default_stacks() -> Vec<&'static str> {
    DEFAULT_STACKS.to_vec()
}

/// Converts fields from JSON text to TOML text.
#[pyfunction]
pub fn to_toml(py: Python<'_>, fields: &str) -> PyResult<String> {
    let failed = |message: String| exception(py, "ExperimentError", &message, &[]);
    let fields: toml::Table =
        serde_json::from_str(fields).map_err(|error| failed(error.to_string()))?;
    toml::to_string_pretty(&fields).map_err(|error| failed(error.to_string()))
}

/// Converts fields from TOML text to JSON text.
#[pyfunction]
pub fn from_toml(py: Python<'_>, text: &str) -> PyResult<String> {
    let fields: Result<toml::Table, _> = toml::from_str(text);
    let fields = fields.map_err(|error| exception(py, "ExperimentError", error.message(), &[]))?;
    Ok(serde_json::json!(fields).to_string())
}
