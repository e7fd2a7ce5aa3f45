//! Tables as Parquet files.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// Writes a table batch by batch.
///
/// ```
/// # use std::sync::Arc;
/// use dupack_columns::parquet::Writer;
/// # use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let column: ArrayRef = Arc::new(UInt32Array::from(vec![1, 2, 3]));
/// # let batch = RecordBatch::try_from_iter([("point", column)])?;
/// let mut file = Vec::new();
/// let mut writer = Writer::new(&mut file, batch.schema())?;
/// writer.write(&batch)?;
/// writer.finish()?;
/// assert!(file.starts_with(b"PAR1"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writer<W: Write + Send>(ArrowWriter<W>);

impl<W: Write + Send> Writer<W> {
    /// Starts a file with a table that has this `schema`.
    ///
    /// # Errors
    /// Returns an error if writing to the file fails.
    pub fn new(file: W, schema: SchemaRef) -> Result<Self, ParquetError> {
        let writer = ArrowWriter::try_new(file, schema, Some(properties()))?;
        Ok(Self(writer))
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Returns an error if writing to the file fails, or if the rows do not have the schema of the table.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.0.write(batch)
    }

    /// Completes the file and returns the underlying writer. A file that is not completed is unreadable.
    ///
    /// # Errors
    /// Returns an error if writing to the file fails.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.0.into_inner()
    }
}

/// Returns a table as the bytes of a whole file.
///
/// # Errors
/// Returns an error if a column has a type that Parquet cannot store.
pub fn bytes(batch: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let mut writer = Writer::new(Vec::new(), batch.schema())?;
    writer.write(batch)?;
    writer.finish()
}

fn properties() -> WriterProperties {
    let level = ZstdLevel::default();
    let properties = WriterProperties::builder();
    properties.set_compression(Compression::ZSTD(level)).build()
}
