//! Names in files, which do not change: as serde writes them.

use serde::Serialize;

use dupack_diagnosis::analyse::cause::Cause;

/// The name of a value that is one of several: a limit, a kind of stalls, an end.
#[must_use]
pub fn key(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The name of a cause. Its numbers are fields of their own.
#[must_use]
pub fn cause(cause: Cause) -> String {
    let value = serde_json::to_value(cause).unwrap_or_default();
    key(value.get("cause").unwrap_or_default())
}
