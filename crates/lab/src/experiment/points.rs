//! Points of an experiment: one for each combination of swept values, or one for each explicit point.

use std::collections::HashSet;
use std::sync::Arc;

use toml::{Table, Value};

use super::load::{ExperimentError, Source, in_words, meant, split};
use super::{Experiment, SweepValue};

/// One combination of swept values.
#[derive(Clone, Debug)]
pub struct Point {
    /// Keys and values in the order of the sweep. Empty without a sweep.
    pub values: Vec<(String, SweepValue)>,
    /// The experiment with these values and without a sweep. Scenarios share it.
    pub experiment: Arc<Experiment>,
}

impl Point {
    /// Returns a description of the point: `loss 1%, delay 20ms`. A key is shown by its last part. If several keys have
    /// the same last part and equal values, the description contains it once. If their values differ, the last two
    /// parts of the keys are shown.
    #[must_use]
    pub fn label(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (key, value) in &self.values {
            let end = last_of(key, 1);
            let alike =
                |(other, own): &(String, SweepValue)| last_of(other, 1) == end && own != value;
            let name = match self.values.iter().any(alike) {
                true => last_of(key, 2),
                false => end,
            };
            let part = format!("{name} {value}");
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts.join(", ")
    }
}

/// Returns the last `n` parts of a key.
fn last_of(key: &str, n: usize) -> &str {
    let from = key.rmatch_indices('.').nth(n - 1);
    from.map_or(key, |(at, _)| &key[at + 1..])
}

/// Value for a key, with its place in the file.
#[derive(Clone, Debug)]
struct Setting {
    key: String,
    value: SweepValue,
    place: String,
}

/// Returns every point of the sweep, where the last key varies fastest, or the explicit points.
///
/// # Errors
/// If a key does not exist in experiments, or a value is invalid for its key.
pub fn points(experiment: &Experiment, source: &Source) -> Result<Vec<Point>, ExperimentError> {
    let base = bare(experiment);
    let combinations = if experiment.points.is_empty() {
        combinations(experiment, source)?
    } else {
        listed(experiment, source)?
    };
    combinations
        .into_iter()
        .map(|settings| point(&base, settings, source))
        .collect()
}

/// Returns the point with `values` set in the experiment `base`, which has no sweep.
///
/// # Errors
/// If a key does not exist in experiments, or a value is invalid for its key.
pub(crate) fn set_in(
    base: &Table,
    values: &[(String, SweepValue)],
    source: &Source,
) -> Result<Point, ExperimentError> {
    let mut table = base.clone();
    let set_all = values
        .iter()
        .try_for_each(|(key, value)| set(&mut table, key, value));
    // All values are set at once, because they are set for every run. The values are checked one by one only to locate
    // an error.
    if set_all.is_ok()
        && let Ok(experiment) = table.try_into::<Experiment>()
    {
        let (values, experiment) = (values.to_vec(), Arc::new(experiment));
        return Ok(Point { values, experiment });
    }
    let settings = values.iter().map(|(key, value)| {
        sweepable(key, key, source)?;
        Ok(Setting {
            key: key.clone(),
            value: value.clone(),
            place: key.clone(),
        })
    });
    point(
        base,
        settings.collect::<Result<_, ExperimentError>>()?,
        source,
    )
}

/// Returns the experiment as a table, without the sweep and other keys that do not affect a run.
pub(crate) fn bare(experiment: &Experiment) -> Table {
    let mut bare = experiment.clone();
    bare.sweep.clear();
    bare.points.clear();
    // Claims do not affect a run.
    bare.names.clear();
    bare.define.clear();
    bare.claims.clear();
    Table::try_from(&bare).expect("an experiment is a TOML table")
}

/// Returns the point with these settings in the experiment `base`.
fn point(base: &Table, settings: Vec<Setting>, source: &Source) -> Result<Point, ExperimentError> {
    let mut table = base.clone();
    for Setting { key, value, place } in &settings {
        let fail = |message: String, help: Option<String>| {
            ExperimentError::at(source, place, message, help)
        };
        // The error is in the key, not in the value.
        set(&mut table, key, value)
            .map_err(|m| ExperimentError::at_key(source, key_of(place), m, None))?;
        // Settings are applied one at a time, so that the error points at the invalid value.
        if let Err(error) = table.clone().try_into::<Experiment>() {
            let message = in_words(error.message());
            // If the key does not exist, the message must not mention its value.
            if message.starts_with("unknown field")
                && let Some(meant) = meant(&message)
            {
                let key = key_of(place);
                return Err(ExperimentError::at_key(source, key, message, Some(meant)));
            }
            let help = format!("this sets `{key}` to `{value}`");
            return Err(fail(message, Some(help)));
        }
    }
    Ok(Point {
        experiment: Arc::new(table.try_into().expect("the table was just checked")),
        values: settings.into_iter().map(|s| (s.key, s.value)).collect(),
    })
}

/// Returns the place of the key to which the value at `place` belongs. The value may be an item of a list.
fn key_of(place: &str) -> &str {
    let end = place.rfind('"').map_or(place.len(), |quote| quote + 1);
    &place[..end]
}

/// Returns an error at the second of two equal values, because two points would have the same name.
fn once<'v>(
    values: impl Iterator<Item = (String, &'v str)>,
    source: &Source,
) -> Result<(), ExperimentError> {
    let mut seen = HashSet::new();
    for (value, place) in values {
        if !seen.insert(value.clone()) {
            let message = format!("`{value}` occurs twice");
            let help = "remove one of the two: every point is run with all seeds".to_owned();
            return Err(ExperimentError::at(source, place, message, Some(help)));
        }
    }
    Ok(())
}

/// Combines every value of every key with every value of the others.
fn combinations(
    experiment: &Experiment,
    source: &Source,
) -> Result<Vec<Vec<Setting>>, ExperimentError> {
    let counts = experiment.sweep.values().map(Vec::len);
    bounded(counts.fold(1_usize, usize::saturating_mul), "sweep", source)?;
    let mut combinations: Vec<Vec<Setting>> = vec![Vec::new()];
    for (key, values) in &experiment.sweep {
        let place = format!("sweep.\"{key}\"");
        sweepable(key, &place, source)?;
        if values.is_empty() {
            let message = format!("the sweep over `{key}` has no values");
            return Err(ExperimentError::at(source, &place, message, None));
        }
        let values = values.iter().enumerate().map(|(i, value)| Setting {
            key: key.clone(),
            value: value.clone(),
            place: format!("{place}.{i}"),
        });
        let values: Vec<Setting> = values.collect();
        let told = values.iter().map(|s| (s.value.to_string(), &*s.place));
        once(told, source)?;
        combinations = combinations
            .into_iter()
            .flat_map(|done| {
                values.iter().map(move |setting| {
                    let mut next = done.clone();
                    next.push(setting.clone());
                    next
                })
            })
            .collect();
    }
    Ok(combinations)
}

/// Returns the explicit points.
fn listed(experiment: &Experiment, source: &Source) -> Result<Vec<Vec<Setting>>, ExperimentError> {
    let fail = |place: &str, message: String, help: &str| {
        Err(ExperimentError::at(
            source,
            place,
            message,
            Some(help.to_owned()),
        ))
    };
    if !experiment.sweep.is_empty() {
        let message = "an experiment cannot have both a sweep and a list of points".to_owned();
        return fail("sweep", message, "remove either `[sweep]` or `[[points]]`");
    }
    bounded(experiment.points.len(), "points", source)?;
    let keys: Vec<&String> = experiment.points[0].keys().collect();
    let mut all = Vec::new();
    for (n, values) in experiment.points.iter().enumerate() {
        let place = format!("points.{n}");
        if !values.keys().eq(keys.iter().copied()) {
            let message = format!(
                "point {} does not set the same keys as the first point",
                n + 1
            );
            return fail(&place, message, "set the same keys in every point");
        }
        let settings = values.iter().map(|(key, value)| {
            let place = format!("{place}.\"{key}\"");
            sweepable(key, &place, source)?;
            Ok(Setting {
                key: key.clone(),
                value: value.clone(),
                place,
            })
        });
        all.push(settings.collect::<Result<Vec<_>, ExperimentError>>()?);
    }
    let places: Vec<String> = (0..all.len()).map(|n| format!("points.{n}")).collect();
    let told = all.iter().zip(&places).map(|(settings, place)| {
        let values = settings.iter().map(|s| format!("{} = {}", s.key, s.value));
        (values.collect::<Vec<_>>().join(", "), &**place)
    });
    once(told, source)?;
    Ok(all)
}

/// Maximum number of points of a sweep.
const MOST_POINTS: usize = 10_000;

fn bounded(points: usize, place: &str, source: &Source) -> Result<(), ExperimentError> {
    if points <= MOST_POINTS {
        return Ok(());
    }
    let message = format!("the experiment has {points} points; the maximum is {MOST_POINTS}");
    let help = "every value of a key is combined with every value of the others".to_owned();
    Err(ExperimentError::at(source, place, message, Some(help)))
}

/// Rejects keys that cannot be swept: stacks and seeds are compared at every point, and titles and claims do not affect
/// a run.
pub(crate) fn sweepable(key: &str, place: &str, source: &Source) -> Result<(), ExperimentError> {
    let help = match split(key)[0].as_str() {
        "stacks" => "list every stack in `stacks`: they are compared at every point",
        "precision" | "seeds_max" => "set it once: it applies to every point",
        "seeds" => "list the seeds in `seeds`: every point is run with all of them",
        "title" | "description" | "sweep" | "points" | "names" | "define" | "claim" => {
            "sweep a key that affects the runs"
        }
        _ => return Ok(()),
    };
    let message = format!("`{key}` cannot be swept");
    Err(ExperimentError::at(
        source,
        place,
        message,
        Some(help.to_owned()),
    ))
}

/// Sets the value at the dotted `key`. Missing tables are created; missing items of arrays are not.
fn set(table: &mut Table, key: &str, value: &SweepValue) -> Result<(), String> {
    let keys = split(key);
    let (last, way) = keys.split_last().expect("a key has at least one part");
    let mut here = Slot::Table(table);
    for (step, next) in way.iter().zip(&keys[1..]) {
        here = here.step((step.as_str(), next.as_str()), key)?;
    }
    here.put(last, to_toml(value), key)
}

/// Table or array inside a TOML value.
enum Slot<'a> {
    Table(&'a mut Table),
    Array(&'a mut Vec<Value>),
}

impl<'a> Slot<'a> {
    fn step(self, (step, next): (&str, &str), key: &str) -> Result<Self, String> {
        let value = match self {
            // A missing list is not created, because the contents of its items are unknown.
            Slot::Table(table) if !table.contains_key(step) && next.parse::<usize>().is_ok() => {
                return Err(format!(
                    "`{key}`: the file has no `{step}`: add a [[{step}]] table with the key to \
                     sweep"
                ));
            }
            Slot::Table(table) => table
                .entry(step)
                .or_insert_with(|| Value::Table(Table::new())),
            Slot::Array(items) => item(items, step, key)?,
        };
        match value {
            Value::Table(table) => Ok(Slot::Table(table)),
            Value::Array(items) => Ok(Slot::Array(items)),
            _ => Err(format!("`{key}`: `{step}` is a value and has no keys")),
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
            "`{key}`: expected a number from 0 to {} instead of `{step}`",
            count.max(1) - 1
        )
    })?;
    items
        .get_mut(index)
        .ok_or_else(|| format!("`{key}`: there is no item {index}; the list has {count}"))
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
        let source = Source::new("test.toml", text);
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
    fn keys_with_equal_ends_are_merged_or_distinguished() {
        let point = |forward: &str, reverse: &str| Point {
            values: [("links.1.loss", forward), ("links.3.reverse.loss", reverse)]
                .map(|(key, value)| (key.to_owned(), SweepValue::Text(value.to_owned())))
                .to_vec(),
            experiment: Arc::new(Experiment::new(vec!["sack/reno".to_owned()])),
        };
        assert_eq!(point("1%", "1%").label(), "loss 1%");
        assert_eq!(point("3%", "0%").label(), "1.loss 3%, reverse.loss 0%");
    }

    #[test]
    fn a_default_can_be_swept() {
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

    const LISTED: &str = "stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\n";

    #[test]
    fn points_may_be_explicit() {
        let text = format!(
            "{LISTED}[[points]]\n\"path.loss\" = \"1%\"\n\"path.delay\" = \"5ms\"\n\
             [[points]]\n\"path.loss\" = \"3%\"\n\"path.delay\" = \"7ms\"\n"
        );
        let points = unroll(&text).unwrap();
        let labels: Vec<String> = points.iter().map(Point::label).collect();
        assert_eq!(labels, ["delay 5ms, loss 1%", "delay 7ms, loss 3%"]);
    }

    #[test]
    fn inconsistent_explicit_points_are_errors() {
        for (lines, part) in [
            (
                "[[points]]\n\"path.loss\" = \"1%\"\n[[points]]\n\"path.delay\" = \"1ms\"\n",
                "does not set the same keys",
            ),
            (
                "[[points]]\n\"path.loss\" = \"1%\"\n[sweep]\n\"path.delay\" = [\"1ms\"]\n",
                "both a sweep and a list",
            ),
            ("[[points]]\n\"path.loss\" = \"many\"\n", "many"),
            ("[[points]]\nseeds = 3\n", "cannot be swept"),
            (
                "[[points]]\n\"path.loss\" = \"1%\"\n[[points]]\n\"path.loss\" = \"1%\"\n",
                "`path.loss = 1%` occurs twice",
            ),
        ] {
            let error = unroll(&format!("{LISTED}{lines}")).unwrap_err();
            assert!(error.contains(part), "{lines}: {error}");
        }
    }

    /// Returns the part of the text that the error points at.
    fn pointed(text: &str) -> String {
        let source = Source::new("test.toml", text);
        let error = points(&source.parse().unwrap(), &source).unwrap_err();
        let ExperimentError::Invalid(complaint) = error else {
            panic!("{error}");
        };
        let at = complaint.at.unwrap();
        text[at.offset()..at.offset() + at.len()].to_owned()
    }

    #[test]
    fn an_error_points_at_the_key_or_at_the_second_of_two_equal_values() {
        let twice = "\"path.delay\" = [\"5ms\", \"7ms\",  \"5ms\"]\n";
        let text = format!("{BASE}{twice}");
        let source = Source::new("test.toml", &text);
        let error = points(&source.parse().unwrap(), &source).unwrap_err();
        let ExperimentError::Invalid(complaint) = error else {
            panic!("{error}");
        };
        assert_eq!(
            complaint.at.unwrap().offset(),
            text.rfind("\"5ms\"").unwrap()
        );
        let no_list = format!("{BASE}\"udp.0.rate\" = [\"1Mbit/s\"]\n");
        assert_eq!(pointed(&no_list), "\"udp.0.rate\"");
        let no_item = format!("{BASE}\"flows.3.count\" = [1]\n");
        assert_eq!(pointed(&no_item), "\"flows.3.count\"");
    }

    #[test]
    fn invalid_keys_and_values_are_errors() {
        for (line, part) in [
            ("\"path.lsos\" = [\"1%\"]", "unknown field `lsos`"),
            ("\"path.loss\" = [\"5\"]", "5"),
            ("\"flows.3.count\" = [1]", "there is no item 3"),
            ("\"path.rate.x\" = [1]", "has no keys"),
            ("\"path.loss\" = []", "no values"),
            ("\"path.delay\" = [\"5ms\", \"5ms\"]", "`5ms` occurs twice"),
            ("\"udp.0.rate\" = [\"1Mbit/s\"]", "add a [[udp]] table"),
            ("\"stacks.0\" = [\"le/reno\"]", "cannot be swept"),
            ("\"seeds\" = [1, 2]", "cannot be swept"),
        ] {
            let error = unroll(&format!("{BASE}{line}\n")).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
