//! Data for expressions: experiments with their results, and the printed numbers of a paper.

use std::cell::{self, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use dupack_lab::experiment::points::Point;
use dupack_lab::experiment::{Experiment, SweepValue};
use dupack_lab::results::{Groups, Measure, Results, scaled};
use dupack_lab::stats::jain_index;

use crate::value::Samples;

/// All data that the claims of a file can use.
#[derive(Debug, Default)]
pub struct World<'r> {
    pub(crate) scenes: Vec<Scene<'r>>,
    pub(crate) printed: Vec<Printed>,
    /// `true` if samples of several quantities were pooled.
    pooled: cell::Cell<bool>,
}

/// An experiment with its results or its plan.
#[derive(Debug)]
pub struct Scene<'r> {
    pub(crate) name: String,
    pub(crate) results: &'r Results,
    ground: Ground,
    facts: Facts,
    /// Cells whose values were requested so far.
    asked: RefCell<BTreeSet<Cell>>,
}

/// A cell of an experiment: the indices of a point and a stack.
pub type Cell = (usize, usize);

/// Origin of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    /// Completed runs.
    Runs,
    /// Planned runs, each with the value 1. Such a world is enough to check that a rule asks only for data that exists.
    Plan,
}

/// Facts about runs that are not measures, such as quantities read from a trace.
#[derive(Clone, Debug, Default)]
pub struct Facts(pub Vec<Fact>);

/// A named fact about runs.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Name in expressions.
    pub name: String,
    /// Kind of the values.
    pub kind: FactKind,
    /// Point, stack and seed of each run, and the value in that run.
    pub values: Vec<(usize, usize, u64, FactValue)>,
}

/// Kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A number for each run.
    Number,
    /// Text for each run.
    Text,
}

/// Value of a fact in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum FactValue {
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

/// A number that a paper prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// Name of the quantity.
    pub name: String,
    /// The stack, by its name in the file.
    pub stack: Option<String>,
    /// The point: keys, or their last parts, with values written as in an experiment file.
    pub point: Vec<(String, SweepValue)>,
    /// The number.
    pub value: f64,
}

/// A measure with a value for each flow of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flows {
    /// Flows of the stack under comparison.
    Compared,
    /// Flows that have their own stack.
    Others,
    /// All flows.
    Every,
}

impl Flows {
    pub(crate) const ALL: [(&'static str, Self); 3] = [
        ("flow_goodput", Self::Compared),
        ("other_flow_goodput", Self::Others),
        ("every_flow_goodput", Self::Every),
    ];
}

/// Measures of whole runs that a group of flows also has: the total goodput and Jain's index of its flows.
pub(crate) const OF_A_GROUP: [&str; 2] = ["goodput", "fairness"];

/// Measures with their names in expressions.
pub(crate) static MEASURES: LazyLock<Vec<(String, Measure)>> = LazyLock::new(|| {
    let named = |measure: Measure| {
        let name = serde_json::to_value(measure).ok()?;
        Some((name.as_str()?.to_owned(), measure))
    };
    Measure::ALL.into_iter().filter_map(named).collect()
});

impl<'r> World<'r> {
    /// Creates a world with the results of a single experiment.
    #[must_use]
    pub fn of(results: &'r Results) -> Self {
        let mut world = Self::default();
        world.add("", results, Facts::default());
        world
    }

    /// Creates a world with a single experiment that has not run yet.
    #[must_use]
    pub fn planned(results: &'r Results) -> Self {
        let mut world = Self::default();
        world.plan("", results, Facts::default());
        world
    }

    /// Adds an experiment with its results.
    pub fn add(&mut self, name: &str, results: &'r Results, facts: Facts) {
        self.scene(name, results, facts, Ground::Runs);
    }

    /// Adds a planned experiment: `results` without runs.
    pub fn plan(&mut self, name: &str, results: &'r Results, facts: Facts) {
        self.scene(name, results, facts, Ground::Plan);
    }

    fn scene(&mut self, name: &str, results: &'r Results, facts: Facts, ground: Ground) {
        self.scenes.push(Scene {
            name: name.to_owned(),
            results,
            ground,
            facts,
            asked: RefCell::default(),
        });
    }

    /// Adds numbers that a paper prints.
    pub fn print(&mut self, numbers: impl IntoIterator<Item = Printed>) {
        self.printed.extend(numbers);
    }

    /// Returns the results of an experiment, or `None` if there is no experiment with this name.
    #[must_use]
    pub fn results(&self, name: &str) -> Option<&'r Results> {
        let scene = self.scenes.iter().find(|scene| scene.name == name)?;
        Some(scene.results)
    }

    /// Returns the cells whose values were requested, by experiment, and clears the record.
    pub(crate) fn take_asked(&self) -> impl Iterator<Item = (String, BTreeSet<Cell>)> + '_ {
        let asked = self.scenes.iter().map(|scene| {
            let cells = scene.asked.take();
            (scene.name.clone(), cells)
        });
        asked.filter(|(_, cells)| !cells.is_empty())
    }

    /// Records that samples of several quantities were pooled.
    pub(crate) fn pool(&self) {
        self.pooled.set(true);
    }

    /// Returns `true` if samples of several quantities were pooled since the last call.
    pub(crate) fn take_pooled(&self) -> bool {
        self.pooled.take()
    }

    /// Returns `true` if any experiment is only planned.
    pub(crate) fn is_plan(&self) -> bool {
        self.scenes.iter().any(|scene| scene.ground == Ground::Plan)
    }
}

/// Values of a quantity in the runs of a cell.
#[derive(Debug)]
pub(crate) enum Found {
    Samples(Samples),
    Texts(Vec<String>),
}

impl Scene<'_> {
    pub(crate) fn points(&self) -> &[Point] {
        &self.results.points
    }

    pub(crate) fn experiment(&self) -> &Experiment {
        &self.results.experiment
    }

    /// Returns the names of the quantities that a cell has.
    pub(crate) fn quantities(&self) -> impl Iterator<Item = &str> + Clone {
        let measures = MEASURES.iter().map(|(name, _)| name.as_str());
        let flows = Flows::ALL.iter().map(|(name, _)| *name);
        let facts = self.facts.0.iter().map(|fact| fact.name.as_str());
        measures.chain(flows).chain(facts)
    }

    /// Returns the quantity `name` in the runs of a cell (point and stack), restricted to the flows of `group`. Returns
    /// `None` if there is no such quantity.
    pub(crate) fn found(
        &self,
        name: &str,
        (point, stack): Cell,
        group: Option<&str>,
    ) -> Option<Found> {
        self.asked.borrow_mut().insert((point, stack));
        if let Some(group) = group.filter(|_| OF_A_GROUP.contains(&name)) {
            return Some(Found::Samples(self.of_group(name, (point, stack), group)));
        }
        if let Some((_, measure)) = MEASURES.iter().find(|(known, _)| known == name) {
            return Some(Found::Samples(match self.ground {
                Ground::Plan => self.planned(|seed| vec![seed]),
                Ground::Runs => {
                    let samples = self.results.samples(point, stack, *measure);
                    Samples(samples.map(|(seed, value)| (vec![seed], value)).collect())
                }
            }));
        }
        if let Some((_, flows)) = Flows::ALL.iter().find(|(known, _)| *known == name) {
            return Some(Found::Samples(self.flows(*flows, (point, stack), group)));
        }
        let fact = self.facts.0.iter().find(|fact| fact.name == name)?;
        Some(self.fact(fact, point, stack))
    }

    /// Returns the value 1 for every planned run.
    fn planned(&self, key: impl Fn(u64) -> Vec<u64>) -> Samples {
        let seeds = self.experiment().seeds.to_vec().into_iter();
        Samples(seeds.map(|seed| (key(seed), 1.0)).collect())
    }

    fn fact(&self, fact: &Fact, point: usize, stack: usize) -> Found {
        let here = fact
            .values
            .iter()
            .filter(|(p, s, ..)| (*p, *s) == (point, stack));
        match (self.ground, fact.kind) {
            (Ground::Plan, FactKind::Number) => Found::Samples(self.planned(|seed| vec![seed])),
            (Ground::Plan, FactKind::Text) => Found::Texts(vec![String::new()]),
            (Ground::Runs, FactKind::Number) => {
                let numbers = here.filter_map(|(_, _, seed, value)| match value {
                    FactValue::Number(number) => Some((vec![*seed], *number)),
                    FactValue::Text(_) => None,
                });
                Found::Samples(Samples(numbers.collect()))
            }
            (Ground::Runs, FactKind::Text) => {
                let texts = here.filter_map(|(.., value)| match value {
                    FactValue::Text(text) => Some(text.clone()),
                    FactValue::Number(_) => None,
                });
                Found::Texts(texts.collect())
            }
        }
    }

    fn flows(&self, which: Flows, cell: (usize, usize), group: Option<&str>) -> Samples {
        let places = self.places_of(which, cell.0, group);
        if self.ground == Ground::Plan {
            return self.planned(|seed| vec![seed, 0]);
        }
        let runs = self.results.runs_of(cell.0, cell.1).iter();
        let runs = runs.filter(|run| self.results.is_sound(run));
        let goodputs = runs.flat_map(|run| {
            let flows = places.iter().cloned().flatten();
            flows.filter_map(|flow| {
                Some((vec![run.seed, flow as u64], *run.flow_goodputs.get(flow)?))
            })
        });
        Samples(goodputs.collect())
    }

    /// Returns the goodput or Jain's index of the flows of a group, run by run.
    fn of_group(&self, name: &str, (point, stack): Cell, group: &str) -> Samples {
        if self.ground == Ground::Plan {
            return self.planned(|seed| vec![seed]);
        }
        let groups = Groups::of(&self.points()[point].experiment);
        let runs = self.results.runs_of(point, stack).iter();
        let runs = runs.filter(|run| self.results.is_sound(run));
        let values = runs.filter_map(|run| {
            let own = groups.named(group).flat_map(|group| group.goodputs(run));
            let own: Vec<f64> = own.copied().collect();
            let value = match name {
                "fairness" => jain_index(&own)?,
                _ => own.iter().sum(),
            };
            Some((vec![run.seed], value))
        });
        Samples(values.collect())
    }

    /// Returns the index ranges of the flows in a run, restricted to the group `only`.
    fn places_of(&self, which: Flows, point: usize, only: Option<&str>) -> Vec<Range<usize>> {
        let groups = Groups::of(&self.points()[point].experiment);
        let wanted = groups.all().iter().filter(|group| match which {
            Flows::Compared => group.stack.is_none(),
            Flows::Others => group.stack.is_some(),
            Flows::Every => true,
        });
        let wanted = wanted.filter(|group| only.is_none_or(|name| group.name == name));
        wanted.map(|group| group.flows.clone()).collect()
    }

    /// Returns the keys of the experiment file that have numbers at a point.
    pub(crate) fn settings(&self, point: usize) -> Vec<String> {
        let point = &self.points()[point];
        let mut keys = Vec::new();
        if let Ok(table) = toml::Table::try_from(&*point.experiment) {
            leaves(&toml::Value::Table(table), "", &mut keys);
        }
        keys.retain(|key| self.setting(key, 0).is_some());
        keys
    }

    /// Returns the value of a key of the experiment file at a point, in base units: bit/s, s, bytes, packets,
    /// fractions. Returns `None` if the file does not set the key or its value is not a number.
    pub(crate) fn setting(&self, key: &str, point: usize) -> Option<f64> {
        let point = &self.points()[point];
        if let Some((_, value)) = point.values.iter().find(|(known, _)| known == key) {
            return base(value);
        }
        let table = toml::Table::try_from(&*point.experiment).ok()?;
        let mut here = &toml::Value::Table(table);
        for step in dupack_lab::experiment::load::split(key) {
            here = match here {
                toml::Value::Table(table) => table.get(&step)?,
                toml::Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        match here {
            toml::Value::Integer(number) => Some(*number as f64),
            toml::Value::Float(number) => Some(*number),
            toml::Value::String(text) => base(&SweepValue::Text(text.clone())),
            _ => None,
        }
    }
}

/// Collects the keys of values that are neither tables nor arrays.
fn leaves(of: &toml::Value, key: &str, out: &mut Vec<String>) {
    let below = |part: &str| match key {
        "" => part.to_owned(),
        key => format!("{key}.{part}"),
    };
    match of {
        toml::Value::Table(table) => {
            for (part, value) in table {
                leaves(value, &below(part), out);
            }
        }
        toml::Value::Array(items) => {
            for (n, value) in items.iter().enumerate() {
                leaves(value, &below(&n.to_string()), out);
            }
        }
        _ => out.push(key.to_owned()),
    }
}

/// Returns a swept value in base units.
fn base(value: &SweepValue) -> Option<f64> {
    let (number, unit) = scaled(value)?;
    Some(match unit {
        "%" => number / 100.0,
        "Mbit/s" => number * 1e6,
        "ms" => number / 1e3,
        "kB" => number * 1e3,
        _ => number,
    })
}
