//! Names in files, as serde writes them. These names are stable.

use serde::Serialize;

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::cause::Cause;

/// Returns the name of an enum's value, such as a limit, a kind of stall, or an endpoint.
#[must_use]
pub fn key(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the other possible causes of the time of a limit, separated by `|`. The text is empty if the limit is
/// certain.
#[must_use]
pub fn doubts(stream: &StreamFindings, limit: Limit) -> String {
    let doubt = stream.limits_in_doubt().filter(|doubt| doubt.has(limit));
    let causes = doubt.map(|doubt| doubt.causes().map(|cause| key(&cause)).collect());
    let causes: Vec<String> = causes.unwrap_or_default();
    causes.join("|")
}

/// Returns the name of a limit of a stream, followed by the other possible causes of its time:
/// `application_pause|receive_window`.
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

/// Returns the name of a cause. The numbers of a cause are separate fields.
#[must_use]
pub fn cause(cause: Cause) -> String {
    let value = serde_json::to_value(cause).unwrap_or_default();
    key(value.get("cause").unwrap_or_default())
}
