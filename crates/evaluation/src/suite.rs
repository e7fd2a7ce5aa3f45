//! The suite as data: RFC 9743's headings, the criteria with their thresholds, and the scenarios that
//! show them.
//!
//! `criteria.toml` lists all three. A scenario is an experiment file beside it, with a claim for each
//! of its criteria: the claim's rule is the criterion's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::{Claim, Experiment, Seeds, SweepValue};
use serde::Deserialize;

use crate::error::EvaluationError;

/// The list of headings, criteria and scenarios.
pub const CRITERIA: &str = "criteria.toml";

/// The stack that every scenario file has in the place of the one under test, so that it is an experiment
/// as it stands.
pub const PLACEHOLDER: &str = "rack/bbr";

/// What the built-in suite is made of.
const BUILTIN: &[(&str, &str)] = &include!("builtin.rs");

/// What of it is for real packets.
const BUILTIN_WIRE: &[(&str, &str)] = &include!("builtin_wire.rs");

/// The folder of a suite's part for real packets.
const WIRE: &str = "wire";

/// A suite: what is judged, by what, and how.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The headings of RFC 9743 §§5–7, in its order.
    pub headings: Vec<Heading>,
    /// The criteria, in the order of the card.
    pub criteria: Vec<Criterion>,
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// What thresholds are relative to.
    pub baselines: Vec<String>,
    /// Texts of all files by their names.
    pub(crate) files: BTreeMap<PathBuf, String>,
    /// Its part for real packets.
    wire: Option<Box<Suite>>,
    /// The folder that it was read from; none if it is the one of the program.
    pub(crate) folder: Option<PathBuf>,
}

/// A heading of RFC 9743.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heading {
    /// Its number, such as `5.1.2`.
    pub section: String,
    /// Its words.
    pub title: String,
    /// Why no criterion stands below it: a program cannot judge it, or it does not apply.
    #[serde(default)]
    pub not_applicable: Option<String>,
}

/// Something that a stack meets or does not meet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Its name, for `--only`; its rule is the claim of this name in the scenario.
    pub key: String,
    /// What it is called on the card.
    pub title: String,
    /// The section of RFC 9743 that asks for it.
    pub section: String,
    /// The scenario that shows it.
    pub scenario: String,
    /// What the threshold is.
    pub threshold: String,
    /// What the threshold rests on.
    pub basis: Basis,
    /// Where it is from, or why we chose it.
    pub source: String,
    /// The measure that its figure draws, as `summary.csv` calls it.
    pub figure: String,
}

/// What a threshold rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// What the suite's [`baselines`](Suite::baselines) do in the same place under the same seeds; how much worse is
    /// too much is ours.
    Relative,
    /// A published document.
    Cited,
    /// Nothing but our judgement.
    Ours,
}

/// An experiment file of the suite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name of its file, without the ending.
    pub name: String,
    /// What a quick look changes in it.
    #[serde(default)]
    pub quick: Quick,
    /// Whether what it asks makes sense on any path: `dupack evaluate --path FILE` puts it on that one.
    #[serde(default)]
    pub on_path: bool,
}

/// What a quick look changes in an experiment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// Keys that get another value, with dots between their parts.
    pub set: BTreeMap<String, toml::Value>,
    /// Swept keys, and the values that are left of them.
    pub only: BTreeMap<String, Vec<SweepValue>>,
    /// Of points that are listed those that are left, counted from 1.
    pub points: Option<Vec<usize>>,
}

/// How much is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// What the verdicts are meant to rest on.
    #[default]
    Full,
    /// Fewer seeds, fewer points and shorter runs: a look.
    Quick,
}

impl Extent {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }

    /// The extent of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Full, Self::Quick]
            .into_iter()
            .find(|extent| extent.name() == name)
    }
}

/// How much is run, and with which seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// How much.
    pub extent: Extent,
    /// Which set of seeds, counted from 1: the first begins with the seeds that a scenario's file counts, and
    /// has four times as many for what these do not decide; the second begins after them, and so on. No
    /// two sets have a seed in common.
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

/// How many times the seeds a scenario has in all, where its runs do not decide a criterion at once.
pub(crate) const MORE: u32 = 4;

/// How many of the seeds of a set are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Those that the scenario's file counts.
    First,
    /// All, for what these do not decide.
    More,
}

impl Scale {
    /// Gives `experiment` the seeds of the set for `round`.
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

    /// Whether what is not decided gets more seeds: not in a quick look.
    pub(crate) fn has_more(self) -> bool {
        self.extent == Extent::Full
    }
}

/// `criteria.toml`.
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
    /// The suite that is part of the program.
    ///
    /// # Panics
    /// If it is broken, which the tests would show.
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

    /// The suite in the folder at `path`: `criteria.toml`, and the files that stand beside it. Its part for real
    /// packets is in the folder `wire` below, if it has one.
    ///
    /// # Errors
    /// If the folder cannot be read, or the suite is not sound.
    pub fn read(path: &Path) -> Result<Self, EvaluationError> {
        let mut suite = Self::read_folder(path)?;
        let wire = path.join(WIRE);
        if wire.is_dir() {
            let mut wire = Self::read_folder(&wire)?;
            // It is named by the folder above.
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

    /// A suite of the texts of its files by their names.
    ///
    /// # Errors
    /// If `criteria.toml` is not there or not what it should be, or a criterion has no claim.
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

    /// Its part for real packets; none if it has no such part.
    #[must_use]
    pub fn wire(&self) -> Option<&Self> {
        self.wire.as_deref()
    }

    /// Whether `key` is a criterion on real packets, or several begin so.
    #[must_use]
    pub fn is_of_wire(&self, key: &str) -> bool {
        self.wire().is_some_and(|suite| suite.has(key))
    }

    /// The criterion called `key`, in the simulator or on real packets.
    pub(crate) fn criterion(&self, key: &str) -> Option<&Criterion> {
        let wire = self.wire().into_iter().flat_map(|suite| &suite.criteria);
        let mut all = self.criteria.iter().chain(wire);
        all.find(|criterion| criterion.key == key)
    }

    /// What the threshold of a criterion rests on, in words.
    #[must_use]
    pub fn basis(&self, criterion: &Criterion) -> String {
        match criterion.basis {
            Basis::Relative => format!("relative to {}", self.baselines.join(" and ")),
            Basis::Cited => "cited".to_owned(),
            Basis::Ours => "ours".to_owned(),
        }
    }

    /// Whether everything that is named is there.
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
                    return wrong(format!("{key}: its heading is said not to apply"));
                }
                Some(_) => {}
            }
            self.claim(criterion)?;
        }
        for heading in &self.headings {
            let none = self.criteria.iter().all(|c| c.section != heading.section);
            if none && heading.not_applicable.is_none() {
                let section = &heading.section;
                return wrong(format!("{section} has neither a criterion nor a reason"));
            }
        }
        for scenario in &self.scenarios {
            for claim in self.experiment(scenario)?.claims {
                let judged = |c: &Criterion| c.key == claim.id && c.scenario == scenario.name;
                if !self.criteria.iter().any(judged) {
                    let (name, id) = (&scenario.name, &claim.id);
                    return wrong(format!("{name}: its claim `{id}` is no criterion"));
                }
            }
        }
        Ok(())
    }

    /// The claim by which `criterion` is judged, as its scenario's file has it.
    ///
    /// # Errors
    /// If there is no such scenario, or no such claim in it.
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

    /// The experiment of a scenario as its file has it.
    ///
    /// # Errors
    /// If there is no such file, or it is no experiment.
    pub fn experiment(&self, scenario: &Scenario) -> Result<Experiment, EvaluationError> {
        Ok(self.source(scenario)?.parse()?)
    }

    /// The file of a scenario.
    pub(crate) fn source(&self, scenario: &Scenario) -> Result<Source, EvaluationError> {
        let name = format!("{}.toml", scenario.name);
        let text = self
            .files
            .get(&PathBuf::from(&name))
            .ok_or_else(|| EvaluationError::suite(format!("there is no {name}")))?;
        Ok(Source::new(name, text.clone()))
    }

    /// The criteria called `keys`, where `harm` stands for `harm-cubic` and all others that begin so; all, if none is
    /// named.
    ///
    /// # Errors
    /// If there is none of such a name.
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

    /// Whether a criterion is called `key`, or several begin so.
    fn has(&self, key: &str) -> bool {
        self.criteria.iter().any(|c| self.means(key, c))
    }

    /// Whether `key` stands for `criterion`: by its name, or, where no criterion has that name, by the begin of its
    /// name up to a dash.
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
    /// If a key is not there, a value does not fit it, or nothing is left, in words.
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
                return Err(format!("`{key}` is never {foreign} in the sweep"));
            }
            values.retain(|value| kept.contains(value));
        }
        if let Some(kept) = &self.points {
            let all = experiment.points.len();
            if let Some(n) = kept.iter().find(|n| !(1..=all).contains(*n)) {
                return Err(format!("there is no point {n}: {all} are listed"));
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

/// Sets what stands at `key`, whose parts are joined by dots; a number is a place in a list.
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
