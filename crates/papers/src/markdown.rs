//! The content of the page as Markdown for the repository: `docs/reproduction.md`.
//!
//! The CPU time is the only part that can differ between two runs of the same version. It is on a separate line, so
//! that a diff shows the changes of a new version.

use std::fmt::Write as _;
use std::time::Duration;

use super::Extent;
use super::paper_page::{REWRITTEN, account, systems, tallies};
use super::reproduction::{Exhibit, Reproduction};
use super::settle;
use dupack_report::claims;
use dupack_report::markdown::{escape, table};
use dupack_report::page::{Cell, Emphasis};

/// Returns the page of `reproductions`. Figures are linked as `<paper>/figures/<name>.svg`.
#[must_use]
pub fn markdown(reproductions: &[Reproduction]) -> String {
    let mut out = head(reproductions);
    for reproduction in reproductions {
        out += &chapter(reproduction);
    }
    out
}

fn head(reproductions: &[Reproduction]) -> String {
    let quick = reproductions.iter().any(|r| r.extent == Extent::Quick);
    let all = reproductions.len() == super::PAPERS.len();
    let command = match (reproductions, all) {
        ([only], false) => format!("dupack papers {}", only.key),
        _ => "dupack papers".to_owned(),
    };
    let command = if quick {
        format!("{command} --quick")
    } else {
        command
    };
    let reread = reproductions.iter().any(|r| r.readings.is_some());
    let command = if reread {
        format!("{command} --readings")
    } else {
        command
    };
    let runs: usize = accounts(reproductions).map(|(runs, _)| runs).sum();
    let cpu: Duration = accounts(reproductions).map(|(_, cpu)| cpu).sum();
    let mut warnings: Vec<String> = reproductions
        .iter()
        .flat_map(Reproduction::warnings)
        .collect();
    warnings.dedup();
    let mut out = String::from("# The papers, rerun and judged\n\n");
    let mut put = |text: &str| {
        out.push_str(text);
        out.push_str("\n\n");
    };
    put(&format!(
        "Made by `{command}`, version {}; `cargo measure reproduce` writes this page. Each paper's tables and figures are \
         redrawn beside its own numbers, and each of its claims that a run can decide is judged by a rule that was \
         written down first (`experiments/papers/<key>/claims.toml`). The last chapter, `today`, is not a paper: it asks \
         questions that the papers did not, and its claims, which are ours, are counted separately. Means are over the seeds, \
         with ± half the 95 % confidence interval; ratios are paired by seed.",
        env!("CARGO_PKG_VERSION")
    ));
    for warning in warnings {
        put(&format!("> **{}**", escape(&warning)));
    }
    let (header, rows) = tallies(reproductions);
    put(table(&header, &titled(rows, reproductions)).trim_end());
    let extent = if quick { "quick" } else { "full" };
    put(&format!("{runs} runs at {extent} scale."));
    let more: Duration = reproductions.iter().map(|r| r.settled.cpu).sum();
    put(&match more {
        Duration::ZERO => format!("CPU time: {:.0} s.", cpu.as_secs_f64()),
        more => format!(
            "CPU time: {:.0} s, and {:.0} s for more seeds.",
            cpu.as_secs_f64(),
            more.as_secs_f64()
        ),
    });
    if let Some(said) = settle::said(reproductions) {
        put(&said);
    }
    out
}

/// Appends each paper's title to its key.
fn titled(mut rows: Vec<Vec<Cell>>, reproductions: &[Reproduction]) -> Vec<Vec<Cell>> {
    for first in rows.iter_mut().filter_map(|row| row.first_mut()) {
        if let Some(named) = reproductions.iter().find(|r| r.key == first.text) {
            let text = format!("{}: {}", named.key, named.book.title);
            *first = Cell::new(text, Emphasis::Plain);
        }
    }
    rows
}

fn accounts(reproductions: &[Reproduction]) -> impl Iterator<Item = (usize, Duration)> + '_ {
    let accounts = reproductions.iter().flat_map(|r| &r.accounts);
    accounts.map(|account| (account.runs, account.cpu))
}

fn chapter(reproduction: &Reproduction) -> String {
    let mut out = format!(
        "## {}\n\n{}\n\n{}.\n\n",
        escape(&reproduction.book.title),
        escape(&account(reproduction)),
        reproduction.tally()
    );
    if let Some(said) = reproduction.coherent_said() {
        out += &format!("{said}\n\n");
    }
    let (header, rows) = reproduction.not_holding();
    if !rows.is_empty() {
        out += &table(&header, &rows);
    }
    for exhibit in &reproduction.exhibits {
        match exhibit {
            Exhibit::Heading(heading) => write!(out, "\n### {}\n", escape(heading)),
            Exhibit::Note(text) => write!(out, "\n{}\n", escape(text)),
            Exhibit::Figure(figure) => write!(
                out,
                "\n![{caption}]({}/figures/{}.svg)\n\n{caption}\n",
                reproduction.key,
                figure.name,
                caption = escape(&figure.caption).trim_end()
            ),
            Exhibit::Table(shown) => write!(
                out,
                "\n{}\n\n{}",
                escape(&shown.caption),
                table(&shown.header, &shown.rows)
            ),
        }
        .expect("memory does not fail");
    }
    out += "\n### Verdicts\n\n";
    out += &verdicts(reproduction);
    if let Some((header, rows)) = reproduction.rewritten() {
        out += &format!("\n{REWRITTEN}\n\n{}", table(&header, &rows));
    }
    let shown = reproduction.reread_tables();
    if !shown.is_empty() {
        out += "\n### Readings\n";
    }
    for shown in shown {
        out += &format!(
            "\n{}\n\n{}",
            shown.caption,
            table(&shown.header, &shown.rows)
        );
    }
    let (header, rows) = systems(&reproduction.book.systems);
    if !rows.is_empty() {
        out += "\n### Where the paper's systems are\n\n";
        out += &table(&header, &rows);
    }
    out += &format!("\n### {}\n\n", reproduction.chosen());
    for choice in reproduction.choices() {
        writeln!(out, "- {choice}").expect("memory does not fail");
    }
    out += "\n### What was run\n\n";
    let (header, rows) = reproduction.record();
    out += &table(&header, &rows);
    writeln!(
        out,
        "\nThe experiments are in `experiments/papers/{}/`.\n",
        reproduction.key
    )
    .expect("memory does not fail");
    out
}

fn verdicts(reproduction: &Reproduction) -> String {
    let header = ["verdict", "claim", reproduction.says(), "here"].map(str::to_owned);
    let rows = reproduction.judged.iter().enumerate().map(|(n, judged)| {
        let (claim, verdict) = (&judged.claim, judged.finding.verdict);
        vec![
            Cell::new(claims::marked(verdict), claims::emphasis(verdict)),
            format!("{} ({})", claim.statement, claim.section).into(),
            claim.paper.clone().into(),
            reproduction.found(n).into(),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    table(&header, &rows)
}
