//! What a paper's folder says of its experiments and of the numbers that the paper prints.

use std::collections::BTreeMap;

use dupack_claims::Printed;
use dupack_lab::experiment::load::split;
use dupack_lab::experiment::{Experiment, SweepValue};
use dupack_lab::stats::mean;
use dupack_lab::units::{Buffer, ByteCount, Probability, Rate};
use serde::Deserialize;
use toml::Value;

use super::Observe;

/// An experiment of a paper.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// Its file's name without the ending.
    pub name: String,
    /// What is kept of a run.
    #[serde(default)]
    pub keep: Observe,
    /// What makes a quick look of it.
    #[serde(default)]
    pub quick: Quick,
}

/// What makes a quick look of an experiment. Keys are those of its file with dots between them; a
/// star is any item of a list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Keys that get another value.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Swept keys, and the values that are left of them.
    #[serde(default)]
    pub only: BTreeMap<String, Vec<SweepValue>>,
    /// So many of the values of a swept key are left, from the first on.
    #[serde(default)]
    pub first: BTreeMap<String, usize>,
    /// Of points that are listed those that are left, counted from 1.
    #[serde(default)]
    pub points: Option<Vec<usize>>,
    /// Keys whose value, a rate or a number, is divided by so much.
    #[serde(default)]
    pub divide: BTreeMap<String, u32>,
    /// Keys whose value, a probability, is multiplied by so much.
    #[serde(default)]
    pub multiply: BTreeMap<String, f64>,
}

impl Quick {
    /// Makes a quick look of `experiment`.
    ///
    /// # Errors
    /// If a key is not there or not swept, or a value does not fit its key, in words.
    pub(super) fn apply(&self, experiment: &mut Experiment) -> Result<(), String> {
        let table = toml::Table::try_from(&*experiment).map_err(|error| error.to_string())?;
        let mut whole = Value::Table(table);
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
                return Err(format!("`{key}` is never {foreign} in the sweep"));
            }
            values.retain(|value| kept.contains(value));
        }
        for (key, n) in &self.first {
            let values = swept(experiment, key)?;
            if !(1..=values.len()).contains(n) {
                let all = values.len();
                return Err(format!(
                    "`{key}` has {all} values: the first {n} cannot be left"
                ));
            }
            values.truncate(*n);
        }
        if let Some(kept) = &self.points {
            let all = experiment.points.len();
            if let Some(n) = kept.iter().find(|n| !(1..=all).contains(*n)) {
                return Err(format!("there is no point {n}: {all} are listed"));
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

/// The values of a swept key.
fn swept<'e>(experiment: &'e mut Experiment, key: &str) -> Result<&'e mut Vec<SweepValue>, String> {
    let values = experiment.sweep.get_mut(key);
    values.ok_or_else(|| format!("`{key}` is not swept"))
}

/// How a value is changed; in words why it cannot be.
type Change<'c> = &'c dyn Fn(&mut Value) -> Result<(), String>;

/// Changes what stands at `key`; a last part that is left out is put there.
fn change(whole: &mut Value, key: &str, how: Change<'_>) -> Result<(), String> {
    match change_at(whole, &split(key), how) {
        Ok(0) => Err(format!("there is nothing at `{key}`")),
        Ok(_) => Ok(()),
        Err(why) => Err(format!("`{key}` {why}")),
    }
}

/// The same for what is left of the key; answers with how many values it met.
fn change_at(value: &mut Value, path: &[String], how: Change<'_>) -> Result<usize, String> {
    let Some((step, rest)) = path.split_first() else {
        return how(value).map(|()| 1);
    };
    match value {
        Value::Table(table) if rest.is_empty() => {
            how(table.entry(step).or_insert(Value::Boolean(false))).map(|()| 1)
        }
        Value::Table(table) => match table.get_mut(step) {
            Some(inner) => change_at(inner, rest, how),
            None => Ok(0),
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

/// Whole units are left.
fn divide(slot: &mut Value, by: u32) -> Result<(), String> {
    const NO_NUMBER: &str = "is no rate, buffer, size or whole number: it cannot be divided";
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
    let own: Probability = own.ok_or("is no probability: it cannot be multiplied")?;
    let more = Probability::new(own.as_fraction() * by);
    let more = more.map_err(|_| format!("would be more than certain, {by} times {own}"))?;
    *slot = Value::String(more.to_string());
    Ok(())
}

/// A file of numbers that a paper prints: CSV, with names of columns in its first line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedFile {
    /// The file, beside the claims.
    pub file: String,
    /// The column with the stack, by a name of the claims.
    #[serde(default)]
    pub stack: Option<String>,
    /// Swept keys, and the columns with their values.
    #[serde(default)]
    pub points: BTreeMap<String, String>,
    /// Units that the values of these keys want behind them.
    #[serde(default)]
    pub units: BTreeMap<String, String>,
    /// What rules call the numbers, and the columns that hold them. Rows that are alike but for
    /// the number count as one with their mean.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Instead: the key whose values the names of the other columns are.
    #[serde(default)]
    pub columns: Option<String>,
    /// What rules call these numbers.
    #[serde(default)]
    pub name: Option<String>,
}

impl PrintedFile {
    /// The numbers in `text`; cells without a number are left out.
    ///
    /// # Errors
    /// If a column is not there, in words.
    pub(super) fn read(&self, text: &str) -> Result<Vec<Printed>, String> {
        let mut rows = text
            .lines()
            .map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
        let header = rows.next().unwrap_or_default();
        let asked = self.stack.iter().chain(self.points.values());
        for column in asked.chain(self.values.values()) {
            if !header.contains(&column.as_str()) {
                let (file, there) = (&self.file, header.join(", "));
                return Err(format!("{file} has no column `{column}`: it has {there}"));
            }
        }
        let mut out: Vec<(Printed, Vec<f64>)> = Vec::new();
        for row in rows {
            let cell = |column: &str| {
                let at = header.iter().position(|name| *name == column)?;
                row.get(at).copied()
            };
            let stack = self.stack.as_deref().and_then(cell).map(str::to_owned);
            let points = self
                .points
                .iter()
                .filter_map(|(key, column)| Some((key.clone(), self.value(key, cell(column)?))));
            let points: Vec<(String, SweepValue)> = points.collect();
            let mut add = |name: &str, point: Vec<(String, SweepValue)>, number: Option<&str>| {
                let Some(value) = number.and_then(|text| text.parse::<f64>().ok()) else {
                    return;
                };
                let stack = stack.clone();
                let printed = Printed {
                    name: name.to_owned(),
                    stack,
                    point,
                    value: 0.0,
                };
                match out.iter_mut().find(|(known, _)| *known == printed) {
                    Some((_, values)) => values.push(value),
                    None => out.push((printed, vec![value])),
                }
            };
            for (name, column) in &self.values {
                add(name, points.clone(), cell(column));
            }
            let (Some(key), Some(name)) = (&self.columns, &self.name) else {
                continue;
            };
            let others = header
                .iter()
                .filter(|column| Some(**column) != self.stack.as_deref());
            for column in others {
                let own = (key.clone(), self.value(key, column));
                let point = points.iter().cloned().chain([own]).collect();
                add(name, point, cell(column));
            }
        }
        let means = out.into_iter().filter_map(|(printed, values)| {
            Some(Printed {
                value: mean(&values)?,
                ..printed
            })
        });
        Ok(means.collect())
    }

    fn value(&self, key: &str, text: &str) -> SweepValue {
        match (self.units.get(key), text.parse::<f64>()) {
            (Some(unit), _) => SweepValue::Text(format!("{text}{unit}")),
            (None, Ok(number)) => SweepValue::Real(number),
            _ => SweepValue::Text(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_look_sets_keeps_divides_and_multiplies() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"10Mbit/s\"\nbuffer = \"50pkt\"\nloss = \"0.1%\"\n\
                    [[flows]]\nbytes = \"1MB\"\n[sweep]\n\"path.delay\" = [\"1ms\", \"2ms\", \"3ms\"]\n";
        let mut experiment: Experiment = toml::from_str(text).unwrap();
        let quick: Quick = toml::from_str(
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
        assert_eq!(path.buffer, Some(Buffer::Packets(10)));
        assert!((path.loss.as_percent() - 2.5).abs() < 1e-9);
        assert_eq!(experiment.sweep["path.delay"].len(), 2);
    }

    #[test]
    fn a_value_that_does_not_fit_is_an_error() {
        let mut experiment = Experiment::new(vec!["sack/reno".to_owned()]);
        let quick: Quick = toml::from_str("set = { seeds = \"many\" }").unwrap();
        assert!(quick.apply(&mut experiment).is_err());
    }

    #[test]
    fn what_changes_nothing_is_an_error() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"10Mbit/s\"\nloss = \"50%\"\n\
                    [sweep]\n\"path.delay\" = [\"1ms\", \"2ms\"]\n";
        for (quick, why) in [
            (
                "set = { \"pth.rate\" = \"1Mbit/s\" }",
                "nothing at `pth.rate`",
            ),
            ("set = { sedes = 2 }", "unknown field `sedes`"),
            ("divide = { \"path.loss\" = 5 }", "cannot be divided"),
            ("divide = { \"path.rate\" = 0 }", "divided by 0"),
            (
                "divide = { \"flows.*.count\" = 5 }",
                "nothing at `flows.*.count`",
            ),
            ("multiply = { \"path.loss\" = 3.0 }", "more than certain"),
            ("multiply = { \"path.rate\" = 3.0 }", "no probability"),
            (
                "only = { \"path.dely\" = [\"1ms\"] }",
                "`path.dely` is not swept",
            ),
            ("only = { \"path.delay\" = [\"9ms\"] }", "never 9ms"),
            ("first = { \"path.delay\" = 3 }", "has 2 values"),
            ("points = [1]", "no point 1"),
        ] {
            let mut experiment: Experiment = toml::from_str(text).unwrap();
            let quick: Quick = toml::from_str(quick).unwrap();
            let said = quick.apply(&mut experiment).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_column_that_is_not_there_is_an_error() {
        let file: PrintedFile =
            toml::from_str("file = \"rates.csv\"\nvalues = { rate = \"r\" }").unwrap();
        let said = file.read("p,rate\n1,2\n").unwrap_err();
        assert_eq!(said, "rates.csv has no column `r`: it has p, rate");
    }

    #[test]
    fn numbers_are_read_by_row_and_by_column() {
        let matrix: PrintedFile =
            toml::from_str("file = \"\"\nstack = \"way\"\ncolumns = \"loss\"\nname = \"rate\"")
                .unwrap();
        let numbers = matrix.read("way,1%,2%\na,5,6\nb,7,\n").unwrap();
        assert_eq!(numbers.len(), 3);
        assert_eq!(numbers[2].stack.as_deref(), Some("b"));
        assert_eq!(
            numbers[1].point,
            [("loss".to_owned(), SweepValue::Text("2%".to_owned()))]
        );
        let rows: PrintedFile =
            toml::from_str("file = \"\"\npoints = { loss = \"p\" }\nvalues = { rate = \"r\" }")
                .unwrap();
        let numbers = rows
            .read("p,seed,r\n0.01,1,4\n0.01,2,6\n0.02,1,3\n")
            .unwrap();
        assert_eq!(numbers.len(), 2);
        assert!((numbers[0].value - 5.0).abs() < 1e-12);
    }
}
