//! Cells of CSV files that are safe to open in a spreadsheet.
//!
//! A spreadsheet evaluates a cell that begins with `=`, `+`, `-` or `@` as a formula. Such a text is therefore prefixed
//! with an apostrophe, which spreadsheets do not show (OWASP, "CSV Injection"). Numbers are not changed.

use std::borrow::Cow;

/// First characters of a formula, and characters that some programs skip before it.
const BEGINNINGS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Prefix of a text that looks like a formula.
const APOSTROPHE: char = '\'';

/// Returns `cell` as it is written to the file: with an apostrophe if a spreadsheet would evaluate the text.
#[must_use]
pub fn to_sheet(cell: &str) -> Cow<'_, str> {
    match is_formula(cell) && cell.parse::<f64>().is_err() {
        true => Cow::Owned(format!("{APOSTROPHE}{cell}")),
        false => Cow::Borrowed(cell),
    }
}

/// Returns the text that [`to_sheet`] wrote as `cell`.
#[must_use]
pub fn from_sheet(cell: &str) -> &str {
    cell.strip_prefix(APOSTROPHE)
        .filter(|text| is_formula(text))
        .unwrap_or(cell)
}

/// Returns `true` if `cell` begins like a formula, possibly after apostrophes. Apostrophes that belong to the text are
/// counted, so that they stay distinct from the added apostrophe.
fn is_formula(cell: &str) -> bool {
    cell.trim_start_matches(APOSTROPHE).starts_with(BEGINNINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_formulas_are_quoted_and_numbers_are_not() {
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
