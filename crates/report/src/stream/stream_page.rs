//! The page of a streamed experiment: a summary of the whole sweep, and the details of some points.

use dupack_algorithms::catalog::Catalog;

use super::digest::Digests;
use super::finish::{Finished, MARKS};
use super::{StreamError, Streaming};
use crate::answer;
use crate::comparison::{
    Charts, Links, MARKS_CAPTION, NO_NUMBER, NUMBERS, NUMBERS_CAPTION, charts, lead, number_header,
    record, winners,
};
use crate::figure::Figure;
use crate::files::Files;
use crate::notes::range;
use crate::page::{Block, Cell, Emphasis, Link, Page, Section};
use crate::shown::Shown;

/// Maximum number of characters of the experiment file that the page shows.
const LISTING: usize = 20_000;

/// Number of part files that the page links to.
const PARTS: usize = 3;

/// Adds the page and its figures.
pub(super) fn add(
    files: &mut Files<'_>,
    (streaming, digests, finished): (&Streaming, &Digests<'_>, &Finished),
    parts: &[String],
    catalog: &Catalog,
) -> Result<(), StreamError> {
    let Charts { mut figures, note } = charts(digests, catalog)?;
    figures.splice(
        0..0,
        winners(digests, &streaming.thin.shown_of(&digests.first))?,
    );
    for figure in &figures {
        files.add_figure(&format!("figures/{}", figure.name), figure.svg.clone());
    }
    for name in ["summary.csv", "verdicts.csv", "comparisons.csv"] {
        files.know(name);
    }
    if !streaming.bare.recorded.is_empty() {
        files.know("traces.csv");
    }
    let shown = shown(streaming, note);
    let links = Links::of(files);
    let title = match streaming.bare.experiment.title.as_str() {
        "" => "Which sender should this path have?",
        given => given,
    };
    let runs = format!(" {} runs at {} points.", finished.runs, digests.first.len());
    files.add_page(Page {
        title: title.to_owned(),
        lead: lead(digests) + &runs,
        sections: vec![
            standings(finished, &links),
            some_points(digests, &shown),
            pictures(&figures, &links, &shown),
            numbers(digests, (&shown, parts), &links),
            links.after(
                record(&streaming.bare, listing(streaming)),
                &["parameters.csv", "traces.csv"],
            ),
        ],
    });
    Ok(())
}

/// Returns a note on the points that are shown. Empty if all points are shown.
fn shown(streaming: &Streaming, note: Option<String>) -> Vec<Block> {
    let notes = &streaming.thin.notes;
    let thinned = (!notes.is_empty()).then(|| {
        format!(
            "This page shows {}, evenly spaced; summary.csv has all of them.",
            notes.join(", ")
        )
    });
    thinned.into_iter().chain(note).map(Block::text).collect()
}

/// Returns a table of the number of points at which each stack has each mark.
fn standings(finished: &Finished, links: &Links) -> Section {
    let mut blocks: Vec<Block> = { finished.warnings.iter() }
        .map(|text| Block::Warning { text: text.clone() })
        .collect();
    let number = |count: usize| Cell::new(count.to_string(), Emphasis::Number);
    let most = finished
        .standings()
        .iter()
        .map(|s| s.first)
        .max()
        .unwrap_or(0);
    let rows = finished.standings().iter().map(|standing| {
        let emphasis = match standing.first == most && most > 0 {
            true => Emphasis::Best,
            false => Emphasis::Plain,
        };
        let name = Cell::new(standing.stack.clone(), emphasis);
        let counts = [standing.first].into_iter().chain(standing.counts);
        std::iter::once(name).chain(counts.map(number)).collect()
    });
    let heads = ["stack", "comes first"].into_iter().map(str::to_owned);
    blocks.push(Block::Table {
        caption: format!(
            "Number of points of the sweep at which each stack is the first of those with a ★, and at which it has each \
             mark. {MARKS_CAPTION}"
        ),
        header: heads.chain(MARKS.map(|mark| mark.sign().to_owned())).collect(),
        rows: rows.collect(),
    });
    blocks.extend(finished.without_answer().into_iter().map(Block::text));
    blocks.extend(finished.rules().iter().cloned().map(Block::text));
    let section = Section {
        heading: "The answer".to_owned(),
        blocks,
        ..Section::default()
    };
    links.after(section, &["verdicts.csv", "comparisons.csv"])
}

/// Returns the section with the answers at some points.
fn some_points(digests: &Digests<'_>, shown: &[Block]) -> Section {
    let pairs = range(&digests.pair_counts(), "pair", "pairs");
    let rows = { digests.rows.iter() }.flat_map(|rows| rows.answer.clone());
    let (some, all) = (digests.rows.len(), digests.first.len());
    let table = Block::Table {
        caption: format!("{} {}", of_points(some, all), answer::CAPTION),
        header: answer::header(digests.stacks(), pairs),
        rows: rows.collect(),
    };
    Section {
        heading: "The answer at some points".to_owned(),
        blocks: std::iter::once(table).chain(shown.to_vec()).collect(),
        ..Section::default()
    }
}

fn of_points(some: usize, all: usize) -> String {
    match some == all {
        true => String::new(),
        false => format!("{some} of {all} points, evenly spaced; the files have all of them."),
    }
}

fn pictures(figures: &[Figure], links: &Links, shown: &[Block]) -> Section {
    let figures = figures.iter().flat_map(|figure| links.figure(figure));
    Section {
        heading: "Figures".to_owned(),
        blocks: figures.chain(shown.to_vec()).collect(),
        ..Section::default()
    }
}

/// Returns the section with the numbers of some points, and a note on the files with the numbers of all points.
fn numbers(digests: &Digests<'_>, (shown, parts): (&[Block], &[String]), links: &Links) -> Section {
    let rows: Vec<Vec<Cell>> = { digests.rows.iter() }
        .flat_map(|rows| rows.numbers.clone())
        .collect();
    let (header, rows) = told(number_header(&NUMBERS), rows);
    let (some, all) = (digests.rows.len(), digests.first.len());
    let caption = format!("{} {NUMBERS_CAPTION} {MARKS_CAPTION}", of_points(some, all));
    let table = Block::Table {
        caption,
        header,
        rows,
    };
    let mut notes = Vec::new();
    if let Some(pairs) = range(&digests.pair_counts(), "pair", "pairs") {
        notes.push(format!(
            "× first: ratio to the first stack, over {pairs} of runs with the same seed per stack."
        ));
    }
    if digests.same_runs {
        notes.push(
            "No ±: every seed gave the same run, because nothing in it is random. A single run shows no random \
             variation, so it gets no ★ and no ≈."
                .to_owned(),
        );
    }
    let (first, last) = (parts.first(), parts.last());
    if let Some((first, last)) = first.zip(last) {
        notes.push(match parts.len() {
            1 => format!("Every run is a row of {first}."),
            count => format!("Every run is a row of {count} files, {first} to {last}."),
        });
    }
    let notes = notes.into_iter().map(Block::text);
    let some = parts.iter().take(PARTS).map(|part| Link::to(part));
    let section = Section {
        heading: "Numbers".to_owned(),
        blocks: std::iter::once(table)
            .chain(shown.to_vec())
            .chain(notes)
            .chain([Block::Files {
                links: some.collect(),
            }])
            .collect(),
        ..Section::default()
    };
    links.after(section, &["summary.csv"])
}

/// Returns a table without the columns that contain no numbers.
fn told(header: Vec<String>, rows: Vec<Vec<Cell>>) -> (Vec<String>, Vec<Vec<Cell>>) {
    let has = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        column < 2 || cells.any(|cell| cell.text != NO_NUMBER)
    };
    let kept: Vec<bool> = (0..header.len()).map(has).collect();
    fn of<T>(row: Vec<T>, kept: &[bool]) -> Vec<T> {
        let cells = row.into_iter().zip(kept);
        cells
            .filter(|(_, kept)| **kept)
            .map(|(cell, _)| cell)
            .collect()
    }
    let rows = rows.into_iter().map(|row| of(row, &kept)).collect();
    (of(header, &kept), rows)
}

/// Returns the text of the experiment file, which is cut off if it is too long.
fn listing(streaming: &Streaming) -> String {
    let text = streaming.bare.experiment.text();
    match text.char_indices().nth(LISTING) {
        None => text,
        Some((end, _)) => format!("{}\n… (experiment.toml has the rest)", &text[..end]),
    }
}
