//! Verdicts on claims: their marks, a table for the terminal, CSV, and a section of a page.

use dupack_claims::{Judged, Verdict};

use crate::page::{Block, Cell, Emphasis, Section};
use crate::table::{Colour, Ink, Plain};

const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::DoesNotHold => "✗",
        Verdict::CannotBeTold => "?",
    }
}

/// A verdict's name after its mark: `✓ holds`.
#[must_use]
pub fn marked(verdict: Verdict) -> String {
    format!("{} {}", mark(verdict), verdict.name())
}

/// How a verdict stands out in a table.
#[must_use]
pub const fn emphasis(verdict: Verdict) -> Emphasis {
    match verdict {
        Verdict::Holds => Emphasis::Holds,
        Verdict::DoesNotHold => Emphasis::Fails,
        Verdict::CannotBeTold => Emphasis::Open,
    }
}

const fn ink(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Holds => Ink::Green,
        Verdict::DoesNotHold => Ink::Red,
        Verdict::CannotBeTold => Ink::Yellow,
    }
}

/// Whether what a paper says has a column.
fn printed(judged: &[Judged]) -> bool {
    judged.iter().any(|judged| !judged.claim.paper.is_empty())
}

/// The verdicts for the terminal.
#[must_use]
pub fn table(judged: &[Judged], coloured: Colour, width: Option<u16>) -> String {
    let printed = printed(judged);
    let header = ["", "claim", "the paper", "here"];
    let header = header
        .into_iter()
        .filter(|name| printed || *name != "the paper");
    let mut table = Plain::new(&header.collect::<Vec<_>>(), usize::MAX, width);
    for judged in judged {
        let (verdict, claim) = (judged.finding.verdict, &judged.claim);
        let mut row = vec![marked(verdict), claim.statement.clone()];
        if printed {
            row.push(claim.paper.clone());
        }
        row.push(judged.found());
        table.add_marked(ink(verdict), coloured, row);
    }
    table.text()
}

/// The verdicts as CSV.
#[must_use]
pub fn csv(judged: &[Judged]) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let header = [
        "id",
        "section",
        "statement",
        "paper",
        "rule",
        "verdict",
        "found",
    ];
    out.write_record(header).expect("memory does not fail");
    for Judged { claim, finding } in judged {
        let rule = if claim.rule.is_empty() {
            &claim.holds_if
        } else {
            &claim.rule
        };
        let row = [
            &claim.id,
            &claim.section,
            &claim.statement,
            &claim.paper,
            rule,
            finding.verdict.name(),
            &finding.found,
        ];
        out.write_record(row).expect("memory does not fail");
    }
    out.into_inner().unwrap_or_default()
}

/// The verdicts as a section of a page.
#[must_use]
pub fn section(judged: &[Judged]) -> Section {
    let rows = judged.iter().map(|judged| {
        let (claim, finding) = (&judged.claim, &judged.finding);
        let rule = if claim.rule.is_empty() {
            &claim.holds_if
        } else {
            &claim.rule
        };
        vec![
            Cell::new(finding.verdict.name(), emphasis(finding.verdict)),
            claim.statement.clone().into(),
            judged.found().into(),
            rule.clone().into(),
        ]
    });
    Section {
        heading: "Claims".to_owned(),
        blocks: vec![Block::Table {
            caption: "Each claim of the experiment file, and what has become of it.".to_owned(),
            header: ["verdict", "claim", "here", "rule"]
                .map(str::to_owned)
                .to_vec(),
            rows: rows.collect(),
        }],
        ..Section::default()
    }
}
