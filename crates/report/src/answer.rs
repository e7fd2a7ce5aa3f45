//! The answer of a comparison: for each point, the stacks with a ★, their gains and costs, and the stacks with a
//! warning.

use crate::notes::pair_counts;
use crate::page::{Block, Cell, Emphasis, Section};
use crate::table::{self, Colour, Ink, Legend};
use dupack_lab::results::medium::NO_ANSWER;
use dupack_lab::results::verdict::{Answer, Mark, rules};
use dupack_lab::results::{Answered, Contest};
use dupack_lab::stats::{spread, times};

/// Returns the emphasis of a stack with `mark` in a table of a page.
pub(crate) const fn emphasis(mark: Mark) -> Emphasis {
    match mark {
        Mark::Star => Emphasis::Best,
        Mark::Open | Mark::Tied => Emphasis::Tied,
        Mark::Warned => Emphasis::Fails,
        Mark::Plain => Emphasis::Number,
    }
}

/// Returns the colour of a stack with `mark` in the terminal, if it has one.
pub(crate) const fn ink(mark: Mark) -> Option<Ink> {
    match mark {
        Mark::Star => Some(Ink::Green),
        Mark::Warned => Some(Ink::Red),
        Mark::Open | Mark::Tied | Mark::Plain => None,
    }
}

/// Returns the mark and the name of a stack: `★ le/westwood`.
pub(crate) fn marked(results: &Answered<'_>, point: usize, stack: usize, mark: Mark) -> String {
    format!("{} {}", mark.sign(), results.name_at(point, stack))
}

/// Returns the stacks that the answer describes: the stacks with a ★ in the order of the answer, then the stacks with a
/// warning.
fn spoken_of(verdict: &Contest) -> Vec<(usize, Mark)> {
    let stars = match &verdict.answer {
        Answer::Stars(stars) => stars.as_slice(),
        _ => &[],
    };
    let stars = stars.iter().map(|stack| (*stack, Mark::Star));
    let all = verdict.stacks.iter().enumerate();
    let warned = all.filter(|(_, judgement)| judgement.mark == Mark::Warned);
    stars
        .chain(warned.map(|(stack, _)| (stack, Mark::Warned)))
        .collect()
}

/// Returns the answer as text for the terminal.
pub(crate) fn text(
    results: &Answered<'_>,
    legend: Legend,
    colour: Colour,
    width: Option<u16>,
) -> String {
    let mut text = String::from("The answer and its cost:\n");
    for point in 0..results.points.len() {
        let verdict = results.verdict(point);
        let label = results.points[point].label();
        let line = match (label.as_str(), verdict.no_answer()) {
            ("", None) => String::new(),
            ("", Some(why)) => why,
            (label, None) => label.to_owned(),
            (label, Some(why)) => format!("{label}: {why}"),
        };
        if !line.is_empty() {
            text += &table::paragraph(&line, width);
        }
        let rows = spoken_of(verdict).into_iter().map(|(stack, mark)| {
            let name = format!("  {}", marked(results, point, stack, mark));
            (ink(mark), [name, verdict.sentence(stack)])
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            text += &table::beside(rows, colour, width);
        }
    }
    text + &legend.text(&rules(results), width)
}

/// Returns the first section of the page, which gives the answer.
pub(crate) fn section(results: &Answered<'_>) -> Section {
    let mut blocks: Vec<Block> = results
        .warnings
        .iter()
        .map(|w| Block::Warning { text: w.clone() })
        .collect();
    if results.missing() > 0 {
        blocks.push(Block::Warning {
            text: format!(
                "{} of {} runs are missing. The results below use the others.",
                results.missing(),
                results.planned
            ),
        });
    }
    let is_worthless = results.is_worthless();
    blocks.push(Block::Table {
        caption: match is_worthless {
            true => NO_ANSWER,
            false => CAPTION,
        }
        .to_owned(),
        header: header(&results.stacks, pair_counts(results)),
        rows: (0..results.points.len())
            .flat_map(|point| rows(results, point))
            .collect(),
    });
    if !is_worthless {
        blocks.extend(rules(results).into_iter().map(Block::text));
    }
    Section {
        heading: "The answer".to_owned(),
        blocks,
        ..Section::default()
    }
}

/// Caption of the table in the answer.
pub(crate) const CAPTION: &str = "Stacks with a ★ at each point, and stacks with a warning (!). A sentence gives the \
    gain and the cost of each.";

/// Returns the names of the table's columns. The goodput ratio is relative to the first stack, and `pairs` is the
/// number of pairs of runs behind it.
pub(crate) fn header(stacks: &[String], pairs: Option<String>) -> Vec<String> {
    let first = stacks.first().map_or("", |s| s);
    let ratio = match pairs {
        Some(pairs) => format!("ratio to {first} (over {pairs})"),
        None => format!("ratio to {first}"),
    };
    vec![
        String::new(),
        "stack".to_owned(),
        "goodput (Mbit/s)".to_owned(),
        ratio,
        "gain and cost".to_owned(),
    ]
}

/// Returns the rows of the answer at a point: one row per stack that the answer describes, or one row with the reason
/// why there is no answer.
pub(crate) fn rows(results: &Answered<'_>, point: usize) -> Vec<Vec<Cell>> {
    let verdict = results.verdict(point);
    let goodput = results.goodput(point);
    let mut label = Some(results.points[point].label());
    let mut group = || Cell::new(label.take().unwrap_or_default(), Emphasis::Group);
    let mut rows = Vec::new();
    if let Some(why) = verdict.no_answer() {
        let nothing = || Cell::from("–");
        rows.push(vec![group(), nothing(), nothing(), nothing(), why.into()]);
    }
    for (stack, mark) in spoken_of(verdict) {
        let cell = &goodput.cells[stack];
        let mean = cell.summary.as_ref();
        let ratio = cell.ratio.filter(|ratio| stack > 0 && !ratio.reaches_zero);
        rows.push(vec![
            group(),
            Cell::new(marked(results, point, stack, mark), emphasis(mark)),
            Cell::new(
                mean.map_or("–".to_owned(), |s| spread(s, 3)),
                Emphasis::Number,
            ),
            Cell::new(
                ratio.map_or("–".to_owned(), |ratio| format!("×{}", times(&ratio))),
                Emphasis::Number,
            ),
            verdict.sentence(stack).into(),
        ]);
    }
    rows
}
