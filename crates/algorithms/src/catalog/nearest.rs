//! "Did you mean …?": the name that a misspelt name most likely stands for.

/// Returns the candidate that `text` is most likely a misspelling of, if it is close to one.
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

/// Suggests nothing, without the feature `suggest`.
#[cfg(not(feature = "suggest"))]
pub(super) fn nearest<'a>(_: &str, _: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    None
}
