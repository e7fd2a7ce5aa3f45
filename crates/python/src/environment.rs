//! Environments for reinforcement learning. A single environment is a vector of length one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dupack_environment::{
    Autoreset, Blueprint, EnvironmentError, Feature, Fingerprint, Info, Seeds, Settings, Space,
    StepOutput, Threads, VectorEnvironment,
};
use dupack_lab::experiment::SweepValue;
use dupack_lab::experiment::load::Source;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::catalog::Catalog;
use crate::errors::{diagnosed, exception, experiment};

/// Environments of one blueprint. Threads advance the environments without the interpreter's lock.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Environments {
    blueprint: Arc<Blueprint>,
    vector: Mutex<VectorEnvironment>,
}

/// Names, minima and maxima of the values in an observation or an action.
type Bounds = (Vec<String>, Vec<f32>, Vec<f32>);

#[pymethods]
impl Environments {
    /// Creates `count` environments on the path of the experiment `text`. `preset` names a set of settings, and
    /// `settings` overrides some of them, in TOML.
    #[new]
    #[allow(
        clippy::too_many_arguments,
        reason = "they are the keywords of the Python function"
    )]
    fn new(
        py: Python<'_>,
        text: &str,
        folder: PathBuf,
        catalog: &Catalog,
        preset: &str,
        settings: &str,
        count: usize,
        threads: usize,
        autoreset: &str,
    ) -> PyResult<Self> {
        let mut source = Source::new("the path", text);
        source.folder = folder;
        let catalog = catalog.now();
        let threads = match threads {
            0 => Threads::All,
            threads => Threads::Count(threads),
        };
        let autoreset = match autoreset {
            "next_step" => Autoreset::NextStep,
            "same_step" => Autoreset::SameStep,
            "disabled" => Autoreset::Disabled,
            other => {
                let message = format!("autoreset: unknown mode {other}");
                let help = "write next_step, same_step or disabled".to_owned();
                return Err(exception(py, "EnvError", &message, &[("help", Some(help))]));
            }
        };
        let made = py.detach(|| {
            let blueprint = Blueprint::new(&source, over(preset, settings)?, &catalog)?;
            let vector = VectorEnvironment::new(Arc::clone(&blueprint), count, threads, autoreset)?;
            Ok((blueprint, vector))
        });
        let (blueprint, vector) = made.map_err(|error| failed(py, &error))?;
        Ok(Self {
            blueprint,
            vector: Mutex::new(vector),
        })
    }

    /// The names of the agents in each environment.
    #[getter]
    fn agents(&self) -> Vec<String> {
        self.blueprint.agents().to_vec()
    }

    /// The observation space of an agent.
    #[getter]
    fn observation_space(&self) -> Bounds {
        bounds(self.blueprint.observation_space())
    }

    /// The action space of an agent.
    #[getter]
    fn action_space(&self) -> Bounds {
        bounds(self.blueprint.action_space())
    }

    /// Pairs of settings in the experiment that contradict each other.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.blueprint.warnings().to_vec()
    }

    /// The settings, as TOML.
    #[getter]
    fn settings(&self) -> String {
        toml::to_string(self.blueprint.settings()).unwrap_or_default()
    }

    /// The number of threads that advance the environments.
    #[getter]
    fn threads(&self) -> usize {
        self.vector().threads()
    }

    /// Enables or disables the hash over the trace of each episode, from the next episode on.
    fn fingerprint(&self, on: bool) {
        self.vector().set_fingerprint(match on {
            true => Fingerprint::On,
            false => Fingerprint::Off,
        });
    }

    /// Begins episodes in the environments that `which` selects. `seed` is one seed, from which the seeds of all
    /// environments are derived; `seeds` has one seed for each environment. Without both, each environment begins its
    /// next episode. `fixed`, in TOML, has values for parameters that would be random otherwise.
    #[pyo3(signature = (observations, seed=None, seeds=None, which=None, fixed=None))]
    fn reset(
        &self,
        py: Python<'_>,
        mut observations: PyReadwriteArray1<'_, f32>,
        seed: Option<u64>,
        seeds: Option<Vec<u64>>,
        which: Option<Vec<bool>>,
        fixed: Option<&str>,
    ) -> PyResult<()> {
        let fixed = values(py, fixed)?;
        let observations = observations.as_slice_mut()?;
        let vector = &self.vector;
        let reset = py.detach(|| {
            let mut vector = vector.lock().unwrap_or_else(PoisonError::into_inner);
            let seeds = match (&seeds, seed) {
                (Some(seeds), _) => Seeds::Each(seeds),
                (None, Some(seed)) => Seeds::From(seed),
                (None, None) => Seeds::Next,
            };
            match which {
                Some(which) => vector.reset_some(&which, seeds, &fixed, observations),
                None => vector.reset(seeds, &fixed, observations),
            }
        });
        reset.map_err(|error| failed(py, &error))
    }

    /// Advances every environment by one step, and writes the outcome into the arrays.
    fn step(
        &self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, f32>,
        mut observations: PyReadwriteArray1<'_, f32>,
        mut rewards: PyReadwriteArray1<'_, f64>,
        mut terminated: PyReadwriteArray1<'_, bool>,
        mut truncated: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let actions = actions.as_slice()?;
        let mut outcome = StepOutput::new(
            observations.as_slice_mut()?,
            rewards.as_slice_mut()?,
            terminated.as_slice_mut()?,
            truncated.as_slice_mut()?,
        );
        let vector = &self.vector;
        let step = py.detach(|| {
            let mut vector = vector.lock().unwrap_or_else(PoisonError::into_inner);
            vector.step(actions, &mut outcome)
        });
        step.map_err(|error| failed(py, &error))
    }

    /// Writes the last observation of each episode that ended in the last step, for autoreset in the same step.
    fn last_observations(&self, mut into: PyReadwriteArray1<'_, f32>) -> PyResult<()> {
        let (vector, into) = (self.vector(), into.as_slice_mut()?);
        let last = vector.last_observations();
        if let Some(into) = into.get_mut(..last.len()) {
            into.copy_from_slice(last);
        }
        Ok(())
    }

    /// Returns the simulator's own data on the episodes of these environments: one mapping for each environment, or
    /// `None` before its first episode.
    fn infos<'py>(
        &self,
        py: Python<'py>,
        which: Vec<usize>,
    ) -> PyResult<Vec<Option<Bound<'py, PyDict>>>> {
        let vector = self.vector();
        let environments = vector.environments();
        let infos = which.into_iter().map(|n| {
            let info = environments
                .get(n)
                .and_then(|environment| environment.info());
            info.map(|info| mapping(py, &info)).transpose()
        });
        infos.collect()
    }
}

impl Environments {
    fn vector(&self) -> MutexGuard<'_, VectorEnvironment> {
        self.vector.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the settings of `preset`, overridden by the settings in the TOML text `settings`.
fn over(preset: &str, settings: &str) -> Result<Settings, EnvironmentError> {
    let own = Settings::from_toml(settings)?;
    if preset.is_empty() {
        return Ok(own);
    }
    let base = Settings::preset(preset)?;
    let mut text = toml::Table::try_from(&base).unwrap_or_default();
    let given: toml::Table = toml::from_str(settings).unwrap_or_default();
    text.extend(given);
    Settings::from_toml(&toml::to_string(&text).unwrap_or_default())
}

fn bounds(space: Space) -> Bounds {
    (space.names, space.low, space.high)
}

/// Returns the keys and values of a TOML text.
fn values(py: Python<'_>, text: Option<&str>) -> PyResult<Vec<(String, SweepValue)>> {
    let table: toml::Table = text
        .map_or_else(|| Ok(toml::Table::new()), toml::from_str)
        .map_err(|error: toml::de::Error| exception(py, "EnvError", error.message(), &[]))?;
    let values = table.into_iter().map(|(key, value)| {
        let place = key.clone();
        let value: Result<SweepValue, _> = value.try_into();
        let value = value.map_err(|error| {
            let message = format!("options.{place}: {}", error.message());
            exception(py, "EnvError", &message, &[])
        })?;
        Ok((key, value))
    });
    values.collect()
}

fn failed(py: Python<'_>, error: &EnvironmentError) -> PyErr {
    match error {
        EnvironmentError::Experiment(error) => experiment(py, error),
        error => diagnosed(py, "EnvError", error),
    }
}

fn mapping<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("seed", info.seed)?;
    told.set_item("steps", info.steps)?;
    told.set_item("time", info.time)?;
    let drawn = PyDict::new(py);
    for (key, value) in &info.drawn {
        match value {
            SweepValue::Integer(number) => drawn.set_item(key, number)?,
            SweepValue::Real(number) => drawn.set_item(key, number)?,
            SweepValue::Switch(on) => drawn.set_item(key, on)?,
            other => drawn.set_item(key, other.to_string())?,
        }
    }
    told.set_item("drawn", drawn)?;
    told.set_item("trace_hash", info.trace_hash)?;
    let agents = info.agents.iter().map(|agent| {
        let own = PyDict::new(py);
        own.set_item("goodput", agent.goodput)?;
        own.set_item("window", agent.window)?;
        own.set_item("srtt", agent.srtt)?;
        own.set_item("packets", agent.packets)?;
        own.set_item("queue_drops", agent.queue_drops)?;
        own.set_item("link_losses", agent.link_losses)?;
        own.set_item("needless_repeats", agent.needless_repeats)?;
        own.set_item("timeouts", agent.timeouts)?;
        Ok(own)
    });
    told.set_item("agents", agents.collect::<PyResult<Vec<_>>>()?)?;
    Ok(told)
}

/// Returns the features that can be observed: name, unit, meaning, minimum and maximum.
#[pyfunction]
pub fn features() -> Vec<(&'static str, &'static str, &'static str, f32, f32)> {
    let all = Feature::ALL.into_iter().map(Feature::description);
    all.map(|of| (of.name, of.unit, of.meaning, of.low, of.high))
        .collect()
}
