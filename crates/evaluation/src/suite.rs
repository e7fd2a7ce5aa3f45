//! The suite as data: the headings of RFC 9743, the criteria with their thresholds, and the scenarios that test them.
//!
//! `criteria.toml` lists all three. A scenario is an experiment file in the same folder, with one claim for each of its
//! criteria. The rule of the claim is the rule of the criterion.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::{Claim, Experiment, Seeds, SweepValue};
use serde::Deserialize;

use crate::error::EvaluationError;

/// Name of the list of headings, criteria and scenarios.
pub const CRITERIA: &str = "criteria.toml";

/// Stack that is replaced by the stack under test in every scenario file. With this stack, the file is a complete
/// experiment.
pub const PLACEHOLDER: &str = "rack/bbr";

/// Files of the built-in suite.
const BUILTIN: &[(&str, &str)] = &include!("builtin.rs");

/// Files of the built-in suite's part for real packets.
const BUILTIN_WIRE: &[(&str, &str)] = &include!("builtin_wire.rs");

/// Name of the folder of a suite's part for real packets.
const WIRE: &str = "wire";

/// A suite: criteria, and the scenarios that test them.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Headings of RFC 9743 §§5–7, in order.
    pub headings: Vec<Heading>,
    /// Criteria, in the order of the card.
    pub criteria: Vec<Criterion>,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// Stacks to which thresholds are relative.
    pub baselines: Vec<String>,
    /// Contents of all files by name.
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// Part for real packets.
    wire: Option<Box<Suite>>,
    /// Folder from which the suite was read. `None` for the built-in suite.
    pub(crate) folder: Option<PathBuf>,
}

/// A heading of RFC 9743.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heading {
    /// Number of the section, such as `5.1.2`.
    pub section: String,
    /// Title of the section.
    pub title: String,
    /// Reason why the heading has no criterion: a program cannot judge it, or it does not apply.
    #[serde(default)]
    pub not_applicable: Option<String>,
}

/// A criterion that a stack meets or does not meet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Key, for `--only`. The rule of the criterion is the claim with this name in the scenario.
    pub key: String,
    /// Title on the card.
    pub title: String,
    /// Section of RFC 9743 that requires the criterion.
    pub section: String,
    /// Scenario that tests the criterion.
    pub scenario: String,
    /// Threshold, as a sentence.
    pub threshold: String,
    /// Basis of the threshold.
    pub basis: Basis,
    /// Source of the threshold, or the reason why we chose it.
    pub source: String,
    /// Measure in the figure of the criterion, by its name in `summary.csv`.
    pub figure: String,
}

/// Basis of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The results of the suite's [`baselines`](Suite::baselines) in the same scenario with the same seeds. The
    /// tolerated difference is our choice.
    Relative,
    /// A published document.
    Cited,
    /// Our judgement alone.
    Ours,
}

/// An experiment file of the suite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the file, without the extension.
    pub name: String,
    /// Changes for a quick look.
    #[serde(default)]
    pub quick: Quick,
    /// `true` if the scenario makes sense on any path: `dupack evaluate --path FILE` then runs it on the path of the
    /// file.
    #[serde(default)]
    pub on_path: bool,
}

/// Changes to an experiment for a quick look.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// Keys to set, with dots between their parts.
    pub set: BTreeMap<String, toml::Value>,
    /// Swept keys, with the values to keep.
    pub only: BTreeMap<String, Vec<SweepValue>>,
    /// Listed points to keep, counted from 1.
    pub points: Option<Vec<usize>>,
}

/// Extent of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The extent that is intended for verdicts.
    #[default]
    Full,
    /// Fewer seeds, fewer points and shorter runs.
    Quick,
}

impl Extent {
    /// Returns the name of the extent.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }

    /// Returns the extent with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Full, Self::Quick]
            .into_iter()
            .find(|extent| extent.name() == name)
    }
}

/// Extent and set of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Extent.
    pub extent: Extent,
    /// Number of the set of seeds, counted from 1. The first set begins with as many seeds as the scenario's file has.
    /// For criteria that these seeds do not decide, the set has four times as many seeds. The second set begins after
    /// the first, and so on. No two sets share a seed.
    pub seed_set: u32,
}

impl From<Extent> for Scale {
    fn from(extent: Extent) -> Self {
        Self {
            extent,
            seed_set: 1,
        }
    }
}

/// Total number of seeds, as a multiple of the scenario's seeds, if the first seeds do not decide a criterion.
pub(crate) const MORE: u32 = 4;

/// Seeds of a set that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// As many seeds as the scenario's file has.
    First,
    /// All seeds of the set, for criteria that the first seeds do not decide.
    More,
}

impl Scale {
    /// Sets the seeds of `experiment` to the seeds of the set for `round`.
    pub(crate) fn seed(self, experiment: &mut Experiment, round: Round) {
        let Seeds::Count(counted) = experiment.seeds else {
            return;
        };
        let count = match round {
            Round::First => counted,
            Round::More => counted.saturating_mul(MORE),
        };
        experiment.seeds = match self.seed_set {
            1 => Seeds::Count(count),
            set => {
                let before = u64::from(counted) * u64::from(MORE) * u64::from(set - 1);
                Seeds::List((before + 1..=before + u64::from(count)).collect())
            }
        };
    }

    /// Returns `true` if undecided criteria get more seeds, which is the case except in a quick look.
    pub(crate) fn has_more(self) -> bool {
        self.extent == Extent::Full
    }
}

/// Content of `criteria.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default = "simulated_baselines")]
    baselines: Vec<String>,
    #[serde(rename = "heading")]
    headings: Vec<Heading>,
    #[serde(rename = "criterion")]
    criteria: Vec<Criterion>,
    #[serde(rename = "scenario")]
    scenarios: Vec<Scenario>,
}

fn simulated_baselines() -> Vec<String> {
    ["rack/cubic", "rack/reno"].map(str::to_owned).to_vec()
}

impl Suite {
    /// Returns the built-in suite.
    ///
    /// # Panics
    /// If the suite is invalid; the tests would catch that.
    #[must_use]
    pub fn builtin() -> Self {
        let suite = |files: &[(&str, &str)]| {
            let files = files
                .iter()
                .map(|(name, text)| (PathBuf::from(name), (*text).to_owned()));
            Self::new(files.collect()).expect("the built-in suite is sound")
        };
        Self {
            wire: Some(Box::new(suite(BUILTIN_WIRE))),
            ..suite(BUILTIN)
        }
    }

    /// Reads the suite in the folder at `path`: `criteria.toml` and the other files in the folder. The part for real
    /// packets, if any, is in the folder `wire` inside.
    ///
    /// # Errors
    /// If the folder cannot be read, or the suite is invalid.
    pub fn read(path: &Path) -> Result<Self, EvaluationError> {
        let mut suite = Self::read_folder(path)?;
        let wire = path.join(WIRE);
        if wire.is_dir() {
            let mut wire = Self::read_folder(&wire)?;
            // Commands name the folder of the whole suite, also for the part for real packets.
            wire.folder = Some(path.to_owned());
            suite.wire = Some(Box::new(wire));
        }
        suite.folder = Some(path.to_owned());
        Ok(suite)
    }

    fn read_folder(path: &Path) -> Result<Self, EvaluationError> {
        let fail = |error: std::io::Error| {
            EvaluationError::suite(format!("{} cannot be read: {error}", path.display()))
        };
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = PathBuf::from(entry.file_name());
            let ending = name.extension().and_then(|ending| ending.to_str());
            if matches!(ending, Some("toml" | "trace")) {
                files.insert(name, std::fs::read_to_string(entry.path()).map_err(fail)?);
            }
        }
        Self::new(files)
    }

    /// Creates a suite from the contents of its files by name.
    ///
    /// # Errors
    /// If `criteria.toml` is missing or invalid, or a criterion has no claim.
    pub fn new(files: BTreeMap<PathBuf, String>) -> Result<Self, EvaluationError> {
        let text = files
            .get(&PathBuf::from(CRITERIA))
            .ok_or_else(|| EvaluationError::suite(format!("there is no {CRITERIA}")))?;
        let listed: Listed = toml::from_str(text)
            .map_err(|error| EvaluationError::suite(format!("{CRITERIA}: {error}")))?;
        let suite = Self {
            headings: listed.headings,
            criteria: listed.criteria,
            scenarios: listed.scenarios,
            baselines: listed.baselines,
            wire: None,
            folder: None,
            files,
        };
        suite.check()?;
        Ok(suite)
    }

    /// Returns the part for real packets, if there is one.
    #[must_use]
    pub fn wire(&self) -> Option<&Self> {
        self.wire.as_deref()
    }

    /// Returns `true` if `key` is a criterion on real packets, or a prefix of such criteria.
    #[must_use]
    pub fn is_of_wire(&self, key: &str) -> bool {
        self.wire().is_some_and(|suite| suite.has(key))
    }

    /// Returns the criterion called `key`, in the simulator or on real packets.
    pub(crate) fn criterion(&self, key: &str) -> Option<&Criterion> {
        let wire = self.wire().into_iter().flat_map(|suite| &suite.criteria);
        let mut all = self.criteria.iter().chain(wire);
        all.find(|criterion| criterion.key == key)
    }

    /// Describes the basis of a criterion's threshold.
    #[must_use]
    pub fn basis(&self, criterion: &Criterion) -> String {
        match criterion.basis {
            Basis::Relative => format!("relative to {}", self.baselines.join(" and ")),
            Basis::Cited => "cited".to_owned(),
            Basis::Ours => "ours".to_owned(),
        }
    }

    /// Checks that every criterion has a unique key, a heading and a claim. Every heading must have a criterion or a
    /// reason for having none, and every claim must belong to a criterion.
    fn check(&self) -> Result<(), EvaluationError> {
        let wrong = |message: String| Err(EvaluationError::suite(message));
        for (n, criterion) in self.criteria.iter().enumerate() {
            let key = &criterion.key;
            if self.criteria[..n].iter().any(|other| other.key == *key) {
                return wrong(format!("there are two criteria called `{key}`"));
            }
            let of = |heading: &Heading| heading.section == criterion.section;
            match self.headings.iter().find(|heading| of(heading)) {
                None => {
                    let section = &criterion.section;
                    return wrong(format!("{key}: there is no heading {section}"));
                }
                Some(heading) if heading.not_applicable.is_some() => {
                    return wrong(format!("{key}: its heading is marked as not applicable"));
                }
                Some(_) => {}
            }
            self.claim(criterion)?;
        }
        for heading in &self.headings {
            let none = self.criteria.iter().all(|c| c.section != heading.section);
            if none && heading.not_applicable.is_none() {
                let section = &heading.section;
                return wrong(format!(
                    "{section} has neither a criterion nor a reason for having none"
                ));
            }
        }
        for scenario in &self.scenarios {
            for claim in self.experiment(scenario)?.claims {
                let judged = |c: &Criterion| c.key == claim.id && c.scenario == scenario.name;
                if !self.criteria.iter().any(judged) {
                    let (name, id) = (&scenario.name, &claim.id);
                    return wrong(format!("{name}: its claim `{id}` is not a criterion"));
                }
            }
        }
        Ok(())
    }

    /// Returns the claim that judges `criterion`, from its scenario's file.
    ///
    /// # Errors
    /// If the scenario does not exist, or has no such claim.
    pub fn claim(&self, criterion: &Criterion) -> Result<Claim, EvaluationError> {
        let (key, name) = (&criterion.key, &criterion.scenario);
        let scenario = self.scenarios.iter().find(|s| s.name == *name);
        let scenario = scenario.ok_or_else(|| {
            EvaluationError::suite(format!("{key}: no scenario is called `{name}`"))
        })?;
        let claims = self.experiment(scenario)?.claims;
        claims
            .into_iter()
            .find(|claim| claim.id == *key)
            .ok_or_else(|| {
                EvaluationError::suite(format!("{name}.toml has no claim called `{key}`"))
            })
    }

    /// Returns the experiment of a scenario, as in its file.
    ///
    /// # Errors
    /// If the file does not exist, or is not an experiment.
    pub fn experiment(&self, scenario: &Scenario) -> Result<Experiment, EvaluationError> {
        Ok(self.source(scenario)?.parse()?)
    }

    /// Returns the file of a scenario.
    pub(crate) fn source(&self, scenario: &Scenario) -> Result<Source, EvaluationError> {
        let name = format!("{}.toml", scenario.name);
        let text = self
            .files
            .get(&PathBuf::from(&name))
            .ok_or_else(|| EvaluationError::suite(format!("there is no {name}")))?;
        Ok(Source::new(name, text.clone()))
    }

    /// Returns the criteria called `keys`, or all criteria if `keys` is empty. A prefix such as `harm` stands for
    /// `harm-cubic` and all other criteria that begin with `harm-`.
    ///
    /// # Errors
    /// If there is no criterion with such a name.
    pub fn choose(&self, keys: &[String]) -> Result<Vec<&Criterion>, EvaluationError> {
        for key in keys {
            if !self.has(key) {
                let wire = self.wire().into_iter().flat_map(|suite| &suite.criteria);
                let known = self.criteria.iter().chain(wire);
                let known: Vec<&str> = known.map(|c| c.key.as_str()).collect();
                return Err(EvaluationError::unknown(key, &known));
            }
        }
        let wanted = |c: &&Criterion| keys.is_empty() || keys.iter().any(|key| self.means(key, c));
        Ok(self.criteria.iter().filter(wanted).collect())
    }

    /// Returns `true` if `key` is the name of a criterion, or a prefix of criteria.
    fn has(&self, key: &str) -> bool {
        self.criteria.iter().any(|c| self.means(key, c))
    }

    /// Returns `true` if `key` stands for `criterion`: it is the criterion's name. If no criterion has this name, `key`
    /// may be the beginning of the criterion's name before a hyphen.
    fn means(&self, key: &str, criterion: &Criterion) -> bool {
        let begins = || {
            let rest = criterion.key.strip_prefix(key);
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        match self.criteria.iter().any(|c| c.key == key) {
            true => criterion.key == key,
            false => !key.is_empty() && begins(),
        }
    }
}

impl Quick {
    /// Changes `experiment`.
    ///
    /// # Errors
    /// If a key does not exist, a value is invalid for its key, or nothing remains. The error is a message.
    pub(crate) fn apply(&self, experiment: &mut Experiment) -> Result<(), String> {
        let mut table = toml::Table::try_from(&*experiment).map_err(|error| error.to_string())?;
        for (key, value) in &self.set {
            set(&mut table, key, value)?;
        }
        *experiment = table
            .try_into()
            .map_err(|error: toml::de::Error| error.to_string())?;
        for (key, kept) in &self.only {
            let values = experiment.sweep.get_mut(key);
            let values = values.ok_or_else(|| format!("`{key}` is not swept"))?;
            if let Some(foreign) = kept.iter().find(|value| !values.contains(value)) {
                return Err(format!("`{key}` has no value {foreign} in the sweep"));
            }
            values.retain(|value| kept.contains(value));
        }
        if let Some(kept) = &self.points {
            let all = experiment.points.len();
            if let Some(n) = kept.iter().find(|n| !(1..=all).contains(*n)) {
                return Err(format!("there is no point {n}: the sweep lists {all}"));
            }
            let mut place = 0;
            experiment.points.retain(|_| {
                place += 1;
                kept.contains(&place)
            });
        }
        Ok(())
    }
}

/// Sets the value at `key`, whose parts are joined by dots. A number is an index in a list.
fn set(table: &mut toml::Table, key: &str, value: &toml::Value) -> Result<(), String> {
    let missing = || format!("there is no `{key}`");
    let (parents, last) = match key.rsplit_once('.') {
        Some((parents, last)) => (parents.split('.').collect(), last),
        None => (Vec::new(), key),
    };
    let mut here = table;
    let mut parents = parents.into_iter().peekable();
    while let Some(part) = parents.next() {
        let mut slot = here.get_mut(part).ok_or_else(missing)?;
        if let Some(n) = parents.peek().and_then(|part| part.parse::<usize>().ok()) {
            parents.next();
            slot = slot.get_mut(n).ok_or_else(missing)?;
        }
        here = slot.as_table_mut().ok_or_else(missing)?;
    }
    here.insert(last.to_owned(), value.clone());
    Ok(())
}

impl From<ExperimentError> for EvaluationError {
    fn from(error: ExperimentError) -> Self {
        Self::Experiment(error)
    }
}
