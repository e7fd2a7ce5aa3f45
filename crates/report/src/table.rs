//! Tables for the terminal.

use comfy_table::presets::NOTHING;
#[cfg(feature = "terminal")]
use comfy_table::{Attribute, Color};
use comfy_table::{Cell as TableCell, CellAlignment, ContentArrangement, Table};
use comfy_table::{LineStyle, TableStyle};

use dupack_lab::results::medium::NO_ANSWER;
use dupack_lab::results::{Cell, Comparison, Measure, Results, Standing};
use dupack_lab::stats::{spread, times};

use crate::notes::notes;

/// Whether the terminal shows colour. Without the feature `terminal` nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// It does.
    Yes,
    /// It does not, or the output goes to a file.
    No,
}

/// A line below the header and nothing else: blocks are set apart by empty rows.
const PLAIN: TableStyle = NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));

/// What is shown beside goodput, if any run has it.
const COLUMNS: [(&str, Measure); 9] = [
    ("in time", Measure::FramesInTime),
    ("stalled s", Measure::StallTime),
    ("A_w", Measure::AccuracyWireless),
    ("A_c", Measure::AccuracyCongestion),
    ("retrans.", Measure::Retransmissions),
    ("of sent", Measure::RetransmissionShare),
    ("timeouts", Measure::Timeouts),
    ("median ms", Measure::DelayMedian),
    ("95th ms", Measure::DelayP95),
];

/// The columns that say something here. How rightly losses are judged says nothing while nobody
/// judges: a sender without differentiation takes all for congestion.
fn columns(results: &Results) -> Vec<(&'static str, Measure)> {
    let judges = |stack: &String| stack.matches('/').count() == 3;
    let judged = results.stacks.iter().any(judges);
    let watched = results.has(Measure::FramesInTime);
    let speaks = |measure: Measure| match measure {
        // Room for what the viewers saw.
        Measure::RetransmissionShare | Measure::DelayMedian if watched => false,
        Measure::AccuracyWireless | Measure::AccuracyCongestion => judged && results.has(measure),
        _ => results.has(measure),
    };
    let all = COLUMNS.into_iter();
    all.filter(|(_, measure)| speaks(*measure)).collect()
}

/// All that is to be read of a comparison: the table of all stacks, and that of the best.
#[must_use]
pub fn comparison(results: &Results, colour: Colour, width: Option<u16>) -> String {
    let mut text = detailed(results, colour, width);
    if results.is_worthless() {
        return format!("{}\n\n{NO_ANSWER}", text.trim_end());
    }
    text.truncate(text.trim_end().len());
    text +=
        "\n\nThe best by goodput (★; ≈ cannot be told from it), mean ± 95 % confidence interval:\n";
    text += winners(results, colour, width).trim_end();
    text += "\n";
    for note in notes(results) {
        text += &format!("\n{}", wrapped(&note, width));
    }
    text
}

/// The table for reading: a block per point, a row per stack, the best of each block marked.
fn detailed(results: &Results, colour: Colour, width: Option<u16>) -> String {
    let mut table = base(width);
    let mut header = vec!["", "  stack", "goodput Mbit/s", "× first"];
    let columns = columns(results);
    header.extend(columns.iter().map(|(name, _)| *name));
    table.set_header(header);
    for point in 0..results.points.len() {
        let comparison = Comparison::of(results, point, Measure::Goodput);
        for (i, cell) in comparison.cells.iter().enumerate() {
            let label = if i == 0 {
                results.points[point].label()
            } else {
                String::new()
            };
            table.add_row(row(results, point, &label, cell, &columns, colour));
        }
        if point + 1 < results.points.len() {
            table.add_row(vec![TableCell::new(""); 4 + columns.len()]);
        }
    }
    align_numbers(&mut table, 2);
    table.to_string()
}

fn row(
    results: &Results,
    point: usize,
    label: &str,
    cell: &Cell,
    columns: &[(&str, Measure)],
    colour: Colour,
) -> Vec<TableCell> {
    let style = |text: String| styled(text, cell.standing, colour);
    let mut row = vec![
        TableCell::new(label),
        style(format!(
            "{} {}",
            mark(cell.standing),
            results.name_at(point, cell.stack)
        )),
        style(
            cell.summary
                .as_ref()
                .map_or("–".to_owned(), |s| spread(s, 3)),
        ),
        style(match (cell.ratio, cell.stack) {
            (_, 0) => "1".to_owned(),
            (Some(ratio), _) => times(&ratio),
            (None, _) => "–".to_owned(),
        }),
    ];
    for &(_, measure) in columns {
        let summary = results.summary(point, cell.stack, measure);
        let text = summary.map_or("–".to_owned(), |s| match measure {
            Measure::RetransmissionShare | Measure::FramesInTime => format!("{:.1} %", s.mean),
            Measure::AccuracyWireless | Measure::AccuracyCongestion => format!("{:.0} %", s.mean),
            Measure::DelayMedian | Measure::DelayP95 | Measure::Timeouts | Measure::StallTime => {
                format!("{:.1}", s.mean)
            }
            _ => format!("{:.0}", s.mean),
        });
        row.push(style(text));
    }
    row
}

/// The answer at a glance: a row per point, its best stack, and what it gains.
fn winners(results: &Results, colour: Colour, width: Option<u16>) -> String {
    let mut table = base(width);
    table.load_style(NOTHING);
    for point in 0..results.points.len() {
        let comparison = Comparison::of(results, point, Measure::Goodput);
        let Some(winner) = comparison.winner() else {
            if let Some(reason) = comparison.no_best {
                let label = results.points[point].label();
                table.add_row(vec![label, format!("  {}", reason.text())]);
            }
            continue;
        };
        let tied: Vec<&str> = comparison
            .cells
            .iter()
            .filter(|c| c.standing == Standing::Tied)
            .map(|c| results.stacks[c.stack].as_str())
            .collect();
        let gain = match (&winner.ratio, winner.stack) {
            (_, 0) => "the first stack itself".to_owned(),
            (Some(ratio), _) => format!("×{} of {}", times(ratio), results.stacks[0]),
            (None, _) => String::new(),
        };
        let tied = if tied.is_empty() {
            String::new()
        } else {
            format!("not told apart from {}", tied.join(", "))
        };
        table.add_row(vec![
            TableCell::new(results.points[point].label()),
            styled(
                format!("{} {}", mark(Standing::Best), results.stacks[winner.stack]),
                Standing::Best,
                colour,
            ),
            TableCell::new(
                winner
                    .summary
                    .as_ref()
                    .map_or(String::new(), |s| format!("{} Mbit/s", spread(s, 3))),
            ),
            TableCell::new(gain),
            TableCell::new(tied),
        ]);
    }
    table.to_string()
}

/// The effective parameters, for `--explain`.
#[must_use]
pub fn parameters(results: &Results, width: Option<u16>) -> String {
    let mut table = base(width);
    table.set_header(vec!["of", "parameter", "value", "from"]);
    let mut last = "";
    for p in &results.parameters {
        let owner = if p.owner == last { "" } else { &p.owner };
        table.add_row(vec![owner, &p.name, &p.value, &p.source]);
        last = &p.owner;
    }
    table.to_string()
}

/// What stands out in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ink {
    /// Good: green.
    Green,
    /// Bad: red.
    Red,
    /// Neither: yellow.
    Yellow,
}

/// A table of text in the style of the others.
#[derive(Debug)]
pub struct Plain {
    table: Table,
    numbers_from: usize,
}

impl Plain {
    /// A table with this header; the columns from `numbers_from` on hold numbers.
    #[must_use]
    pub fn new<H: AsRef<str>>(header: &[H], numbers_from: usize, width: Option<u16>) -> Self {
        let mut table = base(width);
        table.set_header(header.iter().map(AsRef::as_ref));
        Self {
            table,
            numbers_from,
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: impl IntoIterator<Item = String>) {
        self.table.add_row(row);
    }

    /// Adds a row whose first cell stands out, bold and in `ink`, where there is colour.
    pub fn add_marked(&mut self, ink: Ink, colour: Colour, row: impl IntoIterator<Item = String>) {
        let cells = row.into_iter().enumerate().map(|(column, text)| {
            let cell = TableCell::new(text);
            match (column, colour) {
                (0, Colour::Yes) => painted(cell, ink),
                _ => cell,
            }
        });
        self.table.add_row(cells.collect::<Vec<_>>());
    }

    /// The table.
    #[must_use]
    pub fn text(mut self) -> String {
        align_numbers(&mut self.table, self.numbers_from);
        self.table.to_string()
    }
}

/// Bold and coloured.
#[cfg(feature = "terminal")]
fn painted(cell: TableCell, ink: Ink) -> TableCell {
    let colour = match ink {
        Ink::Green => Color::Green,
        Ink::Red => Color::Red,
        Ink::Yellow => Color::Yellow,
    };
    cell.add_attribute(Attribute::Bold).fg(colour)
}

/// As it is: no terminal will show it.
#[cfg(not(feature = "terminal"))]
fn painted(cell: TableCell, _: Ink) -> TableCell {
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

/// A sentence in lines of this width, broken between words.
fn wrapped(text: &str, width: Option<u16>) -> String {
    let mut table = base(width);
    table.load_style(NOTHING);
    table.add_row(vec![text]);
    let lines = table.to_string();
    let lines = lines.lines().map(str::trim);
    lines.collect::<Vec<_>>().join("\n")
}

fn align_numbers(table: &mut Table, from: usize) {
    for index in from..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

const fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Best => "★",
        Standing::Tied => "≈",
        Standing::Behind => " ",
    }
}

fn styled(text: String, standing: Standing, colour: Colour) -> TableCell {
    let cell = TableCell::new(text);
    match (standing, colour) {
        (Standing::Best, Colour::Yes) => painted(cell, Ink::Green),
        _ => cell,
    }
}
