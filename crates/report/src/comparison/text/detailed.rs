//! The table of all stacks: one block per point, one row per stack, and as many columns as fit.

use comfy_table::{Cell as TableCell, ContentArrangement, Table};

use super::names::Names;
use crate::answer;
use crate::table::{Colour, PLAIN, align_numbers, painted};
use crate::wrap::{columns as width_of, indented, wrap};
use dupack_lab::results::verdict::Mark;
use dupack_lab::results::{Answered, Cell, Measure, Medium};
use dupack_lab::stats::{Summary, spread, times};

/// A column of the table. The first column, which contains the name of the stack, is not one of these.
#[derive(Clone, Copy)]
struct Column {
    /// Heading of the column, with line breaks.
    head: &'static str,
    shows: Shows,
    /// Name of the information that is lost if this column is left out or replaced by its shorter form.
    lost: &'static str,
    /// Order of removal if the table is too wide: the column with the largest value is removed first. Columns with zero
    /// are never removed.
    spare: u8,
    /// Shorter column that replaces this one.
    brief: Option<&'static Self>,
}

#[derive(Clone, Copy, PartialEq)]
enum Shows {
    /// The mean goodput over the seeds with its confidence interval.
    Goodput,
    /// The mean goodput without its confidence interval.
    ShortGoodput,
    /// The ratio of the goodput to the first stack's goodput, with its confidence interval.
    Ratio,
    /// The ratio of the goodput to the first stack's goodput, without its confidence interval.
    ShortRatio,
    /// The mean of the measure over the seeds.
    Mean(Measure),
}

const fn column(head: &'static str, shows: Shows, lost: &'static str, spare: u8) -> Column {
    Column {
        head,
        shows,
        lost,
        spare,
        brief: None,
    }
}

const SHORT_GOODPUT: Column = column("goodput\nMbit/s", Shows::ShortGoodput, "goodput", 0);

const SHORT_RATIO: Column = column("×\nfirst", Shows::ShortRatio, "× first", 7);

/// All columns in their order.
const COLUMNS: [Column; 18] = [
    Column {
        brief: Some(&SHORT_GOODPUT),
        ..column("goodput\nMbit/s", Shows::Goodput, "goodput's ±", 1)
    },
    Column {
        brief: Some(&SHORT_RATIO),
        ..column("× first", Shows::Ratio, "the interval of × first", 14)
    },
    mean(
        "in time\n%",
        Measure::FramesInTime,
        "video frames in time",
        2,
    ),
    mean("stalled\ns", Measure::StallTime, "stall time", 6),
    mean(
        "short\nflows\nms",
        Measure::CompletionShort,
        "mean completion of short flows",
        2,
    ),
    mean(
        "short\n99th %\nms",
        Measure::CompletionShortP99,
        "99th percentile of the completion of short flows",
        6,
    ),
    mean(
        "media\nlate\n%",
        Measure::MediaLate,
        "media lost or late",
        2,
    ),
    mean(
        "media\n95th %\nms",
        Measure::MediaDelayP95,
        "95th percentile of the media delay",
        6,
    ),
    mean(
        "queue\ndelay ms\nmedian",
        Measure::DelayMedian,
        "median queue delay",
        11,
    ),
    mean(
        "queue\ndelay ms\n95th %",
        Measure::DelayP95,
        "95th percentile of the queue delay",
        3,
    ),
    mean(
        "retrans\n%",
        Measure::RetransmissionShare,
        "retransmitted %",
        5,
    ),
    mean(
        "retrans\nsegs",
        Measure::Retransmissions,
        "number of retransmitted segments",
        12,
    ),
    mean("time-\nouts", Measure::Timeouts, "timeouts", 9),
    mean("fair", Measure::Fairness, "fair", 8),
    mean(
        "harm:\nCUBIC's\ngoodput",
        Measure::HarmGoodput,
        "harm to goodput",
        4,
    ),
    mean(
        "harm:\nCUBIC's\ndelay ms",
        Measure::HarmDelay,
        "harm to delay",
        10,
    ),
    mean("A_w\n%", Measure::AccuracyWireless, "A_w", 13),
    mean("A_c\n%", Measure::AccuracyCongestion, "A_c", 13),
];

const fn mean(head: &'static str, measure: Measure, lost: &'static str, spare: u8) -> Column {
    column(head, Shows::Mean(measure), lost, spare)
}

/// Returns the columns that are meaningful for these results. The accuracy of loss differentiation is compared only if
/// several stacks have it, because a sender without differentiation treats every loss as congestion. The files always
/// contain the accuracy.
fn columns<'a>(results: &'a Answered<'_>) -> impl Iterator<Item = Column> + 'a {
    let judges = |stack: &&String| stack.matches('/').count() == 3;
    let several_judge = results.stacks.iter().filter(judges).count() > 1;
    let speaks = move |measure: Measure| match measure {
        // The number of retransmissions is shown only for real packets, because a kernel may not report their share.
        Measure::Retransmissions => results.medium != Medium::Simulated,
        Measure::AccuracyWireless | Measure::AccuracyCongestion => several_judge,
        Measure::Fairness => results.has_several_flows(),
        _ => true,
    };
    COLUMNS
        .into_iter()
        .filter(move |column| match column.shows {
            Shows::Mean(measure) => speaks(measure) && results.has(measure),
            _ => true,
        })
}

/// A column with its cells, in the order of the stacks.
struct Filled {
    column: Column,
    cells: Vec<String>,
}

impl Filled {
    fn of(column: Column, results: &Answered<'_>, rows: &[Row]) -> Self {
        let text = |row: &Row| value(results, row.point, &row.cell, column.shows);
        Self {
            column,
            cells: rows.iter().map(text).collect(),
        }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| width_of(cell));
        cells.chain([width_of(self.column.head)]).max().unwrap_or(0)
    }
}

/// A stack at a point.
struct Row {
    point: usize,
    mark: Mark,
    cell: Cell,
}

/// Number of spaces between two columns of the table.
const GAP: usize = 1;

/// Returns the table, the meaning of its headings, and a note on the columns that were left out. Words are never
/// broken: a line is longer than `room` if a name and its number do not fit.
pub(super) fn detailed(results: &Answered<'_>, colour: Colour, room: Option<usize>) -> String {
    let rows = rows(results);
    let filled = columns(results).map(|column| Filled::of(column, results, &rows));
    let mut filled: Vec<Filled> = filled.collect();
    let room = room.unwrap_or(usize::MAX);
    let mut names = Names::whole(results);
    let width = |names: &Names, filled: &[Filled]| {
        let stacks = rows
            .iter()
            .map(|row| width_of(&marked(results, names, row)));
        let stacks = stacks.chain([width_of("stack")]).max().unwrap_or(0);
        let others = filled.iter().map(|filled| filled.width() + GAP);
        stacks + others.sum::<usize>()
    };
    let wanted = width(&names, &filled);
    if wanted > room {
        names = Names::short(results);
    }
    let mut lost: Vec<&str> = Vec::new();
    while width(&names, &filled) > room {
        let Some(goes) = most_dispensable(&filled) else {
            break;
        };
        let column = filled[goes].column;
        // If the whole column is removed after its longer form, only the name of the whole column is listed.
        lost.retain(|known| !known.ends_with(column.lost));
        lost.push(column.lost);
        match column.brief {
            Some(brief) => filled[goes] = Filled::of(*brief, results, &rows),
            None => {
                filled.remove(goes);
            }
        }
    }
    let mut text = blocks(results, &names, &rows, &filled, colour, room);
    for line in [key(&filled), left_out(&lost, wanted)]
        .into_iter()
        .flatten()
    {
        text += &format!("\n\n{}", wrap(&line, room));
    }
    for (short, whole) in names.legend() {
        text += &format!("\n\n{short} is\n{}", indented(whole, 2, room));
    }
    text
}

/// Returns the index of the column to remove first, or `None` if no remaining column may be removed.
fn most_dispensable(filled: &[Filled]) -> Option<usize> {
    let spares = filled.iter().map(|filled| filled.column.spare);
    let most = spares.max().filter(|most| *most > 0)?;
    filled.iter().position(|filled| filled.column.spare == most)
}

fn rows(results: &Answered<'_>) -> Vec<Row> {
    let at = |point| {
        let verdict = results.verdict(point);
        let cells = &results.goodput(point).cells;
        cells.iter().map(move |cell| Row {
            point,
            mark: verdict.stacks[cell.stack].mark,
            cell: cell.clone(),
        })
    };
    (0..results.points.len()).flat_map(at).collect()
}

fn marked(results: &Answered<'_>, names: &Names, row: &Row) -> String {
    let name = names.at(results, row.point, row.cell.stack);
    format!("{} {name}", row.mark.sign())
}

/// Returns the headings and the rows. The rows of each point are a block below the label of the point.
fn blocks(
    results: &Answered<'_>,
    names: &Names,
    rows: &[Row],
    filled: &[Filled],
    colour: Colour,
    room: usize,
) -> String {
    let mut table = Table::new();
    table
        .load_style(PLAIN)
        .set_content_arrangement(ContentArrangement::Disabled);
    let heads = filled.iter().map(|filled| filled.column.head);
    table.set_header(["stack"].into_iter().chain(heads));
    for (n, row) in rows.iter().enumerate() {
        let name = TableCell::new(marked(results, names, row));
        let name = match (answer::ink(row.mark), colour) {
            (Some(ink), Colour::Yes) => painted(name, ink),
            _ => name,
        };
        let values = filled.iter().map(|filled| TableCell::new(&filled.cells[n]));
        table.add_row([name].into_iter().chain(values));
    }
    align_numbers(&mut table, 1);
    for index in 0..table.column_count() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 0));
        }
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    // Each row is one line, and the lines before the rows are the headings.
    let (head, lines) = lines.split_at(lines.len().saturating_sub(rows.len()));
    let mut out: Vec<String> = head.iter().map(|line| (*line).to_owned()).collect();
    let mut last = None;
    for (row, line) in rows.iter().zip(lines) {
        if last != Some(row.point) {
            out.extend(last.map(|_| String::new()));
            let label = results.points[row.point].label();
            out.extend((!label.is_empty()).then(|| wrap(&label, room)));
            last = Some(row.point);
        }
        out.push((*line).to_owned());
    }
    out.join("\n")
}

/// Returns the meaning of the headings that need an explanation.
fn key(filled: &[Filled]) -> Option<String> {
    let has = |measure| {
        let mut all = filled.iter();
        all.any(|filled| filled.column.shows == Shows::Mean(measure))
    };
    let mut parts = Vec::new();
    if has(Measure::DelayMedian) || has(Measure::DelayP95) {
        parts.push("queue delay: waiting time of the packets of all flows at the bottleneck");
    }
    if has(Measure::Fairness) {
        parts.push("fair: Jain's index of these flows (1: equal goodputs)");
    }
    if has(Measure::HarmGoodput) {
        parts.push("harm to goodput: share of its goodput that a competing CUBIC flow loses");
    }
    if has(Measure::HarmDelay) {
        parts.push("harm to delay: increase of the 95th percentile of its queue delay");
    }
    if has(Measure::AccuracyWireless) || has(Measure::AccuracyCongestion) {
        parts.push(
            "A_w, A_c: shares of link losses and of congestion losses that the sender classified correctly",
        );
    }
    (!parts.is_empty()).then(|| format!("{}.", capital(&parts.join("; "))))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Returns the note on the columns that were left out. A terminal of `wanted` columns would show all of them.
fn left_out(lost: &[&str], wanted: usize) -> Option<String> {
    (!lost.is_empty()).then(|| {
        format!(
            "Columns left out for lack of room: {}. A width of {wanted} shows all of them (COLUMNS={wanted} for a \
             pipe), and so do the report and --format csv.",
            lost.join(", ")
        )
    })
}

fn value(results: &Answered<'_>, point: usize, cell: &Cell, shows: Shows) -> String {
    let nothing = || "–".to_owned();
    match (shows, cell.ratio) {
        (Shows::Goodput, _) => cell.summary.as_ref().map_or_else(nothing, |s| spread(s, 2)),
        (Shows::ShortGoodput, _) => {
            let mean = cell.summary.as_ref();
            mean.map_or_else(nothing, |s| format!("{:.2}", s.mean))
        }
        (Shows::Ratio | Shows::ShortRatio, _) if cell.stack == 0 => "1".to_owned(),
        (Shows::Ratio, ratio) => ratio.as_ref().map_or_else(nothing, times),
        (Shows::ShortRatio, ratio) => { ratio.filter(|ratio| !ratio.reaches_zero) }
            .map_or_else(nothing, |r| format!("{:.2}", r.mean)),
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
