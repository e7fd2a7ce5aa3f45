//! Names in files, which do not change: as serde writes them.

use serde::Serialize;

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::cause::Cause;

/// The name of a value that is one of several: a limit, a kind of stalls, an end.
#[must_use]
pub fn key(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The causes that the time of a limit of a stream may have instead, separated by `|`; empty if it is certain.
#[must_use]
pub fn doubts(stream: &StreamFindings, limit: Limit) -> String {
    let doubt = stream.limits_in_doubt().filter(|doubt| doubt.has(limit));
    let causes = doubt.map(|doubt| doubt.causes().map(|cause| key(&cause)).collect());
    let causes: Vec<String> = causes.unwrap_or_default();
    causes.join("|")
}

/// The name of a limit of a stream, followed by the causes that its time may have instead: `application_pause|receive_window`.
#[must_use]
pub fn limit_of(stream: &StreamFindings, limit: Limit) -> String {
    let causes = doubts(stream, limit);
    let name = key(&limit);
    if causes.is_empty() {
        name
    } else {
        format!("{name}|{causes}")
    }
}

/// The name of a cause. Its numbers are fields of their own.
#[must_use]
pub fn cause(cause: Cause) -> String {
    let value = serde_json::to_value(cause).unwrap_or_default();
    key(value.get("cause").unwrap_or_default())
}
