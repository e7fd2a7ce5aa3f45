//! The page of report cards: one row per criterion, one column per stack, and the basis of each verdict below.

use dupack_report::figure::FigureError;
use dupack_report::page::{Block, Cell, Depth, Emphasis, Link, Page, Section};

use crate::campaign::Evaluated;
use crate::card::{Card, Mark, Row};
use crate::figure::figure;
use crate::listing::longest;
use crate::suite::Suite;

/// Returns the page of `evaluated`: one card, or several cards next to each other.
///
/// # Errors
/// If a figure cannot be drawn.
pub fn page(evaluated: &[Evaluated], suite: &Suite) -> Result<Page, FigureError> {
    let cards: Vec<&Card> = evaluated.iter().map(|of| &of.card).collect();
    let stacks: Vec<&str> = cards.iter().map(|card| card.stack.as_str()).collect();
    let own: Vec<&[Row]> = cards.iter().map(|card| &card.rows[..]).collect();
    let of_wire = cards.iter().map(|card| card.wire.as_ref());
    let of_wire: Vec<&[Row]> = of_wire
        .map(|wire| wire.map_or(&[][..], |wire| &wire.rows))
        .collect();
    let mut sections = vec![Section {
        heading: "The card".to_owned(),
        blocks: tallies(&cards),
        ..Section::default()
    }];
    if own.iter().any(|rows| !rows.is_empty()) {
        // The sections with details come after the section of the card and the heading of the details.
        let rows = verdicts(&stacks, &own, sections.len() + 2);
        sections[0].blocks.extend(rows);
        sections.push(Section {
            heading: "Basis of each verdict".to_owned(),
            ..Section::default()
        });
        sections.extend(details(longest(&own), evaluated, suite)?);
    }
    if of_wire.iter().any(|rows| !rows.is_empty()) {
        let mut blocks = vec![Block::text(WIRE)];
        blocks.extend(voids(&cards));
        blocks.extend(verdicts(&stacks, &of_wire, sections.len() + 2));
        sections.push(Section {
            heading: "On real packets".to_owned(),
            blocks,
            ..Section::default()
        });
        sections.extend(details(longest(&of_wire), evaluated, suite)?);
    }
    Ok(Page {
        title: format!("Report card: {}", stacks.join(", ")),
        lead: "The requirements of RFC 9743 (sections 5 to 7) on a congestion control, judged by experiments. The RFC \
               gives no thresholds: each criterion names the source of its own."
            .to_owned(),
        sections,
    })
}

/// Introduction of the part on real packets.
const WIRE: &str = "Our senders and the kernel's send at the same time over an emulated path in real time, to a receiver in the \
    kernel. Thresholds are relative to the kernel's own CUBIC and Reno in the same situation. Beside each verdict is that of \
    the same experiment in the simulator, where rack/cubic and rack/reno replace the kernel's CUBIC and Reno.";

/// Returns the sections of all criteria in `rows`.
fn details(
    rows: &[Row],
    evaluated: &[Evaluated],
    suite: &Suite,
) -> Result<Vec<Section>, FigureError> {
    let rows = rows.iter().filter(|row| row.key.is_some());
    rows.map(|row| detail(row, evaluated, suite)).collect()
}

/// Describes how many runs of each card are void.
fn voids(cards: &[&Card]) -> Vec<Block> {
    let with = cards
        .iter()
        .filter_map(|card| Some((card, card.wire.as_ref()?)));
    let with = with.filter(|(_, wire)| wire.void > 0);
    let said = with.map(|(card, wire)| {
        Block::text(format!(
            "{}: {} of {} runs are void because their path did not keep time. They enter no verdict.",
            card.stack, wire.void, wire.runs
        ))
    });
    said.collect()
}

/// Counts the verdicts of each card.
fn tallies(cards: &[&Card]) -> Vec<Block> {
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
                "{}: {} runs are missing. Criteria that need them cannot be told.",
                card.stack, card.missing
            );
            blocks.push(Block::Warning { text });
        }
    }
    blocks
}

/// Returns the table of `cards`, which belong to `stacks`: a single card with its results, or several next to each
/// other. `place` is the number of the first section with details.
fn verdicts(stacks: &[&str], cards: &[&[Row]], mut place: usize) -> Vec<Block> {
    let rows = longest(cards);
    let simulated = rows.iter().any(|row| row.simulated.is_some());
    let mut header = vec!["RFC 9743".to_owned(), "criterion".to_owned()];
    match (cards, simulated) {
        ([_], true) => header.extend(["verdict", "simulated", "found"].map(str::to_owned)),
        ([_], false) => header.extend(["verdict", "found"].map(str::to_owned)),
        _ => header.extend(stacks.iter().map(|stack| (*stack).to_owned())),
    }
    let mut table = Vec::new();
    let mut blocks = Vec::new();
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
            let own = card.get(n);
            let cell = own.map_or("".to_owned().into(), |row| {
                let text = match cards.len() {
                    1 => row.verdict.marked(),
                    _ => row.marked(),
                };
                lead(Cell::new(text, emphasis(row.verdict)))
            });
            cells.push(cell);
        }
        if cards.len() == 1 {
            if simulated {
                let mark = row.simulated.map_or(String::new(), Mark::marked);
                let colour = row.simulated.map_or(Emphasis::Plain, emphasis);
                cells.push(Cell::new(mark, colour));
            }
            cells.push(row.found.clone().into());
        }
        table.push(cells);
    }
    blocks.push(Block::Table {
        caption: "Each verdict links to its rule, threshold, figure and command.".to_owned(),
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

/// Returns the section of a criterion: the results of each stack, the rule, the figures and the commands.
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
            "{stack}{}: {}",
            own.verdict.marked(),
            own.found
        )));
        blocks.extend(pictures(key, of, suite)?);
        let run = |file: &str| format!("\ndupack run --no-harm {file}");
        let run = match (suite.is_of_wire(key), own.simulated) {
            (false, _) => run(&own.scenario),
            (true, None) => String::new(),
            (true, Some(mark)) => {
                blocks.push(Block::text(format!(
                    "{stack}in the simulator {}.",
                    mark.marked()
                )));
                run(&own.scenario.replace("/experiment", "-simulated/experiment"))
            }
        };
        blocks.push(Block::Listing {
            caption: "To judge it again and, in this card's folder, to run its experiment:"
                .to_owned(),
            text: format!("{}{run}", own.command),
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
    let Some(criterion) = suite.criterion(key) else {
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
