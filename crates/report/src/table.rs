//! Tables for the terminal.

use comfy_table::presets::NOTHING;
#[cfg(feature = "terminal")]
use comfy_table::{Attribute, Color};
use comfy_table::{Cell as TableCell, CellAlignment, ColumnConstraint, ContentArrangement};
use comfy_table::{LineStyle, Table, TableStyle, Width};

use crate::wrap::{columns, indented, wrap};

/// Use of colour in the terminal. Without the feature `terminal`, no output has colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The text has colour.
    Yes,
    /// The text has no colour, for example because it is written to a file.
    No,
}

/// Explanation of the marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// Full explanation, with the measures and thresholds.
    Whole,
    /// One line that names the flag that prints the explanation.
    Named,
}

impl Legend {
    /// Returns the explanation of the marks, one paragraph for each of `rules`.
    pub(crate) fn text(self, rules: &[String], width: Option<u16>) -> String {
        let named = [NAMED.to_owned()];
        let said = match self {
            Self::Whole => rules,
            Self::Named => &named,
        };
        let apart = |text: &String| format!("\n{}", paragraph(text, width));
        said.iter().map(apart).collect()
    }
}

/// Line that names the flag that prints the explanation of the marks.
const NAMED: &str =
    "--legend explains the marks ★ ☆ ≈ ! and harm, with their measures and thresholds.";

/// Table style with a line below the header and no other lines. Empty rows separate blocks.
pub(crate) const PLAIN: TableStyle =
    NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));

/// Returns `text` wrapped between words.
#[must_use]
pub fn paragraph(text: &str, width: Option<u16>) -> String {
    let room = room(width).unwrap_or(usize::MAX);
    format!("{}\n", wrap(text, room))
}

/// Returns the width of the text in columns: the given width, or the width of the terminal, or `None` if neither is
/// known.
pub(crate) fn room(width: Option<u16>) -> Option<usize> {
    base(width).width().map(usize::from)
}

/// Returns the width of the text in columns: the given width, or the width of the terminal, or 80 if neither is known.
#[must_use]
pub fn columns_of(width: Option<u16>) -> usize {
    const USUAL: usize = 80;
    room(width).unwrap_or(USUAL)
}

/// Minimum width of a sentence to the right of its name, in columns. If less space is available, the sentence is below
/// the name.
const SENTENCE_MIN: usize = 30;

/// Returns names with sentences to their right, or below them if there is not enough space.
#[must_use]
pub fn beside(rows: Vec<(Option<Ink>, [String; 2])>, colour: Colour, width: Option<u16>) -> String {
    let room = room(width).unwrap_or(usize::MAX);
    let names = rows.iter().map(|(_, [name, _])| columns(name));
    let names = names.max().unwrap_or(0);
    let left = room.saturating_sub(names + 1);
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    for (ink, [name, sentence]) in rows {
        let cell = |text: String| {
            let cell = TableCell::new(text);
            match (ink, colour) {
                (Some(ink), Colour::Yes) => painted(cell, ink),
                _ => cell,
            }
        };
        if left >= SENTENCE_MIN {
            let sentence = TableCell::new(wrap(&sentence, left));
            table.add_row([cell(name), sentence]);
        } else {
            let indent = name.len() - name.trim_start().len();
            table.add_row([cell(indented(name.trim_start(), indent, room))]);
            table.add_row([TableCell::new(indented(&sentence, indent + 2, room))]);
        }
    }
    for index in 0..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, u16::from(index == 0)));
        }
    }
    lines_of(&table)
}

/// Returns the lines of `table` without trailing spaces.
fn lines_of(table: &Table) -> String {
    let text = table.to_string();
    let mut lines: String = text
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    lines.truncate(lines.trim_end().len());
    lines.push('\n');
    lines
}

/// Colour of highlighted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ink {
    /// Green, for good results.
    Green,
    /// Red, for bad results.
    Red,
    /// Yellow, for everything else.
    Yellow,
}

/// Number of columns of padding around the text of a cell in a [`Plain`] table.
pub const PADDING: usize = 2;

/// A table of text in the style of the other tables. Words are never broken.
#[derive(Debug)]
pub struct Plain {
    table: Table,
    numbers_from: usize,
    /// Length of the longest word of each column, which is the minimum width of the column.
    words: Vec<usize>,
}

impl Plain {
    /// Returns an empty table with this header. The columns from the index `numbers_from` on contain numbers.
    #[must_use]
    pub fn new<H: AsRef<str>>(header: &[H], numbers_from: usize, width: Option<u16>) -> Self {
        let mut table = base(width);
        table.set_header(header.iter().map(AsRef::as_ref));
        let mut this = Self {
            table,
            numbers_from,
            words: Vec::new(),
        };
        this.count(header);
        this
    }

    /// Updates the length of the longest word of each column.
    fn count<C: AsRef<str>>(&mut self, row: &[C]) {
        self.words.resize(self.words.len().max(row.len()), 0);
        for (longest, cell) in self.words.iter_mut().zip(row) {
            let words = cell.as_ref().split_whitespace().map(columns);
            *longest = words.chain([*longest]).max().unwrap_or(0);
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: impl IntoIterator<Item = String>) {
        let row: Vec<String> = row.into_iter().collect();
        self.count(&row);
        self.table.add_row(row);
    }

    /// Adds a row. If the table has colour, the first cell is bold and has the colour `ink`.
    pub fn add_marked(&mut self, ink: Ink, colour: Colour, row: impl IntoIterator<Item = String>) {
        let row: Vec<String> = row.into_iter().collect();
        self.count(&row);
        let cells = row.into_iter().enumerate().map(|(column, text)| {
            let cell = TableCell::new(text);
            match (column, colour) {
                (0, Colour::Yes) => painted(cell, ink),
                _ => cell,
            }
        });
        self.table.add_row(cells.collect::<Vec<_>>());
    }

    /// Returns the table as text.
    #[must_use]
    pub fn text(mut self) -> String {
        align_numbers(&mut self.table, self.numbers_from);
        for (column, longest) in self.table.column_iter_mut().zip(self.words) {
            let least = u16::try_from(longest + PADDING).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
        self.table.to_string()
    }
}

/// Returns the cell in bold and in colour.
#[cfg(feature = "terminal")]
pub(crate) fn painted(cell: TableCell, ink: Ink) -> TableCell {
    let colour = match ink {
        Ink::Green => Color::Green,
        Ink::Red => Color::Red,
        Ink::Yellow => Color::Yellow,
    };
    cell.add_attribute(Attribute::Bold).fg(colour)
}

/// Returns the cell unchanged because this build has no terminal support.
#[cfg(not(feature = "terminal"))]
pub(crate) fn painted(cell: TableCell, _: Ink) -> TableCell {
    cell
}

fn base(width: Option<u16>) -> Table {
    let mut table = Table::new();
    table
        .load_style(PLAIN)
        .set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width {
        table.set_width(width);
    }
    table
}

pub(crate) fn align_numbers(table: &mut Table, from: usize) {
    for index in from..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_table_breaks_no_word() {
        for width in [20, 40, 80] {
            let mut table = Plain::new(&["claim", "verdict"], 2, Some(width));
            let name = "a-name-of-one-long-word".to_owned();
            table.add([
                name.clone(),
                "it holds under every reading of the text".to_owned(),
            ]);
            let text = table.text();
            assert!(text.contains(&name), "{text}");
            for word in ["holds", "reading", "verdict"] {
                assert!(text.contains(word), "{width}: {word} in {text}");
            }
        }
    }
}
