//! What an expression comes to: numbers, samples over seeds, verdicts, and lists of them.

use std::cmp::Ordering;

use super::Verdict;
use crate::experiment::SweepValue;
use crate::stats::Summary;

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
    Stack(Stack),
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
    pub(super) fn map(&self, of: impl Fn(f64) -> f64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(key, value)| (key.clone(), of(*value)))
                .collect(),
        )
    }

    /// Samples of the same run together; what has no partner or no finite value is left out.
    pub(super) fn paired(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Self {
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
    pub(super) fn kind(&self) -> &'static str {
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

    /// All that is in it and no list.
    pub(super) fn leaves(&self) -> Vec<&Self> {
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

/// The 95 % interval, or the mean alone if there is only one sample.
pub(super) fn interval(summary: &Summary) -> (f64, f64) {
    summary
        .interval_95()
        .unwrap_or((summary.mean, summary.mean))
}

/// Whether a mean is on one side of a bound: for certain if its whole interval is.
pub(super) fn beside(summary: &Summary, bound: f64, wanted: Ordering, or_equal: bool) -> Verdict {
    let (low, high) = interval(summary);
    let is = |value: f64| match value.partial_cmp(&bound) {
        Some(Ordering::Equal) => or_equal,
        other => other == Some(wanted),
    };
    match (is(low), is(high)) {
        (true, true) => Verdict::Holds,
        (false, false) => Verdict::DoesNotHold,
        _ => Verdict::CannotBeTold,
    }
}

/// Whether a mean lies within bounds: it does not if the interval lies outside of them, and
/// cannot be told if only the mean does.
pub(super) fn within(summary: &Summary, low: f64, high: f64) -> Verdict {
    let (from, to) = interval(summary);
    if to < low || high < from {
        Verdict::DoesNotHold
    } else if low <= summary.mean && summary.mean <= high {
        Verdict::Holds
    } else {
        Verdict::CannotBeTold
    }
}

/// Whether a mean is on its side of a bound. On the other side with an interval that contains
/// the bound, it cannot be told.
pub(super) fn leans(summary: &Summary, bound: f64, wanted: Ordering) -> Verdict {
    let (low, high) = interval(summary);
    if summary.mean.partial_cmp(&bound) == Some(wanted) {
        Verdict::Holds
    } else if low <= bound && bound <= high {
        Verdict::CannotBeTold
    } else {
        Verdict::DoesNotHold
    }
}

/// Whether one mean is above another: for certain if the intervals do not touch.
pub(super) fn exceeds(one: &Summary, other: &Summary) -> Verdict {
    if interval(one).0 > interval(other).1 {
        Verdict::Holds
    } else if one.mean > other.mean {
        Verdict::CannotBeTold
    } else {
        Verdict::DoesNotHold
    }
}

/// Whether a curve grows: not if a step falls for certain or the ends do not rise, and it cannot
/// be told if the ends' intervals overlap.
pub(super) fn grows(curve: &[Summary]) -> Verdict {
    let falls = |pair: &[Summary]| interval(&pair[1]).1 < interval(&pair[0]).0;
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return Verdict::CannotBeTold;
    };
    if curve.windows(2).any(falls) || last.mean <= first.mean {
        Verdict::DoesNotHold
    } else if interval(last).0 > interval(first).1 {
        Verdict::Holds
    } else {
        Verdict::CannotBeTold
    }
}

impl Verdict {
    /// Both: what does not hold decides, then what cannot be told.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::DoesNotHold, _) | (_, Self::DoesNotHold) => Self::DoesNotHold,
            (Self::CannotBeTold, _) | (_, Self::CannotBeTold) => Self::CannotBeTold,
            _ => Self::Holds,
        }
    }

    /// One of both: what holds decides, then what cannot be told.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Holds, _) | (_, Self::Holds) => Self::Holds,
            (Self::CannotBeTold, _) | (_, Self::CannotBeTold) => Self::CannotBeTold,
            _ => Self::DoesNotHold,
        }
    }

    /// The contrary.
    #[must_use]
    pub const fn contrary(self) -> Self {
        match self {
            Self::Holds => Self::DoesNotHold,
            Self::DoesNotHold => Self::Holds,
            Self::CannotBeTold => Self::CannotBeTold,
        }
    }
}
