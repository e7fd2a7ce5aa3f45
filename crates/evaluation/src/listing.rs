//! Cards and criteria for the terminal.

use dupack_report::table::{Colour, Ink, Plain};

use crate::card::{Card, Mark, Row, Worse};
use crate::error::EvaluationError;
use crate::suite::{Criterion, Suite};

/// Formats the cards as a table: a single card with its results, or several cards next to each other.
#[must_use]
pub fn table(cards: &[&Card], colour: Colour, width: Option<u16>) -> String {
    let stacks: Vec<&str> = cards.iter().map(|card| card.stack.as_str()).collect();
    let own: Vec<&[Row]> = cards.iter().map(|card| &card.rows[..]).collect();
    let of_wire = cards.iter().map(|card| card.wire.as_ref());
    let of_wire: Vec<&[Row]> = of_wire
        .map(|wire| wire.map_or(&[][..], |wire| &wire.rows))
        .collect();
    let mut parts = Vec::new();
    for (rows, what) in [(own, "criterion"), (of_wire, "on real packets")] {
        if rows.iter().any(|rows| !rows.is_empty()) {
            parts.push(verdicts((&stacks, &rows), what, colour, width));
        }
    }
    for card in cards {
        parts.push(format!("{}: {}", card.stack, card.tally()));
        let wire = card.wire.as_ref();
        if let Some(wire) = wire.filter(|wire| wire.void > 0) {
            let (void, runs) = (wire.void, wire.runs);
            parts.push(format!(
                "{}: {void} of {runs} runs on real packets are void because their path did not keep time",
                card.stack
            ));
        }
    }
    parts.join("\n\n")
}

/// Builds the rows of the table: a single card with its results, or several cards next to each other. A card may have
/// no rows.
fn verdicts(
    (stacks, cards): (&[&str], &[&[Row]]),
    what: &str,
    colour: Colour,
    width: Option<u16>,
) -> String {
    let longest = longest(cards);
    let simulated = longest.iter().any(|row| row.simulated.is_some());
    let mut header = match (cards, simulated) {
        ([_], true) => vec!["", "RFC 9743", what, "simulated", "found"],
        ([_], false) => vec!["", "RFC 9743", what, "found"],
        _ => vec![what],
    };
    if cards.len() > 1 {
        header.extend(stacks);
    }
    let mut table = Plain::new(&header, usize::MAX, width);
    for (n, row) in longest.iter().enumerate() {
        match cards {
            [_] => {
                let mut cells = vec![row.verdict.marked(), row.section.clone(), row.title.clone()];
                if simulated {
                    cells.push(row.simulated.map_or(String::new(), Mark::marked));
                }
                cells.push(row.found.clone());
                match ink(row.verdict) {
                    Some(ink) => table.add_marked(ink, colour, cells),
                    None => table.add(cells),
                }
            }
            several => {
                let verdict = |rows: &&[Row]| rows.get(n).map(Row::marked);
                let verdicts = several.iter().map(|rows| verdict(rows).unwrap_or_default());
                table.add(
                    [format!("{} {}", row.section, row.title)]
                        .into_iter()
                        .chain(verdicts),
                );
            }
        }
    }
    table.text()
}

/// Returns the rows of the first card that has any. All cards with rows have the same ones. The kernel's senders have
/// rows only on real packets.
pub(crate) fn longest<'r>(cards: &[&'r [Row]]) -> &'r [Row] {
    let with = cards.iter().find(|rows| !rows.is_empty());
    with.copied().unwrap_or_default()
}

const fn ink(mark: Mark) -> Option<Ink> {
    match mark {
        Mark::Meets => Some(Ink::Green),
        Mark::DoesNotMeet => Some(Ink::Red),
        Mark::CannotBeTold => Some(Ink::Yellow),
        Mark::NotApplicable => None,
    }
}

/// Formats the verdicts that became worse.
#[must_use]
pub fn worse(worse: &[Worse], width: Option<u16>) -> String {
    let mut table = Plain::new(&["criterion", "was", "is", "found"], usize::MAX, width);
    for row in worse {
        table.add([
            row.key.clone(),
            row.before.name().to_owned(),
            row.now.name().to_owned(),
            row.found.clone(),
        ]);
    }
    table.text()
}

/// Lists the criteria called `keys`, or all criteria: section, rule, threshold with its source, and scenario.
///
/// # Errors
/// If there is no criterion with such a name.
pub fn list(suite: &Suite, keys: &[String], width: Option<u16>) -> Result<String, EvaluationError> {
    let (of_wire, own): (Vec<String>, Vec<String>) =
        keys.iter().cloned().partition(|key| suite.is_of_wire(key));
    let mut out = String::new();
    if keys.is_empty() || !own.is_empty() {
        out += &listed(suite, &own, width)?;
    }
    let wire = suite
        .wire()
        .filter(|_| keys.is_empty() || !of_wire.is_empty());
    if let Some(wire) = wire {
        out += "\nOn real packets (--wire)\n";
        out += &listed(wire, &of_wire, width)?;
    }
    Ok(out.trim_start().to_owned())
}

fn listed(suite: &Suite, keys: &[String], width: Option<u16>) -> Result<String, EvaluationError> {
    let chosen = suite.choose(keys)?;
    let mut out = String::new();
    for heading in &suite.headings {
        let own: Vec<&&Criterion> = chosen
            .iter()
            .filter(|c| c.section == heading.section)
            .collect();
        if own.is_empty() && !(keys.is_empty() && heading.not_applicable.is_some()) {
            continue;
        }
        out += &format!("\n{} {}\n", heading.section, heading.title);
        if let Some(why) = &heading.not_applicable {
            out += &indented(&format!("not applicable: {}", why.trim()), 2, width);
        }
        for criterion in own {
            let claim = suite.claim(criterion)?;
            out += &format!("  {}: {}\n", criterion.key, criterion.title);
            let lines = [
                format!("rule: {}", claim.rule.trim()),
                format!(
                    "threshold: {} ({})",
                    criterion.threshold,
                    suite.basis(criterion)
                ),
                format!("its source: {}", criterion.source.trim()),
                format!("scenario: {}.toml", criterion.scenario),
            ];
            for line in lines {
                out += &indented(&line, 4, width);
            }
        }
    }
    Ok(out)
}

/// Formats a paragraph with `by` spaces before each line.
fn indented(text: &str, by: u16, width: Option<u16>) -> String {
    let width = width.map(|width| width.saturating_sub(by).max(20));
    let text = dupack_report::table::paragraph(text, width);
    let space = " ".repeat(by.into());
    text.lines()
        .map(|line| format!("{space}{line}\n"))
        .collect()
}
