//! "Did you mean …?": the name that a misspelt one was most likely meant to be.

/// The candidate that `text` is most likely a misspelling of, if it is like any.
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

/// Without the feature `suggest` nobody is asked what was meant.
#[cfg(not(feature = "suggest"))]
pub(super) fn nearest<'a>(_: &str, _: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    None
}
