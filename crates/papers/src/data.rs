//! Declarations in a paper's folder: its experiments, and the numbers that the paper prints.

use std::collections::BTreeMap;

use dupack_claims::Printed;
use dupack_lab::experiment::SweepValue;
use dupack_lab::stats::mean;
use serde::Deserialize;

use super::Observe;
use super::changes::Changes;

/// An experiment of a paper.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// Name of the experiment's file without the extension.
    pub name: String,
    /// Data to keep from each run.
    #[serde(default)]
    pub keep: Observe,
    /// Changes that turn the experiment into its quick variant.
    #[serde(default)]
    pub quick: Changes,
}

/// A CSV file of numbers that a paper prints, with column names in its first line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedFile {
    /// Name of the file, in the folder of the claims.
    pub file: String,
    /// Column with the stack's name, as used in the claims.
    #[serde(default)]
    pub stack: Option<String>,
    /// Swept keys, and the columns with their values.
    #[serde(default)]
    pub points: BTreeMap<String, String>,
    /// Units to append to the values of these keys.
    #[serde(default)]
    pub units: BTreeMap<String, String>,
    /// Names of the numbers in the rules, and the columns with these numbers. Rows with the same stack and the same
    /// point are averaged.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Alternative to `values`: swept key whose values are the headers of all columns except the stack's column.
    #[serde(default)]
    pub columns: Option<String>,
    /// Name of these numbers in the rules.
    #[serde(default)]
    pub name: Option<String>,
}

impl PrintedFile {
    /// Returns the numbers in `text`. Cells without a number are left out.
    ///
    /// # Errors
    /// Returns a message if a column is missing.
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
