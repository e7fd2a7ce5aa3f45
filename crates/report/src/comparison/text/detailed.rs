//! The table of all stacks: a block per point, a row per stack, and as many columns as there is room for.

use comfy_table::{Cell as TableCell, ContentArrangement, Table};

use super::names::Names;
use crate::answer;
use crate::table::{Colour, PLAIN, align_numbers, painted};
use crate::wrap::{columns as width_of, indented, wrap};
use dupack_lab::results::verdict::Mark;
use dupack_lab::results::{Answered, Cell, Measure, Medium};
use dupack_lab::stats::{Summary, spread, times};

/// A column of the table, after the stack's name.
#[derive(Clone, Copy)]
struct Column {
    /// Its head, in lines.
    head: &'static str,
    shows: Shows,
    /// What is missing where it, or its longer form, is left out.
    lost: &'static str,
    /// Where there is no room, the columns with the largest go first. Zero stays.
    spare: u8,
    /// What takes its place.
    brief: Option<&'static Self>,
}

#[derive(Clone, Copy, PartialEq)]
enum Shows {
    /// The mean over the seeds with its interval.
    Goodput,
    /// The same without.
    ShortGoodput,
    /// The goodput against that of the first stack, with its interval.
    Ratio,
    /// The same without.
    ShortRatio,
    /// The mean over the seeds.
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
    mean("in time\n%", Measure::FramesInTime, "frames in time", 2),
    mean("stalled\ns", Measure::StallTime, "time stalled", 6),
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
        "95th percentile of the way of media",
        6,
    ),
    mean(
        "queue\nwait ms\nmedian",
        Measure::DelayMedian,
        "median queue wait",
        11,
    ),
    mean(
        "queue\nwait ms\n95th %",
        Measure::DelayP95,
        "95th percentile of the queue wait",
        3,
    ),
    mean("resent\n%", Measure::RetransmissionShare, "resent %", 5),
    mean(
        "resent\nsegs",
        Measure::Retransmissions,
        "count of resent segments",
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
        "harm:\nCUBIC's\nwait ms",
        Measure::HarmDelay,
        "harm to wait",
        10,
    ),
    mean("A_w\n%", Measure::AccuracyWireless, "A_w", 13),
    mean("A_c\n%", Measure::AccuracyCongestion, "A_c", 13),
];

const fn mean(head: &'static str, measure: Measure, lost: &'static str, spare: u8) -> Column {
    column(head, Shows::Mean(measure), lost, spare)
}

/// The columns that say something here. How rightly losses are judged is compared only where several
/// stacks judge: a sender without differentiation takes all for congestion. It is in every file.
fn columns<'a>(results: &'a Answered<'_>) -> impl Iterator<Item = Column> + 'a {
    let judges = |stack: &&String| stack.matches('/').count() == 3;
    let several_judge = results.stacks.iter().filter(judges).count() > 1;
    let speaks = move |measure: Measure| match measure {
        // Where a kernel gives no share.
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

/// A column with what stands in it, stack by stack.
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

/// Room that the table leaves between two columns.
const GAP: usize = 1;

/// The table, what its heads mean, and what had to be left out. Nothing is broken: where there is not
/// even room for a name and a number, a line is longer than `room`.
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
        // What is lost of a longer form is lost with the whole column.
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

/// The column that goes first; none if all that are left stay.
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

/// The head, and the rows in blocks, each below its point's label.
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
    // A row is a line each; what stands before them is the head.
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

/// What the heads mean that do not say it themselves.
fn key(filled: &[Filled]) -> Option<String> {
    let has = |measure| {
        let mut all = filled.iter();
        all.any(|filled| filled.column.shows == Shows::Mean(measure))
    };
    let mut parts = Vec::new();
    if has(Measure::DelayMedian) || has(Measure::DelayP95) {
        parts.push("queue wait: how long packets, of whatever flow, wait at the bottleneck");
    }
    if has(Measure::Fairness) {
        parts.push("fair: Jain's index of these flows, 1 is even");
    }
    if has(Measure::HarmGoodput) {
        parts.push("harm to goodput: the share that one standing CUBIC flow loses");
    }
    if has(Measure::HarmDelay) {
        parts.push("harm to wait: what is added to the 95th percentile of its queue wait");
    }
    if has(Measure::AccuracyWireless) || has(Measure::AccuracyCongestion) {
        parts.push(
            "A_w, A_c: how many losses of the link, and of congestion, the sender took for what they were",
        );
    }
    (!parts.is_empty()).then(|| format!("{}.", capital(&parts.join("; "))))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// What had to go, and where it is to be had: in a terminal that is `wanted` columns wide, among others.
fn left_out(lost: &[&str], wanted: usize) -> Option<String> {
    (!lost.is_empty()).then(|| {
        format!(
            "Left out, as there is no room: {}. {wanted} columns have room for all (or COLUMNS={wanted}, into a \
             pipe); the report and --format csv have them, too.",
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
