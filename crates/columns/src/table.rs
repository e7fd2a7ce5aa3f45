//! The tables of complete results.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use dupack_lab::results::{Answered, Parameter, SummaryRow};

use crate::field::{field, optional, words};
use crate::runs::{Flows, Runs, measured};
use crate::sweep::{Sweep, batch, stack_field};
use crate::verdicts;
use crate::words::Met;

/// A table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Table {
    /// A row per run.
    Runs,
    /// A row per TCP flow of every run.
    Flows,
    /// A row per point, stack and measure.
    Summary,
    /// A row per point and stack, with the stack's mark.
    Verdicts,
    /// A row per point, pair of stacks and measure.
    Comparisons,
    /// A row per point.
    Points,
    /// A row per effective parameter.
    Parameters,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 7] = [
        Self::Runs,
        Self::Flows,
        Self::Summary,
        Self::Verdicts,
        Self::Comparisons,
        Self::Points,
        Self::Parameters,
    ];

    /// Returns the table's name, which is also its file's name without the extension.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Flows => "flows",
            Self::Summary => "summary",
            Self::Verdicts => "verdicts",
            Self::Comparisons => "comparisons",
            Self::Points => "points",
            Self::Parameters => "parameters",
        }
    }

    /// Builds this table from `results`.
    #[must_use]
    pub fn of(self, results: &Answered<'_>) -> RecordBatch {
        let sweep = Sweep::of(results);
        match self {
            Self::Runs => {
                let mut table = Runs::new(sweep, measured(results));
                results.runs.iter().for_each(|run| table.push(run));
                table.take()
            }
            Self::Flows => {
                let mut table = Flows::new(sweep);
                results.runs.iter().for_each(|run| table.push(run));
                table.take()
            }
            Self::Summary => summary(results, &sweep),
            Self::Verdicts => verdicts::verdicts(results, &sweep),
            Self::Comparisons => verdicts::comparisons(results, &sweep),
            Self::Points => points(results, &sweep),
            Self::Parameters => parameters(results, &sweep),
        }
    }
}

fn summary(results: &Answered<'_>, sweep: &Sweep) -> RecordBatch {
    let points = 0..results.points.len();
    let rows: Vec<SummaryRow> = points.flat_map(|p| SummaryRow::of(results, p)).collect();
    let mut runs = UInt64Builder::new();
    let mut pairs = UInt64Builder::new();
    let (mut measures, mut units, mut centres) = (Met::default(), Met::default(), Met::default());
    let mut numbers = NUMBERS.map(|_| Float64Builder::new());
    for row in &rows {
        measures.push(Some(row.measure.key()));
        units.push(Some(row.measure.unit()));
        runs.append_value(row.summary.n as u64);
        pairs.append_value(row.pairs as u64);
        centres.push(row.ratio.map(|ratio| ratio.centre.name()));
        for (number, column) in numbers_of(row).into_iter().zip(&mut numbers) {
            column.append_option(number);
        }
    }
    let at: Vec<u32> = rows.iter().map(|row| row.point as u32).collect();
    let mut own = vec![
        sweep.stacks(rows.iter().map(|row| row.stack)),
        measures.take(),
        units.take(),
        Arc::new(runs.finish()) as ArrayRef,
    ];
    let numbers = numbers.iter_mut();
    own.extend(numbers.map(|column| Arc::new(column.finish()) as ArrayRef));
    own.extend([Arc::new(pairs.finish()) as ArrayRef, centres.take()]);
    sweep.batch(sweep.schema(summary_fields()), &at, own)
}

/// The numeric columns of the summary and their descriptions.
const NUMBERS: [(&str, &str); 8] = [
    ("mean", "Arithmetic mean over the runs."),
    (
        "ci95_half_width",
        "Half width of the 95 % confidence interval of the mean; null if all seeds gave the same run.",
    ),
    ("standard_deviation", "Sample standard deviation."),
    ("min", "Smallest value."),
    ("max", "Largest value."),
    (
        "ratio_to_first",
        "Ratio to the first stack, paired by seed.",
    ),
    (
        "ratio_ci95_low",
        "Lower end of the 95 % confidence interval of the ratio.",
    ),
    (
        "ratio_ci95_high",
        "Upper end of the 95 % confidence interval of the ratio.",
    ),
];

fn numbers_of(row: &SummaryRow) -> [Option<f64>; NUMBERS.len()] {
    let summary = row.summary;
    let ends = row.ratio.and_then(|ratio| ratio.interval_95);
    [
        Some(summary.mean),
        summary.half_width_95,
        summary.standard_deviation,
        Some(summary.min),
        Some(summary.max),
        row.ratio.map(|ratio| ratio.mean),
        ends.map(|(low, _)| low),
        ends.map(|(_, high)| high),
    ]
}

fn summary_fields() -> Vec<Field> {
    let unit =
        "Unit of the mean, its interval, the deviation and the extremes; empty if there is none.";
    let mut fields = vec![
        stack_field("stack", "The stack under comparison."),
        field("measure", words(), "", "The measure."),
        field("unit", words(), "", unit),
        field(
            "runs",
            DataType::UInt64,
            "",
            "Number of runs in the summary.",
        ),
    ];
    let number = |(name, about): (&str, &str)| optional(name, DataType::Float64, "", about);
    fields.extend(NUMBERS.map(number));
    let pairs = "Number of seeds that both this stack and the first have.";
    let centre = "Kind of ratio: a mean of ratios or a ratio of means.";
    fields.extend([
        field("ratio_pairs", DataType::UInt64, "", pairs),
        optional("ratio_is", words(), "", centre),
    ]);
    fields
}

fn points(results: &Answered<'_>, sweep: &Sweep) -> RecordBatch {
    let all: Vec<u32> = (0..sweep.points() as u32).collect();
    let labels = results.points.iter().map(|point| point.label());
    let labels: ArrayRef = Arc::new(StringArray::from_iter_values(labels));
    let label = field("label", DataType::Utf8, "", "The point in words.");
    sweep.batch(sweep.schema([label]), &all, [labels])
}

fn parameters(results: &Answered<'_>, sweep: &Sweep) -> RecordBatch {
    let all = &results.parameters;
    let text = |name, about| field(name, DataType::Utf8, "", about);
    let fields = vec![
        text("owner", "Component that the parameter belongs to."),
        text("parameter", "Name of the parameter."),
        text("value", "Value, with its unit."),
        text("source", "Source of the value."),
    ];
    let column = |of: fn(&Parameter) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(all.iter().map(of)))
    };
    let columns = vec![
        column(|p| &p.owner),
        column(|p| &p.name),
        column(|p| &p.value),
        column(|p| &p.source),
    ];
    batch(sweep.bare_schema(fields), columns)
}
