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

/// Returns `text` with Markdown's special characters escaped.
#[must_use]
pub fn escape(text: &str) -> String {
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
