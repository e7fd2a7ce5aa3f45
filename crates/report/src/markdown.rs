//! Tables and text in GitHub's Markdown.

use crate::page::{Cell, Emphasis};

/// Returns a table. Line breaks within cells are kept.
#[must_use]
pub fn table(header: &[String], rows: &[Vec<Cell>]) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let numeric = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column)).peekable();
        cells.peek().is_some()
            && cells.all(|cell| {
                matches!(
                    cell.emphasis,
                    Emphasis::Number | Emphasis::Best | Emphasis::Tied
                )
            })
    };
    let mut out = line(&mut header.iter().map(|name| escape(name)));
    out += &line(&mut (0..header.len()).map(|column| {
        let rule = if numeric(column) { "--:" } else { "---" };
        rule.to_owned()
    }));
    for row in rows {
        let short_by = header.len().saturating_sub(row.len());
        let nothing = std::iter::repeat_n(String::new(), short_by);
        out += &line(&mut row.iter().map(cell).chain(nothing));
    }
    out
}

fn cell(cell: &Cell) -> String {
    let text = escape(cell.text.trim());
    match cell.emphasis {
        _ if text.is_empty() => text,
        Emphasis::Best | Emphasis::Group | Emphasis::Fails | Emphasis::Holds | Emphasis::Open => {
            format!("**{text}**")
        }
        Emphasis::Plain | Emphasis::Number | Emphasis::Tied => text,
    }
}

/// Returns `text` with Markdown's special characters escaped. Text between two backticks stays code.
#[must_use]
pub fn escape(text: &str) -> String {
    let pieces = code_spans(text);
    let pieces = pieces.into_iter().map(|(is_code, piece)| match is_code {
        // The table would end at a bar, even in code.
        true => format!("`{}`", piece.replace('|', "\\|")),
        false => escape_words(piece),
    });
    pieces.collect()
}

/// Splits `text` at its backticks. Each piece is marked `true` if it is code, which is between two backticks. Backticks
/// that do not come in pairs are part of the text.
pub(crate) fn code_spans(text: &str) -> Vec<(bool, &str)> {
    let pieces: Vec<&str> = text.split('`').collect();
    let is_code = |n: usize| n % 2 == 1;
    let spans = pieces.iter().enumerate();
    let is_proper = |(n, piece): (usize, &&str)| !is_code(n) || !piece.trim().is_empty();
    if is_code(pieces.len()) && spans.clone().all(is_proper) {
        spans.map(|(n, piece)| (is_code(n), *piece)).collect()
    } else {
        vec![(false, text)]
    }
}

fn escape_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("<br>"),
            '<' => out.push_str("&lt;"),
            '\\' | '|' | '*' | '_' | '`' | '~' | '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code() {
        assert_eq!(escape("a_b `c_d|e` *"), "a\\_b `c_d\\|e` \\*");
        assert_eq!(escape("an odd ` and a_b"), "an odd \\` and a\\_b");
        assert_eq!(escape("nothing `` between"), "nothing \\`\\` between");
    }

    #[test]
    fn special_characters_do_not_end_a_cell() {
        let header = vec!["a|b".to_owned(), "n".to_owned()];
        let rows = vec![vec![
            Cell::from("sack(x=1)/reno\n*why* <b>"),
            Cell::new("1.5 ±0.1", Emphasis::Best),
        ]];
        assert_eq!(
            table(&header, &rows),
            "| a\\|b | n |\n| --- | --: |\n| sack(x=1)/reno<br>\\*why\\* &lt;b> | **1.5 ±0.1** |\n"
        );
    }

    #[test]
    fn short_rows_are_filled_up() {
        let header = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let rows = vec![vec![Cell::from("1")]];
        let text = table(&header, &rows);
        assert_eq!(text.lines().last(), Some("| 1 |  |  |"));
    }
}
