//! Changes that turn one experiment into another: setting, removing, dividing and multiplying values, selecting points,
//! and replacing stacks.

use std::collections::BTreeMap;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_lab::experiment::load::split;
use dupack_lab::experiment::{Experiment, SweepValue};
use dupack_lab::units::{Buffer, ByteCount, Probability, Rate};
use serde::Deserialize;
use toml::{Table, Value};

/// Changes to an experiment, for a quick look or for another reading of its paper. Keys are those of the experiment
/// file, joined by dots. A star matches any item of a list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Stacks to replace wherever they occur, with their replacements.
    #[serde(default)]
    pub stacks: BTreeMap<String, String>,
    /// Parameters to set in algorithms wherever they occur, by the name of the algorithm.
    #[serde(default)]
    pub parameters: BTreeMap<String, BTreeMap<String, Value>>,
    /// Keys to remove.
    #[serde(default)]
    pub unset: Vec<String>,
    /// Keys to set, with their new values.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Swept keys, with the values to keep.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<SweepValue>>,
    /// Swept keys, with the number of values to keep, starting with the first.
    #[serde(default)]
    pub first: BTreeMap<String, usize>,
    /// Listed points to keep, counted from 1.
    #[serde(default)]
    pub points: Option<Vec<usize>>,
    /// Keys whose value (a rate, buffer, size or number) is divided, with the divisor.
    #[serde(default)]
    pub divide: BTreeMap<String, u32>,
    /// Keys whose value (a probability) is multiplied, with the factor.
    #[serde(default)]
    pub multiply: BTreeMap<String, f64>,
}

impl Changes {
    /// Changes `experiment`.
    ///
    /// # Errors
    /// If a key does not exist or is not swept, or a value is invalid for its key. The error is a message.
    pub(super) fn apply(&self, experiment: &mut Experiment) -> Result<(), String> {
        let table = Table::try_from(&*experiment).map_err(|error| error.to_string())?;
        let mut whole = Value::Table(table);
        if !(self.stacks.is_empty() && self.parameters.is_empty()) {
            self.respell_all(&mut whole)?;
        }
        for key in &self.unset {
            unset(&mut whole, key)?;
        }
        for (key, value) in &self.set {
            change(&mut whole, key, &|slot| {
                *slot = value.clone();
                Ok(())
            })?;
        }
        for (key, n) in &self.divide {
            change(&mut whole, key, &|slot| divide(slot, *n))?;
        }
        for (key, n) in &self.multiply {
            change(&mut whole, key, &|slot| multiply(slot, *n))?;
        }
        *experiment = whole
            .try_into()
            .map_err(|error: toml::de::Error| error.to_string())?;
        for (key, kept) in &self.only {
            let values = swept(experiment, key)?;
            if let Some(foreign) = kept.iter().find(|value| !values.contains(value)) {
                return Err(format!("`{key}` has no value {foreign} in the sweep"));
            }
            values.retain(|value| kept.contains(value));
        }
        for (key, n) in &self.first {
            let values = swept(experiment, key)?;
            if !(1..=values.len()).contains(n) {
                let all = values.len();
                return Err(format!(
                    "`{key}` has {all} values, so the first {n} cannot be kept"
                ));
            }
            values.truncate(*n);
        }
        if let Some(kept) = &self.points {
            let all = experiment.points.len();
            if let Some(n) = kept.iter().find(|n| !(1..=all).contains(*n)) {
                return Err(format!("there is no point {n}: the sweep lists {all}"));
            }
            let all = std::mem::take(&mut experiment.points).into_iter().zip(1..);
            experiment.points = all
                .filter(|(_, n)| kept.contains(n))
                .map(|(p, _)| p)
                .collect();
        }
        Ok(())
    }
}

impl Changes {
    /// Returns the stack that replaces `stack`, or `stack` with the changed parameters of its algorithms.
    #[must_use]
    pub fn respell(&self, stack: &str) -> String {
        if let Some(other) = self.stacks.get(stack) {
            return other.clone();
        }
        if self.parameters.is_empty() {
            return stack.to_owned();
        }
        let parts = parts(stack).into_iter().map(|part| self.respell_part(part));
        parts.collect::<Vec<_>>().join("/")
    }

    /// Applies the parameters to one algorithm of a stack.
    fn respell_part(&self, part: &str) -> String {
        let (name, given) = match part.split_once('(') {
            Some((name, given)) => (name, given.trim_end_matches(')')),
            None => (part, ""),
        };
        let Some(own) = self.parameters.get(name) else {
            return part.to_owned();
        };
        let kept = given.split(',').filter(|pair| {
            let key = pair.split('=').next().unwrap_or_default().trim();
            !key.is_empty() && !own.contains_key(key)
        });
        let written = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let new = own
            .iter()
            .map(|(key, value)| format!("{key}={}", written(value)));
        let all: Vec<String> = kept.map(str::to_owned).chain(new).collect();
        format!("{name}({})", all.join(","))
    }

    /// Applies the changes of stacks and parameters to every stack in a file's values.
    fn respell_all(&self, whole: &mut Value) -> Result<(), String> {
        let mut met = 0;
        each_text(whole, &mut |text| {
            let other = self.respell(text);
            if other != *text && StackSpec::parse(text, &Catalog::builtin()).is_ok() {
                StackSpec::parse(&other, &Catalog::builtin()).map_err(|error| error.to_string())?;
                *text = other;
                met += 1;
            }
            Ok(())
        })?;
        if met == 0 {
            let asked = self.stacks.keys().chain(self.parameters.keys());
            let asked: Vec<&str> = asked.map(String::as_str).collect();
            return Err(format!("no stack is changed by {}", asked.join(", ")));
        }
        Ok(())
    }
}

/// Splits a stack at the slashes outside of brackets.
fn parts(stack: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in stack.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => {
                parts.push(&stack[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&stack[from..]);
    parts
}

/// Calls `each` for every string in `value`.
fn each_text(
    value: &mut Value,
    each: &mut dyn FnMut(&mut String) -> Result<(), String>,
) -> Result<(), String> {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter_mut().try_for_each(|item| each_text(item, each)),
        Value::Table(table) => table
            .iter_mut()
            .try_for_each(|(_, item)| each_text(item, each)),
        _ => Ok(()),
    }
}

/// Removes the value at `key`.
fn unset(whole: &mut Value, key: &str) -> Result<(), String> {
    let path = split(key);
    let Some((last, above)) = path.split_last() else {
        return Ok(());
    };
    let mut removed = 0;
    let mut remove = |slot: &mut Value| {
        let there = slot.as_table_mut().and_then(|table| table.remove(last));
        removed += usize::from(there.is_some());
    };
    each_at(whole, above, &mut remove);
    match removed {
        0 => Err(format!("there is nothing at `{key}`")),
        _ => Ok(()),
    }
}

/// Calls `each` for every value at `path`.
fn each_at(value: &mut Value, path: &[String], each: &mut dyn FnMut(&mut Value)) {
    let Some((step, rest)) = path.split_first() else {
        return each(value);
    };
    match value {
        Value::Table(table) => {
            if let Some(inner) = table.get_mut(step) {
                each_at(inner, rest, each);
            }
        }
        Value::Array(items) => {
            let own = |n: usize| step == "*" || step.parse() == Ok(n);
            let items = items.iter_mut().enumerate().filter(|(n, _)| own(*n));
            for (_, item) in items {
                each_at(item, rest, each);
            }
        }
        _ => {}
    }
}

/// Returns the values of a swept key.
fn swept<'e>(experiment: &'e mut Experiment, key: &str) -> Result<&'e mut Vec<SweepValue>, String> {
    let values = experiment.sweep.get_mut(key);
    values.ok_or_else(|| format!("`{key}` is not swept"))
}

/// A change to a value. The error is a message.
type Change<'c> = &'c dyn Fn(&mut Value) -> Result<(), String>;

/// Changes the value at `key`. Creates missing tables.
fn change(whole: &mut Value, key: &str, how: Change<'_>) -> Result<(), String> {
    match change_at(whole, &split(key), how) {
        Ok(0) => Err(format!("there is nothing at `{key}`")),
        Ok(_) => Ok(()),
        Err(why) => Err(format!("`{key}` {why}")),
    }
}

/// Changes the values at the remaining steps of a key, `path`. Returns the number of values changed.
fn change_at(value: &mut Value, path: &[String], how: Change<'_>) -> Result<usize, String> {
    let Some((step, rest)) = path.split_first() else {
        return how(value).map(|()| 1);
    };
    match value {
        Value::Table(table) if rest.is_empty() => {
            how(table.entry(step).or_insert(Value::Boolean(false))).map(|()| 1)
        }
        // A missing table, such as `[receiver]`, is created. A missing list is not.
        Value::Table(table) => match rest.first().map(String::as_str) {
            Some(item) if item == "*" || item.parse::<usize>().is_ok() => {
                let list = table.get_mut(step);
                list.map_or(Ok(0), |list| change_at(list, rest, how))
            }
            _ => {
                let inner = table
                    .entry(step)
                    .or_insert_with(|| Value::Table(Table::new()));
                change_at(inner, rest, how)
            }
        },
        Value::Array(items) => {
            let all = step == "*";
            let own = |n: usize| all || step.parse() == Ok(n);
            let items = items.iter_mut().enumerate().filter(|(n, _)| own(*n));
            let met = items.map(|(_, item)| change_at(item, rest, how));
            met.sum()
        }
        _ => Ok(0),
    }
}

/// Divides the value. The result is a whole number of units.
fn divide(slot: &mut Value, by: u32) -> Result<(), String> {
    const NO_NUMBER: &str = "is not a rate, buffer, size or whole number, so it cannot be divided";
    if by == 0 {
        return Err("cannot be divided by 0".to_owned());
    }
    if let Value::Integer(number) = slot {
        *number /= i64::from(by);
        return Ok(());
    }
    let Value::String(text) = slot else {
        return Err(NO_NUMBER.to_owned());
    };
    if let Ok(rate) = text.parse::<Rate>() {
        *text = Rate::from_bits_per_second(rate.as_bits_per_second() / u64::from(by)).to_string();
    } else if let Ok(buffer) = text.parse::<Buffer>() {
        *text = match buffer {
            Buffer::Packets(packets) => Buffer::Packets(packets / by),
            Buffer::Bytes(bytes) => Buffer::Bytes(bytes / u64::from(by)),
        }
        .to_string();
    } else if let Ok(bytes) = text.parse::<ByteCount>() {
        *text = ByteCount::from_bytes(bytes.as_bytes() / u64::from(by)).to_string();
    } else {
        return Err(NO_NUMBER.to_owned());
    }
    Ok(())
}

fn multiply(slot: &mut Value, by: f64) -> Result<(), String> {
    let own = slot.as_str().and_then(|text| text.parse().ok());
    let own: Probability = own.ok_or("is not a probability, so it cannot be multiplied")?;
    let more = Probability::new(own.as_fraction() * by);
    let more = more.map_err(|_| format!("would exceed 100 %: {by} times {own}"))?;
    *slot = Value::String(more.to_string());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_look_sets_keeps_divides_and_multiplies() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"10Mbit/s\"\nbuffer = \"50pkt\"\nloss = \"0.1%\"\n\
                    [[flows]]\nbytes = \"1MB\"\n[sweep]\n\"path.delay\" = [\"1ms\", \"2ms\", \"3ms\"]\n";
        let mut experiment: Experiment = toml::from_str(text).unwrap();
        let quick: Changes = toml::from_str(
            "set = { seeds = 2, \"flows.*.bytes\" = \"20kB\" }\nonly = { \"path.delay\" = [\"1ms\", \"3ms\"] }\n\
             divide = { \"path.rate\" = 5, \"path.buffer\" = 5 }\nmultiply = { \"path.loss\" = 25.0 }\n",
        )
        .unwrap();
        quick.apply(&mut experiment).unwrap();
        let path = experiment.path.clone().unwrap();
        assert_eq!(experiment.seeds.to_vec(), [1, 2]);
        assert_eq!(
            experiment.flows[0].bytes,
            Some(ByteCount::from_bytes(20_000))
        );
        assert_eq!(path.rate, Some(Rate::from_bits_per_second(2_000_000)));
        assert_eq!(path.buffer, Some(Buffer::Packets(10).into()));
        assert!((path.loss.as_percent() - 2.5).abs() < 1e-9);
        assert_eq!(experiment.sweep["path.delay"].len(), 2);
    }

    #[test]
    fn a_value_that_does_not_fit_is_an_error() {
        let mut experiment = Experiment::new(vec!["sack/reno".to_owned()]);
        let quick: Changes = toml::from_str("set = { seeds = \"many\" }").unwrap();
        assert!(quick.apply(&mut experiment).is_err());
    }

    #[test]
    fn what_changes_nothing_is_an_error() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"10Mbit/s\"\nloss = \"50%\"\n\
                    [sweep]\n\"path.delay\" = [\"1ms\", \"2ms\"]\n";
        for (quick, why) in [
            (
                "set = { \"pth.rate\" = \"1Mbit/s\" }",
                "unknown field `pth`",
            ),
            ("set = { sedes = 2 }", "unknown field `sedes`"),
            ("divide = { \"path.loss\" = 5 }", "cannot be divided"),
            ("divide = { \"path.rate\" = 0 }", "divided by 0"),
            (
                "divide = { \"flows.*.count\" = 5 }",
                "nothing at `flows.*.count`",
            ),
            ("multiply = { \"path.loss\" = 3.0 }", "exceed 100 %"),
            ("multiply = { \"path.rate\" = 3.0 }", "not a probability"),
            (
                "only = { \"path.dely\" = [\"1ms\"] }",
                "`path.dely` is not swept",
            ),
            ("only = { \"path.delay\" = [\"9ms\"] }", "no value 9ms"),
            ("first = { \"path.delay\" = 3 }", "has 2 values"),
            ("points = [1]", "no point 1"),
        ] {
            let mut experiment: Experiment = toml::from_str(text).unwrap();
            let quick: Changes = toml::from_str(quick).unwrap();
            let said = quick.apply(&mut experiment).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn stacks_become_others_wherever_they_stand() {
        let text = "stacks = [\"fack/reno\", \"sack(partial_ack=resend)/westwood/veno(beta=4)/1\"]\n\
                    [path]\nrate = \"10Mbit/s\"\nloss = \"1%\"\n[[flows]]\nstack = \"fack/reno\"\n";
        let mut experiment: Experiment = toml::from_str(text).unwrap();
        let changes: Changes = toml::from_str(
            "stacks = { \"fack/reno\" = \"fack(entry=half)/reno\" }\nunset = [\"path.loss\"]\n\
             parameters = { sack = { partial_ack = \"keep\" }, veno = { beta = 5 } }",
        )
        .unwrap();
        assert_eq!(
            changes.respell("sack(partial_ack=resend)/westwood/veno(beta=4)/1"),
            "sack(partial_ack=keep)/westwood/veno(beta=5)/1"
        );
        let changes = Changes {
            parameters: BTreeMap::new(),
            ..changes
        };
        changes.apply(&mut experiment).unwrap();
        assert_eq!(experiment.stacks[0], "fack(entry=half)/reno");
        assert_eq!(
            experiment.flows[0].stack.as_deref(),
            Some("fack(entry=half)/reno")
        );
        assert!(experiment.path.unwrap().loss.as_percent().abs() < 1e-12);
    }

    #[test]
    fn a_stack_that_is_not_there_or_is_none_is_an_error() {
        for (changes, why) in [
            (
                "stacks = { \"le/reno\" = \"sack/reno\" }",
                "no stack is changed by le/reno",
            ),
            ("stacks = { \"sack/reno\" = \"sock/reno\" }", "sock"),
            ("parameters = { sack = { nosuch = 1 } }", "nosuch"),
            ("unset = [\"path.loss\"]", "nothing at `path.loss`"),
        ] {
            let mut experiment = Experiment::new(vec!["sack/reno".to_owned()]);
            let changes: Changes = toml::from_str(changes).unwrap();
            let said = changes.apply(&mut experiment).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
