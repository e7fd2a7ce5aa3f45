//! The comparison as text: one line per cell for the terminal, and the page of the documentation.

use std::fmt::Write as _;

use super::{Cell, CellAgreement, TOLERANCE, VERSION};

/// Formats a cell as a line for the terminal.
#[must_use]
pub fn line(cell: &Cell) -> String {
    let percent = |share: f64| share * 100.0;
    format!(
        "{:26} {:12} {:>9.1} {:>9.1} kB/s  {:.3} ± {:.3}  {:9} | again {:6.3} {:6.3} %  timeouts {:7.4} {:7.4} %",
        cell.id,
        cell.sender.name,
        cell.ours.goodput.mean / 1e3,
        cell.theirs.goodput.mean / 1e3,
        cell.ratio(),
        cell.ratio_error(),
        word(cell),
        percent(cell.ours.retransmissions),
        percent(cell.theirs.retransmissions),
        percent(cell.ours.timeouts),
        percent(cell.theirs.timeouts),
    )
}

const fn word_of(verdict: CellAgreement) -> &'static str {
    match verdict {
        CellAgreement::Agrees => "agrees",
        CellAgreement::Explained => "explained",
        CellAgreement::Differs => "differs",
    }
}

fn word(cell: &Cell) -> &'static str {
    word_of(cell.verdict())
}

/// Describes how many cells are within 1 %, 2 % and 5 % of ns-2.
#[must_use]
pub fn summary(cells: &[Cell]) -> String {
    let within = |bound: f64| {
        let near = cells.iter().filter(|c| (c.ratio() - 1.0).abs() <= bound);
        near.count()
    };
    let mut text = format!(
        "{} cells: {} within 1 %, {} within 2 %, {} within 5 %",
        cells.len(),
        within(0.01),
        within(0.02),
        within(TOLERANCE)
    );
    let worst = cells
        .iter()
        .max_by(|a, b| (a.ratio() - 1.0).abs().total_cmp(&(b.ratio() - 1.0).abs()));
    if let Some(worst) = worst {
        let _ = write!(
            text,
            "; the largest deviation is that of {} {}, {:.3}",
            worst.id,
            worst.sender.name,
            worst.ratio()
        );
    }
    text
}

/// Writes the page as Markdown.
#[must_use]
pub fn page(cells: &[Cell], seeds: u32) -> String {
    let mut page = format!(
        "# CellAgreement with ns-2.35\n\n\
         Mean goodput of dupack in the dialect `ns2` over {seeds} seeds, compared with that of \
         {VERSION} in\n`validation/peers/ns2`. `cargo measure agree-ns2` generates this page.\n\n\
         {}.\n\n\
         Errors are standard errors of the ratio, over the seeds of both simulators, which do not correspond.\n\
         Retransmissions and timeouts are per 1000 delivered packets, ours / ns-2's.\n\n\
         | scenario | sender | ours (kB/s) | ns-2 (kB/s) | ratio | retransmissions | timeouts | |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
        summary(cells)
    );
    for cell in cells {
        let _ = writeln!(page, "{}", row(cell));
    }
    page.push_str(&outside(cells));
    page
}

fn row(cell: &Cell) -> String {
    let (ours, theirs) = (&cell.ours, &cell.theirs);
    format!(
        "| {} | {} | {:.1} | {:.1} | {:.3} ± {:.3} | {:.2} / {:.2} | {:.3} / {:.3} | {} |",
        cell.id,
        cell.sender.name,
        ours.goodput.mean / 1e3,
        theirs.goodput.mean / 1e3,
        cell.ratio(),
        cell.ratio_error(),
        ours.retransmissions * 1e3,
        theirs.retransmissions * 1e3,
        ours.timeouts * 1e3,
        theirs.timeouts * 1e3,
        word(cell)
    )
}

/// Lists the cells outside the tolerance, each with the rule that explains it.
fn outside(cells: &[Cell]) -> String {
    let mut text = String::from("\n## Outside 5 %\n\n");
    let mut none = true;
    for cell in cells {
        if cell.verdict() == CellAgreement::Agrees {
            continue;
        }
        none = false;
        let rule = cell
            .difference
            .as_ref()
            .map_or("not traced to a rule", |d| &d.rule);
        let _ = writeln!(
            text,
            "- {} {}, {:.3}: {rule}.",
            cell.id,
            cell.sender.name,
            cell.ratio()
        );
    }
    if none {
        text.push_str("None.\n");
    }
    text
}
