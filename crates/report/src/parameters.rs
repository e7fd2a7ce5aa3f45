//! The effective parameters of an experiment as a table for the terminal: `--explain`.

use dupack_lab::results::{Level, Parameter, Results};

use crate::table::{columns_of, paragraph};
use crate::wrap::{columns, wrap};

/// Name of the source of values from the file or the flags.
const GIVEN: &str = "given";

/// Extent of a list of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Basic parameters, with the number of the other parameters.
    Basic,
    /// All parameters.
    All,
}

/// Returns the effective parameters for `--explain`.
#[must_use]
pub fn text(results: &Results, scope: Scope, width: Option<u16>) -> String {
    let parameters = &results.parameters;
    match scope {
        Scope::Basic => basic(parameters, width),
        Scope::All => {
            let sections = parameters.chunk_by(|a, b| a.owner == b.owner);
            let sections = sections.map(|own| Section {
                heading: own[0].owner.clone(),
                rows: own
                    .iter()
                    .map(|p| [&*p.name, &*p.value, &*p.source])
                    .collect(),
            });
            table(&sections.collect::<Vec<_>>(), columns_of(width))
        }
    }
}

fn basic(parameters: &[Parameter], width: Option<u16>) -> String {
    let blocks = blocks(parameters);
    let sections = blocks.iter().map(|block| {
        let differs = |other: &Block<'_>| other.part == block.part && other.rows != block.rows;
        Section {
            heading: match blocks.iter().any(differs) {
                true => format!("{} of {}", block.part, block.stacks.join(", ")),
                false => block.part.to_owned(),
            },
            rows: block.rows.clone(),
        }
    });
    let table = table(&sections.collect::<Vec<_>>(), columns_of(width));
    let hidden = parameters.iter().filter(|p| p.level == Level::Advanced);
    let note = match hidden.count() {
        0 => return table,
        1 => "1 more parameter has its default. --all prints all parameters with their sources."
            .to_owned(),
        count => format!(
            "{count} more parameters have their defaults. --all prints all parameters with their sources."
        ),
    };
    format!("{table}\n{}", paragraph(&note, width))
}

/// Name, value and source of a parameter.
type Row<'p> = [&'p str; 3];

/// Parameters below a heading.
struct Section<'p> {
    heading: String,
    rows: Vec<Row<'p>>,
}

/// Number of spaces between two columns and before the first column.
const GAP: usize = 2;

/// Returns a table of three columns. Its lines have at most `room` columns.
fn table(sections: &[Section<'_>], room: usize) -> String {
    const HEADS: Row<'_> = ["parameter", "value", "source"];
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let widths = widths(rows().chain([&HEADS]), room);
    let mut out = row(&HEADS, widths);
    out += &format!("{}\n", "─".repeat(widths.iter().sum::<usize>() + 3 * GAP));
    for section in sections {
        out += &format!("{}\n", wrap(&section.heading, room));
        out.extend(section.rows.iter().map(|own| row(own, widths)));
    }
    out
}

/// Returns the widths of the columns. Names are never broken. Values and sources share the remaining width.
fn widths<'r>(rows: impl Iterator<Item = &'r Row<'r>>, room: usize) -> [usize; 3] {
    let mut widths = [0; 3];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = columns(cell).max(*width);
        }
    }
    let [name, value, source] = widths;
    let rest = room.saturating_sub(name + 3 * GAP).max(2);
    let source = source.min(rest - value.min(rest / 2));
    [name, value.min(rest - source), source]
}

/// Returns a table row, in as many lines as the longest cell needs.
fn row(cells: &Row<'_>, widths: [usize; 3]) -> String {
    let mut columns_left = [0, 1, 2].map(|n| fitted(cells[n], widths[n]).into_iter());
    let mut out = String::new();
    loop {
        let line = columns_left.each_mut().map(Iterator::next);
        if line.iter().all(Option::is_none) {
            return out;
        }
        let mut text = String::new();
        for (cell, width) in line.into_iter().zip(widths) {
            let cell = cell.unwrap_or_default();
            let padding = " ".repeat(width.saturating_sub(columns(&cell)));
            text += &format!("{:GAP$}{cell}{padding}", "");
        }
        out += text.trim_end();
        out.push('\n');
    }
}

/// Returns `text` in lines of at most `width` columns. Only a word that is longer than a line is broken.
fn fitted(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in wrap(text, width).lines() {
        let letters: Vec<char> = line.chars().collect();
        let pieces = letters.chunks(width.max(1));
        lines.extend(pieces.map(|piece| piece.iter().collect::<String>()));
    }
    lines
}

/// Basic parameters of a part of the experiment, or of an algorithm with the same values in several stacks.
#[derive(Debug, PartialEq)]
struct Block<'p> {
    part: &'p str,
    /// Stacks that use the algorithm. Empty for parts that are not algorithms.
    stacks: Vec<&'p str>,
    rows: Vec<Row<'p>>,
}

fn blocks(parameters: &[Parameter]) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for own in parameters.chunk_by(|a, b| a.owner == b.owner) {
        let (stack, part) = match own[0].owner.split_once(": ") {
            Some((stack, part)) => (Some(stack), part),
            None => (None, &*own[0].owner),
        };
        let shown = own.iter().filter(|p| p.level == Level::Basic);
        let rows: Vec<_> = shown
            .map(|p| [&*p.name, &*p.value, source(p, stack.is_some())])
            .collect();
        let mut known = blocks.iter_mut();
        match known.find(|block| block.part == part && block.rows == rows) {
            Some(block) => block.stacks.extend(stack),
            None if rows.is_empty() => {}
            None => blocks.push(Block {
                part,
                stacks: stack.into_iter().collect(),
                rows,
            }),
        }
    }
    blocks
}

/// Returns a short form of the source of a value. Defaults of a stack's algorithms come from papers and RFCs, which are
/// cited only in the list of all parameters.
fn source(parameter: &Parameter, is_of_stack: bool) -> &str {
    match is_of_stack && parameter.source != GIVEN {
        true => "default",
        false => &parameter.source,
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::run::Plan;

    use super::*;
    use crate::wrap::columns;

    fn results(stacks: &[&str]) -> Results {
        let text = format!("stacks = {stacks:?}\nseeds = 3\n[path]\nrate = \"1Mbit/s\"\n");
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        plan.empty_results()
    }

    #[test]
    fn basic_parameters_fit_80_columns() {
        let results = results(&["rack/cubic", "le/westwood", "sack/reno/veno/24"]);
        let text = text(&results, Scope::Basic, Some(80));
        assert!(columns(&text) <= 80, "{text}");
        for p in results
            .parameters
            .iter()
            .filter(|p| p.level == Level::Basic)
        {
            assert!(
                text.contains(&format!("\n  {} ", p.name)),
                "{}: {text}",
                p.name
            );
        }
        for hidden in ["endpoints", "css_rounds", "undo_dsack", "loss_placement"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        assert!(text.lines().count() < 80, "{text}");
    }

    #[test]
    fn the_note_counts_the_other_parameters() {
        let results = results(&["rack/cubic"]);
        let hidden = { results.parameters.iter() }
            .filter(|p| p.level == Level::Advanced)
            .count();
        let rows = |text: &str| text.lines().filter(|line| line.starts_with("  ")).count() - 1;
        let basic = text(&results, Scope::Basic, Some(200));
        assert!(
            basic.contains(&format!("\n{hidden} more parameters have")),
            "{basic}"
        );
        assert_eq!(rows(&basic), results.parameters.len() - hidden, "{basic}");
        let all = text(&results, Scope::All, Some(1000));
        assert_eq!(rows(&all), results.parameters.len(), "{all}");
        assert!(!all.contains("--all"));
        assert!(columns(&text(&results, Scope::All, Some(80))) <= 80);
    }

    #[test]
    fn given_parameters_are_shown_with_their_stacks() {
        let results = results(&["rack/cubic(undo_dsack=off)", "rack/cubic"]);
        let text = text(&results, Scope::Basic, Some(80));
        let rows: Vec<Vec<&str>> = { text.lines() }
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(rows.contains(&vec!["undo_dsack", "off", "given"]), "{text}");
        let of = "\ncongestion control cubic of rack/cubic(undo_dsack=off)\n";
        assert!(text.contains(of), "{text}");
        assert!(text.contains("\nloss recovery rack\n"), "{text}");
        assert_eq!(text.matches("reo_wnd").count(), 1, "{text}");
    }

    #[test]
    fn long_cells_are_wrapped_and_long_words_broken() {
        let section = Section {
            heading: "path".to_owned(),
            rows: vec![["n", "one two three", "draft-ietf-long"]],
        };
        let lines = [
            "  parameter  value    source",
            "─────────────────────────────",
            "path",
            "  n          one two  draft-i",
            "             three    etf-lon",
            "                      g",
        ];
        let text = table(&[section], 29);
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }
}
