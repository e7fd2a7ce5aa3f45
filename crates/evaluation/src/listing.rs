//! Cards and criteria for the terminal.

use dupack_report::table::{Colour, Ink, Plain};

use crate::card::{Card, Mark, Worse};
use crate::error::EvaluationError;
use crate::suite::{Criterion, Suite};

/// The cards as a table: one with what was found, several side by side.
#[must_use]
pub fn table(cards: &[&Card], colour: Colour, width: Option<u16>) -> String {
    let Some(first) = cards.first() else {
        return String::new();
    };
    let mut header: Vec<&str> = match cards {
        [_] => vec!["", "RFC 9743", "criterion", "found"],
        _ => vec!["criterion"],
    };
    if cards.len() > 1 {
        header.extend(cards.iter().map(|card| card.stack.as_str()));
    }
    let mut table = Plain::new(&header, usize::MAX, width);
    for (n, row) in first.rows.iter().enumerate() {
        match cards {
            [_] => {
                let cells = [row.section.clone(), row.title.clone(), row.found.clone()];
                let cells = [row.verdict.marked()].into_iter().chain(cells);
                match ink(row.verdict) {
                    Some(ink) => table.add_marked(ink, colour, cells),
                    None => table.add(cells),
                }
            }
            several => {
                let verdicts = several.iter().map(|card| card.rows[n].verdict.marked());
                table.add(
                    [format!("{} {}", row.section, row.title)]
                        .into_iter()
                        .chain(verdicts),
                );
            }
        }
    }
    let mut text = table.text();
    for card in cards {
        text += &format!("\n\n{}: {}", card.stack, card.tally());
    }
    text
}

const fn ink(mark: Mark) -> Option<Ink> {
    match mark {
        Mark::Meets => Some(Ink::Green),
        Mark::DoesNotMeet => Some(Ink::Red),
        Mark::CannotBeTold => Some(Ink::Yellow),
        Mark::NotApplicable => None,
    }
}

/// What got worse, for people.
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

/// The criteria called `keys`, or all: section, rule, threshold and its source, scenario.
///
/// # Errors
/// If there is none of such a name.
pub fn list(suite: &Suite, keys: &[String], width: Option<u16>) -> Result<String, EvaluationError> {
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
                    criterion.basis.name()
                ),
                format!("its source: {}", criterion.source.trim()),
                format!("scenario: {}.toml", criterion.scenario),
            ];
            for line in lines {
                out += &indented(&line, 4, width);
            }
        }
    }
    Ok(out.trim_start().to_owned())
}

/// A paragraph with `by` spaces before each line.
fn indented(text: &str, by: u16, width: Option<u16>) -> String {
    let width = width.map(|width| width.saturating_sub(by).max(20));
    let text = dupack_report::table::paragraph(text, width);
    let space = " ".repeat(by.into());
    text.lines()
        .map(|line| format!("{space}{line}\n"))
        .collect()
}
