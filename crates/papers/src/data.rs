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
    /// If a value does not fit its key, in words.
    pub(super) fn apply(&self, experiment: &mut Experiment) -> Result<(), String> {
        let table = toml::Table::try_from(&*experiment).map_err(|error| error.to_string())?;
        let mut whole = Value::Table(table);
        for (key, value) in &self.set {
            change(&mut whole, &split(key), &|slot| *slot = value.clone());
        }
        for (key, n) in &self.divide {
            change(&mut whole, &split(key), &|slot| divide(slot, *n));
        }
        for (key, n) in &self.multiply {
            change(&mut whole, &split(key), &|slot| multiply(slot, *n));
        }
        *experiment = whole
            .try_into()
            .map_err(|error: toml::de::Error| error.to_string())?;
        for (key, kept) in &self.only {
            if let Some(values) = experiment.sweep.get_mut(key) {
                values.retain(|value| kept.contains(value));
            }
        }
        for (key, n) in &self.first {
            if let Some(values) = experiment.sweep.get_mut(key) {
                values.truncate(*n);
            }
        }
        if let Some(kept) = &self.points {
            let all = std::mem::take(&mut experiment.points).into_iter().zip(1..);
            experiment.points = all
                .filter(|(_, n)| kept.contains(n))
                .map(|(p, _)| p)
                .collect();
        }
        Ok(())
    }
}

/// Changes what stands at `path`; a last key that is left out is put there.
fn change(value: &mut Value, path: &[String], how: &dyn Fn(&mut Value)) {
    let Some((step, rest)) = path.split_first() else {
        return how(value);
    };
    match value {
        Value::Table(table) if rest.is_empty() => {
            how(table.entry(step).or_insert(Value::Boolean(false)));
        }
        Value::Table(table) => {
            if let Some(inner) = table.get_mut(step) {
                change(inner, rest, how);
            }
        }
        Value::Array(items) => {
            let all = step == "*";
            let own = |n: usize| all || step.parse() == Ok(n);
            for (n, item) in items.iter_mut().enumerate() {
                if own(n) {
                    change(item, rest, how);
                }
            }
        }
        _ => {}
    }
}

/// Whole units are left.
fn divide(slot: &mut Value, by: u32) {
    if let Value::Integer(number) = slot {
        *number /= i64::from(by);
    }
    let Value::String(text) = slot else {
        return;
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
    }
}

fn multiply(slot: &mut Value, by: f64) {
    if let Value::String(text) = slot
        && let Ok(own) = text.parse::<Probability>()
        && let Ok(more) = Probability::new(own.as_fraction() * by)
    {
        *text = more.to_string();
    }
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
    pub(super) fn read(&self, text: &str) -> Vec<Printed> {
        let mut rows = text
            .lines()
            .map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
        let header = rows.next().unwrap_or_default();
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
        means.collect()
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
    fn numbers_are_read_by_row_and_by_column() {
        let matrix: PrintedFile =
            toml::from_str("file = \"\"\nstack = \"way\"\ncolumns = \"loss\"\nname = \"rate\"")
                .unwrap();
        let numbers = matrix.read("way,1%,2%\na,5,6\nb,7,\n");
        assert_eq!(numbers.len(), 3);
        assert_eq!(numbers[2].stack.as_deref(), Some("b"));
        assert_eq!(
            numbers[1].point,
            [("loss".to_owned(), SweepValue::Text("2%".to_owned()))]
        );
        let rows: PrintedFile =
            toml::from_str("file = \"\"\npoints = { loss = \"p\" }\nvalues = { rate = \"r\" }")
                .unwrap();
        let numbers = rows.read("p,seed,r\n0.01,1,4\n0.01,2,6\n0.02,1,3\n");
        assert_eq!(numbers.len(), 2);
        assert!((numbers[0].value - 5.0).abs() < 1e-12);
    }
}
