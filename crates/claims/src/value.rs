//! What an expression comes to: numbers, samples over seeds, verdicts, and lists of them.

use std::sync::Arc;

use dupack_lab::experiment::SweepValue;
use dupack_lab::stats::Summary;

use crate::verdict::Verdict;

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number without a spread.
    Number(f64),
    /// A number for every run.
    Samples(Samples),
    /// A mean with its interval whose samples are not known.
    Estimate(Summary),
    /// Words.
    Text(String),
    /// Whether something is so.
    Truth(Verdict),
    /// A stack.
    Stack(Arc<Stack>),
    /// A point of an experiment.
    Point(Place),
    /// Several values.
    List(List),
    /// There should be a value, but runs are missing or do not show it.
    Missing,
}

/// A stack as a file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// What the file calls it.
    pub name: String,
    /// For people.
    pub label: String,
    /// Its text, or its texts in several experiments, in their canonical spelling.
    pub texts: Vec<String>,
    /// What it is in an experiment that has none of these.
    pub instead: Vec<String>,
}

/// A point of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// For people.
    pub label: String,
    /// The experiment, by its place among those that there are.
    pub scene: usize,
    /// The point, by its place in the experiment.
    pub point: usize,
    /// What it sets.
    pub values: Vec<(String, SweepValue)>,
}

/// Values with their names.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// What the items are.
    pub kind: ListKind,
    /// The items, each with its name.
    pub items: Vec<(String, Value)>,
}

/// What the items of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// One for every point, so that two lists belong together only if they have the same points.
    Points,
    /// Others.
    Plain,
}

/// A number for every run, in ascending order of the keys: the seed, and before it the item of
/// the list if several were pooled, and after it the flow if it is one of every flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples(pub Vec<(Vec<u64>, f64)>);

impl Samples {
    /// Mean and interval; nothing if no sample is finite.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let values: Vec<f64> = self.0.iter().map(|(_, value)| *value).collect();
        Summary::of(&values)
    }

    /// Every sample by itself.
    pub(crate) fn map(&self, of: impl Fn(f64) -> f64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(key, value)| (key.clone(), of(*value)))
                .collect(),
        )
    }

    /// Samples of the same run together; what has no partner or no finite value is left out.
    pub(crate) fn paired(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let mut others = other.0.iter().peekable();
        let mut out = Vec::new();
        for (key, own) in &self.0 {
            while others.next_if(|(theirs, _)| theirs < key).is_some() {}
            if let Some((_, theirs)) = others.next_if(|(theirs, _)| theirs == key) {
                let value = of(*own, *theirs);
                if value.is_finite() {
                    out.push((key.clone(), value));
                }
            }
        }
        Self(out)
    }
}

impl Value {
    /// Its kind in words, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Samples(_) => "a measure over the seeds",
            Self::Estimate(_) => "an estimate",
            Self::Text(_) => "text",
            Self::Truth(_) => "true or false",
            Self::Stack(_) => "a stack",
            Self::Point(_) => "a point",
            Self::List(_) => "a list",
            Self::Missing => "nothing",
        }
    }

    /// Its mean and interval, if it is a quantity.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        match self {
            Self::Number(number) => Some(Summary {
                n: 1,
                mean: *number,
                standard_deviation: None,
                half_width_95: None,
                min: *number,
                max: *number,
            }),
            Self::Samples(samples) => samples.summary(),
            Self::Estimate(summary) => Some(*summary),
            _ => None,
        }
    }

    /// Its items, or itself as the only one.
    #[must_use]
    pub fn items(&self) -> Vec<(&str, &Self)> {
        match self {
            Self::List(list) => {
                let items = list.items.iter();
                items.map(|(name, value)| (name.as_str(), value)).collect()
            }
            other => vec![("", other)],
        }
    }

    /// Puts `instead` in the place of numbers that are not finite; how many values there are.
    pub(crate) fn replace_not_finite(&mut self, instead: &Self) -> usize {
        let finite = |summary: &Summary| {
            let half = summary.half_width_95.unwrap_or(0.0);
            summary.mean.is_finite() && half.is_finite()
        };
        match self {
            Self::List(list) => {
                let items = list.items.iter_mut();
                items
                    .map(|(_, item)| 1 + item.replace_not_finite(instead))
                    .sum()
            }
            Self::Number(number) if !number.is_finite() => {
                *self = instead.clone();
                1
            }
            Self::Estimate(summary) if !finite(summary) => {
                *self = instead.clone();
                1
            }
            Self::Samples(Samples(all)) => all.len(),
            _ => 1,
        }
    }

    /// All that is in it and no list.
    pub(crate) fn leaves(&self) -> Vec<&Self> {
        match self {
            Self::List(list) => list
                .items
                .iter()
                .flat_map(|(_, item)| item.leaves())
                .collect(),
            other => vec![other],
        }
    }
}

impl From<Option<Summary>> for Value {
    fn from(summary: Option<Summary>) -> Self {
        summary.map_or(Self::Missing, Self::Estimate)
    }
}

/// An estimate with its mean and the ends of its interval moved.
pub(crate) fn shifted(summary: &Summary, of: impl Fn(f64) -> f64) -> Value {
    let moved = summary
        .interval_95()
        .map(|(low, high)| (of(low) - of(high)).abs() / 2.0);
    let mean = of(summary.mean);
    Value::Estimate(Summary {
        mean,
        half_width_95: moved,
        min: mean - moved.unwrap_or(0.0),
        max: mean + moved.unwrap_or(0.0),
        ..*summary
    })
}
