//! Tables for the terminal.

use comfy_table::presets::NOTHING;
#[cfg(feature = "terminal")]
use comfy_table::{Attribute, Color};
use comfy_table::{Cell as TableCell, CellAlignment, ColumnConstraint, ContentArrangement};
use comfy_table::{LineStyle, Table, TableStyle, Width};

mod detailed;
mod names;

use crate::answer;
use crate::groups;
use crate::notes::notes;
use crate::setting::path_line;
use crate::wrap::{columns, indented, wrap};
use dupack_lab::results::medium::NO_ANSWER;
use dupack_lab::results::{Answered, Results};

/// Whether the terminal shows colour. Without the feature `terminal` nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// It does.
    Yes,
    /// It does not, or the output goes to a file.
    No,
}

/// Whether marks are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// They are, with the measures and limits behind them.
    Whole,
    /// A line says how to have them explained.
    Named,
}

/// A line below the header and nothing else: blocks are set apart by empty rows.
const PLAIN: TableStyle = NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));

/// All that is to be read of a comparison: the table of all stacks, and the answer.
#[must_use]
pub fn comparison(
    results: &Answered<'_>,
    legend: Legend,
    colour: Colour,
    width: Option<u16>,
) -> String {
    let mut text = format!("{}\n", paragraph(&path_line(results), width));
    text += &detailed::detailed(results, colour, room(width));
    if results.is_worthless() {
        return format!("{}\n\n{NO_ANSWER}", text.trim_end());
    }
    text.truncate(text.trim_end().len());
    text += "\n\n";
    if let Some(groups) = groups::table(results, width) {
        text += &groups;
        text += "\n";
    }
    text += answer::text(results, legend, colour, width).trim_end();
    text += "\n";
    for note in notes(results) {
        text += &format!("\n{}", paragraph(&note, width).trim_end());
    }
    text
}

/// Text in lines that are broken between words.
#[must_use]
pub fn paragraph(text: &str, width: Option<u16>) -> String {
    let room = room(width).unwrap_or(usize::MAX);
    format!("{}\n", wrap(text, room))
}

/// How many columns of text there are: as many as was said, or as the terminal has; none if nobody
/// counts.
fn room(width: Option<u16>) -> Option<usize> {
    base(width).width().map(usize::from)
}

/// How many columns there are: as many as was said, or as the terminal has; as terminals usually have, if
/// nobody counts.
#[must_use]
pub fn columns_of(width: Option<u16>) -> usize {
    const USUAL: usize = 80;
    room(width).unwrap_or(USUAL)
}

/// A sentence narrower than this stands below its name, not beside it.
const SENTENCE_MIN: usize = 30;

/// Names with sentences beside them, or below where there is no room.
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

/// Columns that a cell of a [`Plain`] table has beside its text.
pub const PADDING: usize = 2;

/// A table of text in the style of the others. No word in it is broken.
#[derive(Debug)]
pub struct Plain {
    table: Table,
    numbers_from: usize,
    /// The longest word of each column: it is no narrower.
    words: Vec<usize>,
}

impl Plain {
    /// A table with this header; the columns from `numbers_from` on hold numbers.
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

    /// Takes note of the longest word of each cell.
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

    /// Adds a row whose first cell stands out, bold and in `ink`, where there is colour.
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

    /// The table.
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
    use dupack_engine::{Execute, Execution};
    use dupack_lab::experiment::load::Source;
    use dupack_lab::results::{Doubt, Measure, Medium, Results, Run, Values, WireRecord};
    use dupack_lab::run::{Interrupt, Plan};

    const LONG: &str = "rack/bbr(loss_thresh=0.9,beta=0.99,headroom=0)";

    const WIDTHS: [u16; 6] = [40, 60, 80, 100, 120, 160];

    fn plan(stacks: &[&str]) -> Plan {
        let text = format!(
            "stacks = {stacks:?}\nseeds = 3\nduration = \"5s\"\n[path]\nrate = \"5Mbit/s\"\n\
             loss = \"1%\"\n[[flows]]\ncount = 2\n"
        );
        let source = Source::new("test.toml", text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        plan.measuring_harm(&catalog)
    }

    fn results(stacks: &[&str]) -> Results {
        plan(stacks).execute(Execution::default(), &(), &Interrupt::new())
    }

    fn usual() -> Results {
        results(&["newreno/reno", "reno/reno/veno/24", "rack/cubic"])
    }

    #[track_caller]
    fn no_line_is_longer(text: &str, width: u16) {
        let too_long = text.lines().find(|line| columns(line) > width.into());
        assert_eq!(too_long, None, "{width}: {text}");
    }

    /// The first part of the output: the table without what is said below.
    /// The table, without the line of the path above it and all that is below.
    fn table(text: &str) -> &str {
        text.split("\n\n").nth(1).unwrap()
    }

    /// Columns go, those that do are named, and what stays is whole.
    #[test]
    fn a_narrow_table_has_fewer_columns_and_says_which_went() {
        let results = usual();
        let all = [
            ("× first ", "the interval of × first"),
            ("median", "median queue wait"),
            ("95th %", "95th percentile of the queue wait"),
            ("resent", "resent %"),
            ("time-", "timeouts"),
            ("fair", "fair"),
        ];
        let mut last = 0;
        for width in WIDTHS {
            let text = comparison(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            );
            no_line_is_longer(&text, width);
            for name in &results.stacks {
                assert!(text.contains(name.as_str()), "{width}: {name} in {text}");
            }
            let said: String = text.replace('\n', " ");
            let lost = said.split_once("Left out, as there is no room: ");
            let lost = lost.map_or("", |(_, rest)| rest.split_once(". ").unwrap().0);
            let head = table(&text).split('─').next().unwrap().to_owned();
            for (shown, name) in all {
                assert_ne!(
                    head.contains(shown),
                    lost.split(", ")
                        .any(|one| name.ends_with(one) && !one.is_empty()),
                    "{width}: {name} is either shown or said to be left out: {text}"
                );
            }
            let shown = table(&text).lines().map(columns).max().unwrap();
            assert!(shown >= last, "{width}: more room is made use of");
            last = shown;
        }
        let wide = comparison(
            &Answered::of(&results),
            Legend::Whole,
            Colour::No,
            Some(160),
        );
        assert!(!wide.contains("Left out"), "{wide}");
    }

    #[test]
    fn the_width_that_is_named_has_room_for_all() {
        let results = usual();
        let narrow = comparison(&Answered::of(&results), Legend::Whole, Colour::No, Some(60));
        let said = narrow.replace('\n', " ");
        let (before, _) = said.split_once(" columns have room for all").unwrap();
        let wanted: u16 = before.rsplit(' ').next().unwrap().parse().unwrap();
        let lost = |width| {
            comparison(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            )
            .contains("Left out")
        };
        assert!(!lost(wanted) && lost(wanted - 1), "{wanted}");
    }

    /// A long name is not broken in the table: it has a letter there, and stands in full below.
    #[test]
    fn long_names_are_never_broken_within_a_word() {
        let results = results(&["rack/cubic", LONG, "newreno(full_ack=alg1)/reno"]);
        for width in WIDTHS {
            let text = comparison(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            );
            no_line_is_longer(&text, width);
            let whole = text.contains(&format!(" {LONG} "));
            assert!(whole || text.contains("rack/bbr(A) "), "{width}: {text}");
            // What is on two lines for want of room goes on after a joint.
            let together: String = text.lines().map(str::trim).collect();
            assert!(together.contains(LONG), "{width}: {text}");
            for line in text.lines().map(str::trim_end) {
                let last = line.split(' ').next_back().unwrap();
                let cut = LONG
                    .match_indices(['_', '=', '.'])
                    .any(|(at, _)| last.ends_with(&LONG[..=at]) || last == &LONG[..at]);
                assert!(!cut, "{width}: {line}");
            }
        }
        let at_60 = comparison(&Answered::of(&results), Legend::Whole, Colour::No, Some(60));
        assert!(
            at_60.contains(&format!("rack/bbr(A) is\n  {LONG}")),
            "{at_60}"
        );
        assert!(at_60.contains("newreno(B)/reno is"), "{at_60}");
    }

    #[test]
    fn how_losses_are_judged_is_shown_where_several_stacks_judge() {
        let results = usual();
        let head = |results: &Results| {
            let text = comparison(&Answered::of(results), Legend::Whole, Colour::No, Some(200));
            text.split('─').next().unwrap().to_owned()
        };
        assert!(!head(&results).contains("A_w"));
        let two = results_of_two();
        assert!(head(&two).contains("A_w"));
    }

    /// Two stacks that tell losses apart, with made-up numbers.
    fn results_of_two() -> Results {
        let mut results = plan(&["reno/reno/veno/24", "le/reno/veno/24"]).empty_results();
        for stack in 0..2 {
            let mut values = Values::default();
            values.set(Measure::Goodput, 1.0);
            values.set(Measure::AccuracyWireless, 80.0);
            results.runs.push(Run {
                point: 0,
                stack,
                seed: 1,
                values,
                flow_goodputs: vec![0.5, 0.5],
                trace_hash: 1,
            });
        }
        results
    }

    /// As of `dupack testbed`: kernels beside our own senders, and runs that cannot be trusted.
    #[test]
    fn a_table_of_real_packets_is_whole_and_its_columns_are_named() {
        let mut results = plan(&["sack/reno", "rack/cubic"]).empty_results();
        results.stacks[1] = "kernel:a_control_with_a_long_name".to_owned();
        let doubt = Doubt {
            point: 0,
            stack: 1,
            seed: 2,
            reasons: Vec::new(),
        };
        results.medium = Medium::Wire(WireRecord {
            doubts: vec![doubt],
            ..WireRecord::default()
        });
        for (stack, seed) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
            let mut values = Values::default();
            for measure in [
                Measure::Goodput,
                Measure::Retransmissions,
                Measure::RetransmissionShare,
                Measure::Timeouts,
                Measure::DelayMedian,
                Measure::DelayP95,
            ] {
                values.set(measure, 100.0 + seed as f64);
            }
            results.runs.push(Run {
                point: 0,
                stack,
                seed,
                values,
                flow_goodputs: vec![1.0],
                trace_hash: 0,
            });
        }
        for width in [60, 80, 120] {
            let text = comparison(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            );
            no_line_is_longer(&text, width);
            let name = "kernel:a_control_with_a_long_name †1/2 ";
            assert!(text.contains(name), "{width}: {text}");
        }
        let text = comparison(
            &Answered::of(&results),
            Legend::Whole,
            Colour::No,
            Some(120),
        );
        for head in ["segs", "resent", "queue", "wait ms", "median", "95th %"] {
            assert!(table(&text).contains(head), "{head} in {text}");
        }
    }

    #[test]
    fn the_heads_say_of_what_the_delay_is() {
        let text = comparison(
            &Answered::of(&usual()),
            Legend::Whole,
            Colour::No,
            Some(200),
        );
        for part in ["queue\n", "wait ms", "median", "95th %", "CUBIC's"] {
            let head = table(&text).split('─').next().unwrap();
            assert!(head.contains(part.trim_end()), "{part} in {head}");
        }
        assert!(
            text.contains("Queue wait: how long packets, of whatever flow, wait at the bottleneck"),
            "{text}"
        );
    }

    #[test]
    fn the_rules_and_thresholds_stand_below() {
        let text = comparison(
            &Answered::of(&usual()),
            Legend::Whole,
            Colour::No,
            Some(200),
        );
        for part in [
            "Holm",
            "0.5",
            "10 %",
            "Ware et al.",
            "rack/cubic flow",
            "3 pairs",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_table_of_text_breaks_no_word_either() {
        for width in [20, 40, 80] {
            let mut table = Plain::new(&["claim", "what became of it"], 2, Some(width));
            let name = "a-name-of-one-long-word".to_owned();
            table.add([
                name.clone(),
                "it holds under every reading of the text".to_owned(),
            ]);
            let text = table.text();
            assert!(text.contains(&name), "{text}");
            for word in ["holds", "reading", "became"] {
                assert!(text.contains(word), "{width}: {word} in {text}");
            }
        }
    }
}
