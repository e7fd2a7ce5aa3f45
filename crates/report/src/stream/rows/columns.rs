//! Runs in Parquet format.

use arrow_array::RecordBatch;
use dupack_columns::parquet::Writer;
use dupack_columns::{Flows, Runs, Sweep};
use dupack_lab::results::{Answered, Measure, Results};
use parquet::errors::ParquetError;

use super::{FLOWS, RUNS};
use crate::stream::{Format, StreamError};
use dupack_engine::folder::OutputFolder;

/// Formatter of the columns of runs. All parts have the same columns. The column of a measure that no run has is empty
/// and takes no space.
#[derive(Debug)]
pub(in crate::stream) struct Tables {
    runs: Runs,
    flows: Flows,
}

/// The runs of a point as columns.
#[derive(Debug)]
pub(in crate::stream) struct Rows {
    runs: RecordBatch,
    flows: RecordBatch,
}

impl Tables {
    pub(super) fn new(bare: &Results) -> Self {
        let sweep = Sweep::of(bare);
        Self {
            runs: Runs::new(sweep.clone(), Measure::ALL),
            flows: Flows::new(sweep),
        }
    }

    pub(super) fn rows(&self, results: &Answered<'_>, at: usize, point: usize) -> Rows {
        let (mut runs, mut flows) = (self.runs.another(), self.flows.another());
        for run in results.runs_at(at) {
            runs.push_at(point, run);
            if results.has_several_flows() {
                flows.push_at(point, run);
            }
        }
        Rows {
            runs: runs.take(),
            flows: flows.take(),
        }
    }

    pub(super) fn write(
        &self,
        folder: &OutputFolder,
        number: usize,
        rows: Vec<Rows>,
    ) -> Result<Vec<String>, StreamError> {
        let (runs, flows): (Vec<RecordBatch>, Vec<RecordBatch>) =
            rows.into_iter().map(|rows| (rows.runs, rows.flows)).unzip();
        let mut names = vec![put(folder, (RUNS, number), &runs)?];
        if flows.iter().any(|batch| batch.num_rows() > 0) {
            names.push(put(folder, (FLOWS, number), &flows)?);
        }
        Ok(names)
    }
}

/// Writes the part of a table that belongs to one block.
fn put(
    folder: &OutputFolder,
    (table, number): (&str, usize),
    batches: &[RecordBatch],
) -> Result<String, StreamError> {
    let name = Format::Parquet.part(table, number);
    let mut file = folder.begin(&name)?;
    let written = write(file.writer(), batches);
    if let Err(error) = written {
        return Err(match error {
            ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
                Ok(cause) => file.unwritten(&cause).into(),
                Err(cause) => table_error(&name, &cause.to_string()),
            },
            other => table_error(&name, &other.to_string()),
        });
    }
    file.complete()?;
    Ok(name)
}

fn write(file: impl std::io::Write + Send, batches: &[RecordBatch]) -> Result<(), ParquetError> {
    let Some(first) = batches.first() else {
        return Ok(());
    };
    let mut writer = Writer::new(file, first.schema())?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    writer.finish()?;
    Ok(())
}

fn table_error(name: &str, cause: &str) -> StreamError {
    StreamError::Table {
        file: name.to_owned(),
        cause: cause.to_owned(),
    }
}
