//! The words that the papers' judges share.

use super::claims::{Finding, Verdict};
use super::reproduction::Exhibit;
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_report::comparison::Figure;
use dupack_report::figure::FigureError;

/// The 95 % interval, or the mean alone if there is only one sample.
pub(super) fn interval(summary: &Summary) -> (f64, f64) {
    summary
        .interval_95()
        .unwrap_or((summary.mean, summary.mean))
}

/// Whether every interval lies above `bound`.
pub(super) fn all_above(summaries: &[Summary], bound: f64) -> bool {
    summaries.iter().all(|s| interval(s).0 > bound)
}

/// Means with their intervals, separated by commas.
pub(super) fn list(summaries: &[Summary], decimals: usize) -> String {
    let texts: Vec<String> = summaries.iter().map(|s| spread(s, decimals)).collect();
    texts.join(", ")
}

/// A finding from a rule that says yes or no.
pub(super) fn finding(holds: bool, found: impl Into<String>) -> Option<Finding> {
    Some(Finding::new(Verdict::of(holds), found))
}

/// A figure, if it can be drawn.
pub(super) fn figure(
    name: &str,
    caption: &str,
    svg: Result<String, FigureError>,
) -> Option<Exhibit> {
    Some(Exhibit::Figure(Figure {
        name: name.to_owned(),
        svg: svg.ok()?,
        caption: caption.to_owned(),
    }))
}
