//! Tables for the terminal.

use comfy_table::presets::NOTHING;
#[cfg(feature = "terminal")]
use comfy_table::{Attribute, Color};
use comfy_table::{Cell as TableCell, CellAlignment, ContentArrangement, Table};
use comfy_table::{LineStyle, TableStyle};

use crate::answer;
use crate::notes::notes;
use dupack_lab::results::medium::NO_ANSWER;
use dupack_lab::results::verdict::Mark;
use dupack_lab::results::{Cell, Comparison, Measure, Medium, Results, Verdict};
use dupack_lab::stats::{Summary, spread, times};

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

/// A column of the table of all stacks, after the stack's name.
#[derive(Clone, Copy)]
struct Column {
    /// Its head, in lines.
    head: &'static str,
    shows: Shows,
    /// Where there is no room, the columns with the largest go first. Zero stays.
    spare: u8,
}

#[derive(Clone, Copy)]
enum Shows {
    /// The mean over the seeds with its interval.
    Goodput,
    /// The goodput against that of the first stack, with its interval.
    Ratio,
    /// The same without.
    ShortRatio,
    /// The mean over the seeds.
    Mean(Measure),
}

const fn column(head: &'static str, shows: Shows, spare: u8) -> Column {
    Column { head, shows, spare }
}

/// All columns in their order.
const COLUMNS: [Column; 15] = [
    column("goodput\nMbit/s", Shows::Goodput, 0),
    column("× first", Shows::Ratio, 9),
    column("×\nfirst", Shows::ShortRatio, 1),
    column("in time\n%", Shows::Mean(Measure::FramesInTime), 0),
    column("stalled\ns", Shows::Mean(Measure::StallTime), 0),
    column("queue ms\nmedian", Shows::Mean(Measure::DelayMedian), 6),
    column("queue ms\n95th", Shows::Mean(Measure::DelayP95), 0),
    column("resent\n%", Shows::Mean(Measure::RetransmissionShare), 0),
    column("resent", Shows::Mean(Measure::Retransmissions), 7),
    column("time-\nouts", Shows::Mean(Measure::Timeouts), 3),
    column("fair", Shows::Mean(Measure::Fairness), 2),
    column("harm", Shows::Mean(Measure::HarmGoodput), 0),
    column("harm\n+ms", Shows::Mean(Measure::HarmDelay), 5),
    column("A_w\n%", Shows::Mean(Measure::AccuracyWireless), 10),
    column("A_c\n%", Shows::Mean(Measure::AccuracyCongestion), 10),
];

/// The columns that say something here. How rightly losses are judged says nothing while nobody
/// judges: a sender without differentiation takes all for congestion.
fn columns(results: &Results) -> Vec<Column> {
    let judges = |stack: &String| stack.matches('/').count() == 3;
    let judged = results.stacks.iter().any(judges);
    let speaks = |measure: Measure| match measure {
        // Where a kernel gives no share.
        Measure::Retransmissions => results.medium != Medium::Simulated,
        Measure::AccuracyWireless | Measure::AccuracyCongestion => judged,
        Measure::Fairness => results.has_several_flows(),
        _ => true,
    };
    let all = COLUMNS.into_iter();
    all.filter(|column| match column.shows {
        Shows::Mean(measure) => speaks(measure) && results.has(measure),
        Shows::Goodput | Shows::Ratio | Shows::ShortRatio => true,
    })
    .collect()
}

/// All that is to be read of a comparison: the table of all stacks, and the answer.
#[must_use]
pub fn comparison(results: &Results, colour: Colour, width: Option<u16>) -> String {
    let mut text = detailed(results, colour, width);
    if results.is_worthless() {
        return format!("{}\n\n{NO_ANSWER}", text.trim_end());
    }
    text.truncate(text.trim_end().len());
    text += "\n\n";
    text += answer::text(results, colour, width).trim_end();
    text += "\n";
    for note in notes(results) {
        text += &format!("\n{}", paragraph(&note, width).trim_end());
    }
    text
}

/// A row of the table of all stacks: a point's label alone, or a stack with its numbers.
struct Row {
    mark: Mark,
    cells: Vec<String>,
}

/// The table for reading: a block per point, a row per stack, each with its mark.
fn detailed(results: &Results, colour: Colour, width: Option<u16>) -> String {
    let mut table = base(width);
    let mut columns = columns(results);
    let mut rows = rows(results, &columns);
    let room = table.width().map_or(usize::MAX, usize::from);
    fit(&mut columns, &mut rows, room);
    let heads = columns.iter().map(|column| column.head);
    table.set_header(["stack"].into_iter().chain(heads));
    for row in rows {
        let mut cells: Vec<TableCell> = row.cells.iter().map(TableCell::new).collect();
        if let (Some(ink), Colour::Yes) = (answer::ink(row.mark), colour) {
            let name = cells.remove(0);
            cells.insert(0, painted(name, ink));
        }
        table.add_row(cells);
    }
    align_numbers(&mut table, 1);
    for index in 0..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 0));
        }
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// Room that the table leaves between two columns.
const GAP: usize = 1;

/// Leaves out columns, the most dispensable first, until the rest fits into `room`.
fn fit(columns: &mut Vec<Column>, rows: &mut [Row], room: usize) {
    let length = |text: &str| text.lines().map(|line| line.chars().count()).max();
    loop {
        let heads = ["stack"].into_iter().chain(columns.iter().map(|c| c.head));
        let widths = heads.enumerate().map(|(n, head)| {
            let cells = rows.iter().filter_map(|row| length(row.cells.get(n)?));
            cells.chain(length(head)).max().unwrap_or(0) + GAP
        });
        let has_both = columns
            .iter()
            .filter(|c| matches!(c.shows, Shows::Ratio | Shows::ShortRatio))
            .count()
            == 2;
        let too_much = widths.sum::<usize>() > room;
        let most = columns.iter().map(|column| column.spare).max().unwrap_or(0);
        let goes = if too_much && most > 0 {
            columns.iter().position(|column| column.spare == most)
        } else if has_both {
            let is_short = |column: &Column| matches!(column.shows, Shows::ShortRatio);
            columns.iter().position(is_short)
        } else {
            None
        };
        let Some(goes) = goes else {
            return;
        };
        columns.remove(goes);
        for row in rows.iter_mut().filter(|row| row.cells.len() > 1) {
            row.cells.remove(goes + 1);
        }
    }
}

fn rows(results: &Results, columns: &[Column]) -> Vec<Row> {
    let mut rows = Vec::new();
    for point in 0..results.points.len() {
        let label = results.points[point].label();
        if !label.is_empty() {
            rows.push(Row {
                mark: Mark::Plain,
                cells: vec![label],
            });
        }
        let verdict = Verdict::of(results, point);
        for cell in Comparison::of(results, point, Measure::Goodput).cells {
            let mark = verdict.stacks[cell.stack].mark;
            let name = answer::marked(results, point, cell.stack, mark);
            let values = columns
                .iter()
                .map(|column| value(results, point, &cell, column.shows));
            rows.push(Row {
                mark,
                cells: [name].into_iter().chain(values).collect(),
            });
        }
        if point + 1 < results.points.len() {
            rows.push(Row {
                mark: Mark::Plain,
                cells: vec![String::new()],
            });
        }
    }
    rows
}

fn value(results: &Results, point: usize, cell: &Cell, shows: Shows) -> String {
    let nothing = || "–".to_owned();
    match (shows, cell.ratio) {
        (Shows::Goodput, _) => cell.summary.as_ref().map_or_else(nothing, |s| spread(s, 2)),
        (Shows::Ratio | Shows::ShortRatio, _) if cell.stack == 0 => "1".to_owned(),
        (Shows::Ratio, ratio) => ratio.as_ref().map_or_else(nothing, times),
        (Shows::ShortRatio, ratio) => ratio.map_or_else(nothing, |r| format!("{:.2}", r.mean)),
        (Shows::Mean(measure), _) => {
            let samples = results.samples(point, cell.stack, measure);
            let samples: Vec<f64> = samples.map(|(_, v)| v).collect();
            Summary::of(&samples).map_or_else(nothing, |s| match measure {
                Measure::HarmGoodput | Measure::Fairness => format!("{:.2}", s.mean),
                Measure::HarmDelay => format!("{:+.1}", s.mean),
                Measure::Retransmissions
                | Measure::AccuracyWireless
                | Measure::AccuracyCongestion => format!("{:.0}", s.mean),
                _ => format!("{:.1}", s.mean),
            })
        }
    }
}

/// Text that is broken between words.
pub(crate) fn paragraph(text: &str, width: Option<u16>) -> String {
    let mut table = base(width);
    table.load_style(NOTHING);
    table.add_row([text]);
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 0));
    }
    lines_of(&table)
}

/// Names with sentences beside them.
pub(crate) fn beside(
    rows: Vec<(Option<Ink>, [String; 2])>,
    colour: Colour,
    width: Option<u16>,
) -> String {
    let mut table = base(width);
    table.load_style(NOTHING);
    for (ink, [name, sentence]) in rows {
        let name = TableCell::new(name);
        let name = match (ink, colour) {
            (Some(ink), Colour::Yes) => painted(name, ink),
            _ => name,
        };
        table.add_row([name, TableCell::new(sentence)]);
    }
    for index in 0..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 1));
        }
    }
    lines_of(&table)
}

/// The table's lines without the spaces at their ends.
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

fn align_numbers(table: &mut Table, from: usize) {
    for index in from..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::run::{Execution, Interrupt, Plan};

    fn results() -> Results {
        let text = "stacks = [\"newreno/reno\", \"reno/reno/veno/24\", \"rack/cubic\"]\nseeds = 3\n\
                    duration = \"5s\"\n[path]\nrate = \"5Mbit/s\"\nloss = \"1%\"\n[[flows]]\ncount = 2\n";
        let source = Source::new("test.toml", text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        let plan = plan.measuring_harm(&catalog);
        plan.execute(Execution::default(), &(), &Interrupt::new())
    }

    /// Columns go, and what stays is whole: no name is broken, no line too long.
    #[test]
    fn a_narrow_table_has_fewer_columns_and_all_of_each_name() {
        let results = results();
        for (width, has, has_not) in [
            (
                140,
                ["× first", "A_w", "fair", "harm"],
                "nothing is left out",
            ),
            (80, ["queue ms", "time-", "fair", "harm"], "A_w"),
            (60, ["95th", "resent", "goodput", "harm"], "median"),
        ] {
            let text = comparison(&results, Colour::No, Some(width));
            let too_long = text
                .lines()
                .find(|line| line.chars().count() > width.into());
            assert_eq!(too_long, None, "{width}: {text}");
            for part in has
                .into_iter()
                .chain(results.stacks.iter().map(String::as_str))
            {
                assert!(text.contains(part), "{width}: {part} in {text}");
            }
            let table = text.split("The answer").next().unwrap();
            assert!(!table.contains(has_not), "{width}: {has_not} in {text}");
        }
    }

    #[test]
    fn the_rules_and_thresholds_stand_below() {
        let text = comparison(&results(), Colour::No, Some(200));
        for part in ["Holm", "0.5", "10 %", "Ware et al.", "rack/cubic flow"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
