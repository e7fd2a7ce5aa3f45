//! Tables in Arrow's format.

use std::fs::File;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use dupack_columns::parquet::Writer;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};
use pyo3_arrow::PyTable;

use crate::errors::exception;

/// Columns with names, units and descriptions.
#[pyclass(frozen, module = "dupack._native")]
#[derive(Debug)]
pub struct Table(pub RecordBatch);

#[pymethods]
impl Table {
    #[getter]
    fn columns(&self) -> Vec<String> {
        let fields = self.0.schema_ref().fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn units(&self) -> Vec<(String, String)> {
        self.told("unit")
    }

    #[getter]
    fn descriptions(&self) -> Vec<(String, String)> {
        self.told("description")
    }

    #[getter]
    fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Returns a column of numbers as bytes, with their NumPy type. Returns a column of other values as a list, with
    /// the type `object`.
    fn column<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyAny>, &'static str)> {
        let column = self.0.column_by_name(name);
        let column = column.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        if let Some((bytes, kind)) = numbers(column) {
            return Ok((PyBytes::new(py, &bytes).into_any(), kind));
        }
        let values = (0..column.len()).map(|row| value(py, column, row));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        Ok((PyList::new(py, values)?.into_any(), "object"))
    }

    /// Returns the first rows, each as a mapping.
    fn rows_of<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let names = self.columns();
        let rows = (0..self.0.num_rows().min(most)).map(|row| {
            let mapping = PyDict::new(py);
            for (name, column) in names.iter().zip(self.0.columns()) {
                mapping.set_item(name, value(py, column, row)?)?;
            }
            Ok(mapping)
        });
        rows.collect()
    }

    /// Writes the table to a new Parquet file.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let place = path.display().to_string();
        let failed = |py: Python<'_>, cause: String| {
            let message = format!("cannot write {place}: {cause}");
            let help = "choose another file: existing files are never overwritten".to_owned();
            exception(py, "FolderError", &message, &[("help", Some(help))])
        };
        let file = File::create_new(&path).map_err(|error| failed(py, error.to_string()))?;
        let written = py.detach(|| {
            let mut writer = Writer::new(file, self.0.schema())?;
            writer.write(&self.0)?;
            writer.finish()
        });
        written.map(drop).map_err(|error| {
            // Remove the incomplete file.
            let _ = std::fs::remove_file(&path);
            failed(py, error.to_string())
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.0.schema();
        Ok(pyo3_arrow::ffi::to_schema_pycapsule(py, schema.as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = PyTable::try_new(vec![self.0.clone()], self.0.schema())?;
        let table = Bound::new(py, table)?;
        table.call_method1("__arrow_c_stream__", (requested_schema,))
    }
}

impl Table {
    fn told(&self, what: &str) -> Vec<(String, String)> {
        let fields = self.0.schema_ref().fields().iter();
        let told = |field: &Field| field.metadata().get(what).cloned().unwrap_or_default();
        fields
            .map(|field| (field.name().clone(), told(field)))
            .collect()
    }
}

/// Returns the integers of a column as bytes. If values are missing, returns floating-point numbers, with NaN for each
/// missing value.
macro_rules! integers {
    ($column:expr, $of:ty, $kind:literal) => {{
        let column = $column.as_primitive::<$of>();
        if column.null_count() == 0 {
            let numbers = column.values().iter();
            (numbers.flat_map(|x| x.to_le_bytes()).collect(), $kind)
        } else {
            let numbers = column.iter();
            let bytes = numbers.flat_map(|x| x.map_or(f64::NAN, |x| x as f64).to_le_bytes());
            (bytes.collect(), "<f8")
        }
    }};
}

/// Returns the numbers of a column as bytes, with NaN for missing values.
fn numbers(column: &ArrayRef) -> Option<(Vec<u8>, &'static str)> {
    Some(match column.data_type() {
        DataType::Float64 => {
            let numbers = column.as_primitive::<Float64Type>().iter();
            let bytes = numbers.flat_map(|x| x.unwrap_or(f64::NAN).to_le_bytes());
            (bytes.collect(), "<f8")
        }
        DataType::UInt64 => integers!(column, UInt64Type, "<u8"),
        DataType::UInt32 => integers!(column, UInt32Type, "<u4"),
        DataType::UInt16 => integers!(column, UInt16Type, "<u2"),
        DataType::UInt8 => integers!(column, UInt8Type, "u1"),
        DataType::Int64 => integers!(column, Int64Type, "<i8"),
        DataType::Int32 => integers!(column, Int32Type, "<i4"),
        DataType::Int16 => integers!(column, Int16Type, "<i2"),
        DataType::Int8 => integers!(column, Int8Type, "i1"),
        DataType::Boolean if column.null_count() == 0 => {
            let switches = column.as_boolean().values().iter();
            (switches.map(u8::from).collect(), "?")
        }
        _ => return None,
    })
}

/// Converts a value to Python. A missing value becomes `None`.
fn value<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    macro_rules! number {
        ($of:ty) => {
            column
                .as_primitive::<$of>()
                .value(row)
                .into_pyobject(py)?
                .into_any()
        };
    }
    Ok(match column.data_type() {
        DataType::Float64 => number!(Float64Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::Int64 => number!(Int64Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int8 => number!(Int8Type),
        DataType::Boolean => {
            let on = column.as_boolean().value(row);
            on.into_pyobject(py)?.to_owned().into_any()
        }
        DataType::Utf8 => {
            let text = column.as_string::<i32>().value(row);
            text.into_pyobject(py)?.into_any()
        }
        DataType::Dictionary(_, _) => {
            let words = column.as_any_dictionary();
            let key = words.normalized_keys()[row];
            value(py, words.values(), key)?
        }
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let items = (0..items.len()).map(|item| value(py, &items, item));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        DataType::Struct(_) => {
            let parts = column.as_struct().columns().iter();
            let parts = parts.map(|part| value(py, part, row));
            PyList::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        other => {
            let message = format!("a column of {other} cannot be converted to Python");
            return Err(exception(py, "DupackError", &message, &[]));
        }
    })
}
