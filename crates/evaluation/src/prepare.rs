//! Scenarios with the stack under test inserted: experiments that can be run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_claims::Rules;
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Plan;

use crate::error::EvaluationError;
use crate::suite::{CRITERIA, Criterion, Extent, PLACEHOLDER, Round, Scale, Scenario, Suite};

/// A scenario with a stack inserted, checked and ready to run.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Name of the scenario.
    pub(crate) name: String,
    /// Text of the experiment with the stack inserted. `dupack run` can repeat the experiment from this text.
    pub(crate) source: Source,
    pub(crate) plan: Plan,
    pub(crate) rules: Rules,
    /// Recorded traces that the experiment names, with their contents.
    pub(crate) traces: BTreeMap<PathBuf, String>,
}

/// Returns the stack that `text` names.
///
/// # Errors
/// If `catalog` has no such stack.
pub fn stack(text: &str, catalog: &Catalog) -> Result<StackSpec, EvaluationError> {
    StackSpec::parse(text, catalog).map_err(|error| EvaluationError::Stack {
        message: error.to_string(),
        help:
            "`dupack stacks` lists the algorithms; a stack is recovery/control, such as rack/cubic"
                .to_owned(),
    })
}

impl Suite {
    /// Prepares `scenario` for `subject`, with the claims of `criteria` and the seeds of a round.
    pub(crate) fn prepare(
        &self,
        scenario: &Scenario,
        criteria: &[&Criterion],
        (subject, catalog): (&StackSpec, &Catalog),
        scale: (Scale, Round),
    ) -> Result<Prepared, EvaluationError> {
        let subject = subject.to_string();
        let (source, experiment) = self.experiment_of(scenario, criteria, &subject, scale)?;
        let name = scenario.name.clone();
        Prepared::new(name, experiment, source, (catalog, &self.files))
    }

    /// Returns the file of `scenario` with the sender called `subject` inserted, and its experiment at the given scale,
    /// with the claims of `criteria` and the seeds of a round.
    pub(crate) fn experiment_of(
        &self,
        scenario: &Scenario,
        criteria: &[&Criterion],
        subject: &str,
        (scale, round): (Scale, Round),
    ) -> Result<(Source, Experiment), EvaluationError> {
        let mut source = self.source(scenario)?;
        source.text = source.text.replace(PLACEHOLDER, subject);
        let mut experiment = source.parse()?;
        if scale.extent == Extent::Quick {
            let changed = scenario.quick.apply(&mut experiment);
            changed.map_err(|error| {
                EvaluationError::suite(format!("{CRITERIA}: {}: {error}", scenario.name))
            })?;
        }
        scale.seed(&mut experiment, round);
        once_each(&mut experiment);
        experiment
            .claims
            .retain(|claim| criteria.iter().any(|criterion| criterion.key == claim.id));
        Ok((source, experiment))
    }
}

impl Prepared {
    /// Creates the scenario called `name` from `experiment`. `source` is the file from which the experiment was made.
    pub(crate) fn new(
        name: String,
        experiment: Experiment,
        source: Source,
        (catalog, files): (&Catalog, &BTreeMap<PathBuf, String>),
    ) -> Result<Self, EvaluationError> {
        let text = toml::to_string_pretty(&experiment).unwrap_or_default();
        let source = Source::new(source.name, text);
        let plan = Plan::with_files(experiment, &source, catalog, files)?;
        let rules = Rules::of_plan(&plan, &source, catalog)?;
        let named = plan.recorded(0..plan.points().len());
        let named: Vec<PathBuf> = named.iter().map(|recorded| recorded.file.clone()).collect();
        let traces = files.iter().filter(|(path, _)| named.contains(path));
        Ok(Self {
            name,
            traces: traces
                .map(|(path, text)| (path.clone(), text.clone()))
                .collect(),
            source,
            plan,
            rules,
        })
    }
}

/// Removes the duplicate stacks, swept values and points that arise if the stack under test is one of the baselines.
pub(crate) fn once_each(experiment: &mut Experiment) {
    let mut seen: Vec<String> = Vec::new();
    experiment.stacks.retain(|stack| {
        let new = !seen.contains(stack);
        seen.push(stack.clone());
        new
    });
    for values in experiment.sweep.values_mut() {
        let mut seen = Vec::new();
        values.retain(|value| {
            let new = !seen.contains(value);
            seen.push(value.clone());
            new
        });
    }
    let mut seen = Vec::new();
    experiment.points.retain(|point| {
        let new = !seen.contains(point);
        seen.push(point.clone());
        new
    });
}

/// Returns a folder name for a stack: its letters, digits and dots, with hyphens in place of other characters.
#[must_use]
pub fn slug(stack: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let text: String = stack.chars().map(plain).collect();
    let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// Returns the path of a scenario's file relative to the card's folder.
pub(crate) fn place(stack_folder: Option<&str>, scenario: &str) -> PathBuf {
    match stack_folder {
        Some(folder) => Path::new(folder).join(scenario),
        None => PathBuf::from(scenario),
    }
}
