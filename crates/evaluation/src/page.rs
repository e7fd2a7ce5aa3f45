//! The page of report cards: criteria down, verdicts across, and what each rests on below.

use dupack_report::figure::FigureError;
use dupack_report::page::{Block, Cell, Depth, Emphasis, Link, Page, Section};

use crate::campaign::Evaluated;
use crate::card::{Card, Mark, Row};
use crate::figure::figure;
use crate::suite::Suite;

/// The page of `evaluated`: one card, or several side by side.
///
/// # Errors
/// If a figure cannot be drawn.
pub fn page(evaluated: &[Evaluated], suite: &Suite) -> Result<Page, FigureError> {
    let cards: Vec<&Card> = evaluated.iter().map(|of| &of.card).collect();
    let stacks: Vec<&str> = cards.iter().map(|card| card.stack.as_str()).collect();
    let mut details = Vec::new();
    let first = cards.first().copied();
    let rows = first.map_or(&[][..], |card| &card.rows);
    for row in rows.iter().filter(|row| row.key.is_some()) {
        details.push(detail(row, evaluated, suite)?);
    }
    let mut sections = vec![
        Section {
            heading: "The card".to_owned(),
            blocks: summary(&cards, rows),
            ..Section::default()
        },
        Section {
            heading: "What each verdict rests on".to_owned(),
            ..Section::default()
        },
    ];
    sections.extend(details);
    Ok(Page {
        title: format!("Report card: {}", stacks.join(", ")),
        lead: "What RFC 9743 (sections 5 to 7) asks of a congestion control, judged by experiments. The RFC \
               gives no thresholds: each criterion says where its own is from."
            .to_owned(),
        sections,
    })
}

/// Of the sections the first two are the card and a heading; the details begin with this.
const DETAILS_FROM: usize = 3;

fn summary(cards: &[&Card], rows: &[Row]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for card in cards {
        let extent = match card.extent.as_str() {
            "quick" => " This is a quick look: fewer seeds, fewer points, shorter runs.",
            _ => "",
        };
        blocks.push(Block::text(format!(
            "{}: {}.{extent}",
            card.stack,
            card.tally()
        )));
        if card.missing > 0 {
            let text = format!(
                "{}: {} runs are missing. What rests on them cannot be told.",
                card.stack, card.missing
            );
            blocks.push(Block::Warning { text });
        }
    }
    let mut header = vec!["RFC 9743".to_owned(), "criterion".to_owned()];
    match cards {
        [_] => header.extend(["verdict".to_owned(), "found".to_owned()]),
        several => header.extend(several.iter().map(|card| card.stack.clone())),
    }
    let mut place = DETAILS_FROM;
    let mut table = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let link = row.key.is_some().then(|| {
            place += 1;
            format!("#s{}", place - 1)
        });
        let lead = |cell: Cell| match &link {
            Some(link) => cell.leading_to(link.clone()),
            None => cell,
        };
        let mut cells = vec![row.section.clone().into(), lead(row.title.clone().into())];
        for card in cards {
            let mark = card.rows[n].verdict;
            cells.push(lead(Cell::new(mark.marked(), emphasis(mark))));
        }
        if cards.len() == 1 {
            cells.push(row.found.clone().into());
        }
        table.push(cells);
    }
    blocks.push(Block::Table {
        caption: "Each verdict leads to its rule, its threshold, its figure and its command."
            .to_owned(),
        header,
        rows: table,
    });
    if cards.len() > 1 {
        let why = rows.iter().filter(|row| row.key.is_none());
        blocks.extend(why.map(|row| {
            Block::text(format!(
                "{} {}: not applicable. {}",
                row.section, row.title, row.found
            ))
        }));
    }
    blocks
}

const fn emphasis(mark: Mark) -> Emphasis {
    match mark {
        Mark::Meets => Emphasis::Holds,
        Mark::DoesNotMeet => Emphasis::Fails,
        Mark::CannotBeTold => Emphasis::Open,
        Mark::NotApplicable => Emphasis::Plain,
    }
}

/// A criterion: what was found of each stack, by what rule, its figures and its commands.
fn detail(row: &Row, evaluated: &[Evaluated], suite: &Suite) -> Result<Section, FigureError> {
    let key = row.key.as_deref().unwrap_or_default();
    let mut blocks = vec![
        Block::text(format!("Rule: {}", row.rule)),
        Block::text(format!("Threshold: {}.", row.threshold)),
    ];
    for of in evaluated {
        let Some(own) = of.card.row(key) else {
            continue;
        };
        let stack = match evaluated.len() {
            1 => String::new(),
            _ => format!("{}: ", of.card.stack),
        };
        blocks.push(Block::text(format!(
            "{stack}{}. {}",
            own.verdict.marked(),
            own.found
        )));
        blocks.extend(pictures(key, of, suite)?);
        blocks.push(Block::Listing {
            caption: "To run it again:".to_owned(),
            text: format!("{}\ndupack run --no-harm {}", own.command, own.scenario),
        });
        let report = own.scenario.replace("experiment.toml", "report.html");
        let links = vec![Link::to(&own.scenario), Link::to(&report)];
        blocks.push(Block::Files { links });
    }
    blocks.push(Block::Listing {
        caption: "The rule as an expression:".to_owned(),
        text: row.expression.clone(),
    });
    Ok(Section {
        heading: format!("{} {}", row.section, row.title),
        depth: Depth::Detail,
        note: String::new(),
        blocks,
    })
}

fn pictures(key: &str, of: &Evaluated, suite: &Suite) -> Result<Option<Block>, FigureError> {
    let Some(criterion) = suite.criteria.iter().find(|c| c.key == key) else {
        return Ok(None);
    };
    let Some(part) = of.parts.iter().find(|part| part.name == criterion.scenario) else {
        return Ok(None);
    };
    let svg = figure(part, &criterion.figure, &criterion.title)?;
    Ok(svg.map(|svg| Block::Figure {
        svg,
        caption: format!(
            "{} Mean over the seeds, with its 95 % confidence interval.",
            part.results.experiment.description.trim()
        ),
    }))
}
