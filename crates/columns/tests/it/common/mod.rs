//! Results from which the tests build tables, and table cells as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Results;
use dupack_lab::run::{Interrupt, Plan};

/// Returns the results of two stacks over a short path.
pub fn results(head: &str, path: &str, tail: &str) -> Results {
    let text = format!(
        "title = \"A test\"\nstacks = [\"newreno/reno\", \"rack/cubic\"]\nduration = \"3s\"\n{head}[path]\n\
         rate = \"1Mbit/s\"\n{path}{tail}"
    );
    results_of(&text)
}

/// Returns the results of the experiment with this text.
pub fn results_of(text: &str) -> Results {
    let source = Source::new("test.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    plan.execute(Execution::default(), &(), &Interrupt::new())
}

/// A CSV file.
pub struct Csv {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Csv {
    pub fn of(bytes: &[u8]) -> Self {
        let mut reader = csv::Reader::from_reader(bytes);
        let texts = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let heads = texts(reader.headers().unwrap());
        let rows = reader.records().map(|record| texts(&record.unwrap()));
        let rows = rows.collect();
        Self { heads, rows }
    }

    pub fn column(&self, head: &str) -> Vec<String> {
        let place = self.heads.iter().position(|known| known == head);
        let place = place.unwrap_or_else(|| panic!("no column {head}"));
        self.rows.iter().map(|row| row[place].clone()).collect()
    }
}

/// Returns a column of a table in the form in which the CSV files have it.
pub fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name);
    let column = column.unwrap_or_else(|| panic!("no column {name}"));
    (0..batch.num_rows()).map(|row| cell(column, row)).collect()
}

/// Returns a cell in the form in which the CSV files have it. A null is empty.
pub fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Dictionary(..) => {
            let words = column.as_dictionary::<Int32Type>();
            let key = words.keys().value(row) as usize;
            words.values().as_string::<i32>().value(key).to_owned()
        }
        other => panic!("{other}"),
    }
}

/// Returns a list of texts.
pub fn texts(batch: &RecordBatch, name: &str, row: usize) -> Vec<String> {
    let list = batch
        .column_by_name(name)
        .unwrap()
        .as_list::<i32>()
        .value(row);
    let texts = list.as_string::<i32>();
    texts.iter().flatten().map(str::to_owned).collect()
}
