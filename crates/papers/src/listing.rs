//! Lists and descriptions of the papers, without running any experiment.

use super::contents::systems;
use super::{Extent, Paper, Standing};
use dupack_lab::experiment::load::ExperimentError;
use dupack_report::table::Plain;

/// Lists `papers` in a table: key, title, claims, experiments, runs.
///
/// # Errors
/// If an experiment is invalid; the tests would catch that.
pub fn list(papers: &[&'static Paper], width: Option<u16>) -> Result<String, ExperimentError> {
    let header = [
        "paper",
        "title",
        "claims",
        "experiments",
        "runs",
        "with --quick",
    ];
    let mut table = Plain::new(&header, 2, width);
    for paper in papers {
        let book = paper.book();
        let (full, quick) = (paper.plan(Extent::Full)?, paper.plan(Extent::Quick)?);
        table.add([
            paper.key.to_owned(),
            book.title,
            book.claims.len().to_string(),
            full.experiments().count().to_string(),
            full.runs().to_string(),
            quick.runs().to_string(),
        ]);
    }
    Ok(table.text())
}

/// Describes one paper: its subject, its experiments, its claims, and the implementations of its systems.
///
/// # Errors
/// If an experiment is invalid; the tests would catch that.
pub fn describe(paper: &'static Paper, width: Option<u16>) -> Result<String, ExperimentError> {
    let book = paper.book();
    let mut out = format!(
        "{}\n{}\n\n{}\n\n",
        book.title,
        book.citation,
        book.lead.trim()
    );
    let (full, quick) = (paper.plan(Extent::Full)?, paper.plan(Extent::Quick)?);
    let mut table = Plain::new(&["experiment", "runs", "with --quick"], 1, width);
    for ((name, runs), (_, few)) in full.experiments().zip(quick.experiments()) {
        table.add([name.to_owned(), runs.to_string(), few.to_string()]);
    }
    out += &format!("{}\n\n", table.text());
    let mut table = Plain::new(&["claim", "statement", ""], usize::MAX, width);
    for claim in &book.claims {
        let standing = match Standing::of(paper.key, claim) {
            Standing::Paper | Standing::Today => "",
            Standing::Input => "input",
            Standing::Hypothesis => "ours",
        };
        table.add([
            claim.id.clone(),
            claim.statement.clone(),
            standing.to_owned(),
        ]);
    }
    out += &format!("{}\n\n{} claims\n", table.text(), book.claims.len());
    let (header, rows) = systems(&book.systems);
    if !rows.is_empty() {
        let mut table = Plain::new(&header, usize::MAX, width);
        for row in rows {
            table.add(row.into_iter().map(|cell| cell.text));
        }
        out += &format!("\n{}\n", table.text());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PAPERS, find};

    #[test]
    fn a_reader_of_a_paper_finds_its_systems() {
        let all = list(&PAPERS, Some(120)).unwrap();
        assert!(PAPERS.iter().all(|paper| all.contains(paper.key)));
        let text = describe(find("newreno-smooth").unwrap(), Some(120)).unwrap();
        assert!(text.contains("newreno(full_ack=alg3)/reno"), "{text}");
        assert!(text.contains("tables"), "{text}");
    }
}
