//! The points of a sweep: the experiment with each combination of swept values in place.

use toml::{Table, Value};

use super::load::{ExperimentError, Source, split};
use super::{Experiment, SweepValue};

/// One combination of swept values.
#[derive(Clone, Debug)]
pub struct Point {
    /// Keys and values, in the order of the sweep; empty without a sweep.
    pub values: Vec<(String, SweepValue)>,
    /// The experiment with these values in place and no sweep.
    pub experiment: Experiment,
}

impl Point {
    /// The point in words: `path.loss = 1%, path.delay = 20ms`.
    #[must_use]
    pub fn label(&self) -> String {
        let parts = self.values.iter().map(|(key, value)| {
            let short = key.rsplit('.').next().unwrap_or(key);
            format!("{short} {value}")
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Every point of the sweep, the last key varying fastest.
///
/// # Errors
/// If a key names nothing that an experiment has, or a value does not fit its key.
pub fn points(experiment: &Experiment, source: &Source) -> Result<Vec<Point>, ExperimentError> {
    let mut bare = experiment.clone();
    bare.sweep.clear();
    let base = Table::try_from(&bare).expect("an experiment is a TOML table");
    bounded(experiment, source)?;
    let mut combinations: Vec<Vec<(String, usize, SweepValue)>> = vec![Vec::new()];
    for (key, values) in &experiment.sweep {
        sweepable(key, source)?;
        if values.is_empty() {
            let message = format!("the sweep over `{key}` has no values");
            let path = format!("sweep.\"{key}\"");
            return Err(ExperimentError::at(source, &path, message, None));
        }
        combinations = combinations
            .into_iter()
            .flat_map(|done| {
                values.iter().enumerate().map(move |(i, value)| {
                    let mut next = done.clone();
                    next.push((key.clone(), i, value.clone()));
                    next
                })
            })
            .collect();
    }
    combinations
        .into_iter()
        .map(|chosen| {
            let mut table = base.clone();
            for (key, index, value) in &chosen {
                let fail = |message: String, help: Option<String>| {
                    let path = format!("sweep.\"{key}\".{index}");
                    ExperimentError::at(source, &path, message, help)
                };
                set(&mut table, key, value).map_err(|m| fail(m, None))?;
                // One at a time, so that a value that does not fit is the one pointed at.
                if let Err(error) = table.clone().try_into::<Experiment>() {
                    let help = format!("the sweep sets `{key}` to `{value}`");
                    return Err(fail(error.message().to_owned(), Some(help)));
                }
            }
            Ok(Point {
                experiment: table.try_into().expect("it was just checked"),
                values: chosen.into_iter().map(|(k, _, v)| (k, v)).collect(),
            })
        })
        .collect()
}

/// The most points that a sweep may have.
const MOST_POINTS: usize = 10_000;

fn bounded(experiment: &Experiment, source: &Source) -> Result<(), ExperimentError> {
    let counts = experiment.sweep.values().map(Vec::len);
    let points = counts.fold(1_usize, usize::saturating_mul);
    if points <= MOST_POINTS {
        return Ok(());
    }
    let message = format!("the sweep has {points} points; the most is {MOST_POINTS}");
    let help = "every value of a key is combined with every value of the others".to_owned();
    Err(ExperimentError::at(source, "sweep", message, Some(help)))
}

/// Stacks and seeds are compared at every point as they are; words change nothing.
fn sweepable(key: &str, source: &Source) -> Result<(), ExperimentError> {
    let help = match split(key)[0].as_str() {
        "stacks" => "list every stack in `stacks`: they are compared at every point",
        "seeds" => "give the seeds in `seeds`: every point is run with all of them",
        "title" | "description" | "sweep" => "sweep over what the runs depend on",
        _ => return Ok(()),
    };
    let message = format!("`{key}` cannot be swept");
    let path = format!("sweep.\"{key}\"");
    Err(ExperimentError::at(
        source,
        &path,
        message,
        Some(help.to_owned()),
    ))
}

/// Puts `value` at the dotted `key`; tables on the way are made, items of arrays are not.
fn set(table: &mut Table, key: &str, value: &SweepValue) -> Result<(), String> {
    let keys = split(key);
    let (last, way) = keys.split_last().expect("there is at least one");
    let mut here = Slot::Table(table);
    for step in way {
        here = here.step(step, key)?;
    }
    here.put(last, to_toml(value), key)
}

/// A place inside a TOML value where one can go on.
enum Slot<'a> {
    Table(&'a mut Table),
    Array(&'a mut Vec<Value>),
}

impl<'a> Slot<'a> {
    fn step(self, step: &str, key: &str) -> Result<Self, String> {
        let value = match self {
            Slot::Table(table) => table
                .entry(step)
                .or_insert_with(|| Value::Table(Table::new())),
            Slot::Array(items) => item(items, step, key)?,
        };
        match value {
            Value::Table(table) => Ok(Slot::Table(table)),
            Value::Array(items) => Ok(Slot::Array(items)),
            _ => Err(format!("`{key}`: `{step}` is a value and holds no keys")),
        }
    }

    fn put(self, step: &str, value: Value, key: &str) -> Result<(), String> {
        match self {
            Slot::Table(table) => {
                table.insert(step.to_owned(), value);
            }
            Slot::Array(items) => *item(items, step, key)? = value,
        }
        Ok(())
    }
}

fn item<'a>(items: &'a mut [Value], step: &str, key: &str) -> Result<&'a mut Value, String> {
    let count = items.len();
    let index: usize = step.parse().map_err(|_| {
        format!(
            "`{key}`: `{step}` should be a number, 0 to {}",
            count.max(1) - 1
        )
    })?;
    items
        .get_mut(index)
        .ok_or_else(|| format!("`{key}`: there is no item {index}; there are {count}"))
}

fn to_toml(value: &SweepValue) -> Value {
    match value {
        SweepValue::Text(text) => Value::String(text.clone()),
        SweepValue::Integer(number) => Value::Integer(*number),
        SweepValue::Real(number) => Value::Float(*number),
        SweepValue::Switch(on) => Value::Boolean(*on),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unroll(text: &str) -> Result<Vec<Point>, String> {
        let source = Source {
            name: "test.toml".to_owned(),
            text: text.to_owned(),
            folder: std::path::PathBuf::new(),
        };
        let experiment = source.parse().map_err(|e| e.to_string())?;
        points(&experiment, &source).map_err(|e| e.to_string())
    }

    const BASE: &str =
        "stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\n[[flows]]\ncount = 1\n[sweep]\n";

    #[test]
    fn two_keys_make_every_combination() {
        let text =
            format!("{BASE}\"flows.0.count\" = [1, 5]\n\"path.loss\" = [\"1%\", \"2%\", \"3%\"]\n");
        let points = unroll(&text).unwrap();
        let labels: Vec<String> = points.iter().map(Point::label).collect();
        assert_eq!(labels.len(), 6);
        assert_eq!(labels[4], "count 5, loss 2%");
        assert_eq!(points[4].experiment.flows[0].count, 5);
    }

    #[test]
    fn what_is_left_out_can_be_swept() {
        let text = format!("{BASE}\"receiver.delayed_ack\" = [\"0s\", \"200ms\"]\n");
        let points = unroll(&text).unwrap();
        assert_eq!(
            points[1]
                .experiment
                .receiver
                .delayed_ack
                .map(|d| d.as_nanos()),
            Some(200_000_000)
        );
    }

    #[test]
    fn keys_and_values_that_do_not_fit_are_errors() {
        for (line, part) in [
            ("\"path.lsos\" = [\"1%\"]", "unknown field `lsos`"),
            ("\"path.loss\" = [\"5\"]", "5"),
            ("\"flows.3.count\" = [1]", "there is no item 3"),
            ("\"path.rate.x\" = [1]", "holds no keys"),
            ("\"path.loss\" = []", "no values"),
            ("\"stacks.0\" = [\"le/reno\"]", "cannot be swept"),
            ("\"seeds\" = [1, 2]", "cannot be swept"),
        ] {
            let error = unroll(&format!("{BASE}{line}\n")).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
