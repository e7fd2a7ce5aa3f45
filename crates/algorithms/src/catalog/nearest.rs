//! "Did you mean …?": finds the name that was most likely meant by a misspelt name.

/// Returns the candidate that is most similar to `text`, if it is similar enough to be what was meant.
#[cfg(feature = "suggest")]
pub(super) fn nearest<'a>(
    text: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = text.to_lowercase();
    candidates
        .map(|candidate| (strsim::jaro_winkler(&lower, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Returns `None`: without the feature `suggest` there are no suggestions.
#[cfg(not(feature = "suggest"))]
pub(super) fn nearest<'a>(_: &str, _: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    None
}
