//! Fields with a unit and a description.

use std::collections::HashMap;

use arrow_schema::{DataType, Field};

/// Key of a field's unit in its metadata. The unit is empty for a count, a share or a word.
pub const UNIT: &str = "unit";

/// Key of a field's description in its metadata.
pub const DESCRIPTION: &str = "description";

/// Returns a field without nulls.
pub(crate) fn field(name: &str, kind: DataType, unit: &str, description: &str) -> Field {
    let words = [(UNIT, unit), (DESCRIPTION, description)];
    let words = words.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Field::new(name, kind, false).with_metadata(HashMap::from(words))
}

/// Returns a nullable field: a null means that the field does not apply to the row.
pub(crate) fn optional(name: &str, kind: DataType, unit: &str, description: &str) -> Field {
    field(name, kind, unit, description).with_nullable(true)
}

/// Returns the type of a column with few distinct words. The keys are signed because not every reader accepts unsigned
/// keys.
pub(crate) fn words() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}
