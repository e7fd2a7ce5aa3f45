//! Values of expressions: numbers, samples over seeds, verdicts, and lists of them.

use std::sync::Arc;

use dupack_lab::experiment::SweepValue;
use dupack_lab::stats::Summary;

use crate::verdict::Verdict;

/// Value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number without a spread.
    Number(f64),
    /// A number for every run.
    Samples(Samples),
    /// A mean with its interval, without samples.
    Estimate(Summary),
    /// Text.
    Text(String),
    /// A truth value.
    Truth(Verdict),
    /// A stack.
    Stack(Arc<Stack>),
    /// A point of an experiment.
    Point(Place),
    /// Several values.
    List(List),
    /// A missing value: the runs are missing or do not show it.
    Missing,
}

/// A stack with its name in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Name in the file.
    pub name: String,
    /// Label for readers.
    pub label: String,
    /// The stack in its canonical spelling, or several stacks for which the name stands in different experiments.
    pub texts: Vec<String>,
    /// Alternatives for an experiment that has none of `texts`.
    pub instead: Vec<String>,
}

/// A point of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Label for readers.
    pub label: String,
    /// Index of the experiment in the world.
    pub scene: usize,
    /// Index of the point in the experiment.
    pub point: usize,
    /// Swept keys with their values at the point.
    pub values: Vec<(String, SweepValue)>,
}

/// A list of named values.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// Kind of the items.
    pub kind: ListKind,
    /// The items with their names.
    pub items: Vec<(String, Value)>,
}

/// Kind of the items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// One item per point. Two such lists can be combined only if they have the same points.
    Points,
    /// Other items.
    Plain,
}

/// A number for every run, in ascending order of keys. A key contains the seed. If several quantities were pooled, the
/// index of the quantity comes before the seed. If the measure has a value per flow, the index of the flow comes after
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples(pub Vec<(Vec<u64>, f64)>);

impl Samples {
    /// Returns the mean and its interval, or `None` if no sample is finite.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let values: Vec<f64> = self.0.iter().map(|(_, value)| *value).collect();
        Summary::of(&values)
    }

    /// Applies `of` to every sample.
    pub(crate) fn map(&self, of: impl Fn(f64) -> f64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(key, value)| (key.clone(), of(*value)))
                .collect(),
        )
    }

    /// Combines samples of the same run. Drops samples without a partner and results that are not finite.
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
    /// Returns the kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Samples(_) => "a measure over the seeds",
            Self::Estimate(_) => "an estimate",
            Self::Text(_) => "text",
            Self::Truth(_) => "a truth value",
            Self::Stack(_) => "a stack",
            Self::Point(_) => "a point",
            Self::List(_) => "a list",
            Self::Missing => "a missing value",
        }
    }

    /// Returns the mean and its interval if the value is a quantity.
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

    /// Returns the items of a list, or the value itself as the only item.
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

    /// Replaces numbers that are not finite by `instead` and returns the number of values.
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

    /// Returns all values in nested lists that are not lists themselves.
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

/// Applies `of` to the mean of an estimate and to the ends of its interval. The new half width is half the distance
/// between the new ends.
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
