//! Cells of CSV files that spreadsheets take as they stand.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and runs it. So a text that begins like
//! that gets an apostrophe in front, which spreadsheets do not show (OWASP, "CSV Injection"). Numbers stay as they are.

use std::borrow::Cow;

/// What a formula begins with, and what some programs skip before it.
const BEGINNINGS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// What goes in front of them.
const APOSTROPHE: char = '\'';

/// `cell` as it is written: a text that a spreadsheet would run has an apostrophe in front.
#[must_use]
pub fn to_sheet(cell: &str) -> Cow<'_, str> {
    match is_formula(cell) && cell.parse::<f64>().is_err() {
        true => Cow::Owned(format!("{APOSTROPHE}{cell}")),
        false => Cow::Borrowed(cell),
    }
}

/// What [`to_sheet`] was given for `cell`.
#[must_use]
pub fn from_sheet(cell: &str) -> &str {
    cell.strip_prefix(APOSTROPHE)
        .filter(|text| is_formula(text))
        .unwrap_or(cell)
}

/// Whether `cell` begins as a formula does, behind any number of apostrophes: those that were there are kept apart from
/// the one that is added.
fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches(APOSTROPHE).starts_with(BEGINNINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_a_spreadsheet_would_run_are_quoted_and_numbers_are_not() {
        for text in [
            "=1+1",
            "+cmd|' /C calc'!A0",
            "-2+3",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "'=1",
            "''@x",
            "-",
        ] {
            let written = to_sheet(text);
            assert!(written.starts_with('\''), "{text}");
            assert_eq!(written.len(), text.len() + 1);
            assert_eq!(from_sheet(&written), text);
        }
        for cell in [
            "", "-0.5", "+3", "-1e-9", "-inf", "0", "le/reno", "it's", "'quoted'", "a=b",
        ] {
            assert_eq!(to_sheet(cell), cell);
            assert_eq!(from_sheet(cell), cell);
        }
    }
}
