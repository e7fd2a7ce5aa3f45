//! Fields that say what they are, and in which unit.

use std::collections::HashMap;

use arrow_schema::{DataType, Field};

/// The key in a field's metadata under which its unit stands; empty for a count, a share or a word.
pub const UNIT: &str = "unit";

/// The key in a field's metadata under which it is described.
pub const DESCRIPTION: &str = "description";

/// A field without nulls.
pub(crate) fn field(name: &str, kind: DataType, unit: &str, description: &str) -> Field {
    let words = [(UNIT, unit), (DESCRIPTION, description)];
    let words = words.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Field::new(name, kind, false).with_metadata(HashMap::from(words))
}

/// A field that is null where it does not apply.
pub(crate) fn optional(name: &str, kind: DataType, unit: &str, description: &str) -> Field {
    field(name, kind, unit, description).with_nullable(true)
}

/// Words of which there are few. The keys are signed, as not every reader takes others.
pub(crate) fn words() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}
