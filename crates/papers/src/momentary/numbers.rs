//! The paper's own numbers: small CSV files beside its experiments.

/// The rows of a built-in CSV file below its header.
pub(super) fn paper_rows(text: &'static str) -> Vec<Vec<&'static str>> {
    let rows = text.lines().skip(1);
    rows.map(|row| row.split(',').collect()).collect()
}

/// A number in a row; none where the paper has none.
pub(super) fn number(row: &[&str], column: usize) -> Option<f64> {
    row.get(column)?.parse().ok()
}
