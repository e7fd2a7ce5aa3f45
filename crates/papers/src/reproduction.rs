//! Outcome of a paper: verdicts, figures and tables, as text and CSV.

use dupack_lab::results::sheet::to_sheet;
use std::collections::BTreeMap;

use super::claims::{Book, Judged, Verdict};
use super::readings::Reread;
use super::settle::{Anew, Why};
use super::summary::{self, Standing};
use super::{Evidence, Extent};
use dupack_report::claims as verdicts;
use dupack_report::figure::{Figure, FigureError};
use dupack_report::page::Cell;
use dupack_report::table::{Colour, Plain};

/// A paper after it was rerun and judged.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reproduction {
    /// Key of the paper.
    pub key: &'static str,
    /// Questions that the text leaves open, and our choices, as Markdown.
    pub readme: &'static str,
    /// Scale of the runs.
    pub extent: Extent,
    /// Title, citation and claims.
    pub book: Book,
    /// Verdict on each claim, in order.
    pub judged: Vec<Judged>,
    /// The conclusion, in paragraphs.
    pub conclusion: Vec<String>,
    /// Figures and tables.
    pub exhibits: Vec<Exhibit>,
    /// Results of the experiments.
    pub evidence: Evidence,
    /// Cost of each experiment, in order.
    pub accounts: Vec<Account>,
    /// Claims that were judged again with more seeds, if that was requested.
    pub settled: Settled,
    /// Verdicts under other readings, if that was requested.
    pub readings: Option<Reread>,
}

/// Claims that the seeds of the files did not decide and that were judged again with more seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Claims that were judged again, by index.
    pub(super) claims: BTreeMap<usize, Anew>,
    /// Claims that still cannot be told, by index, with the reasons.
    pub(super) open: BTreeMap<usize, Why>,
    /// Number of additional runs.
    pub runs: usize,
    /// CPU time of the additional runs.
    pub cpu: std::time::Duration,
    /// Number of runs that are missing because of an interrupt. The claims then keep their earlier verdicts.
    pub missing: usize,
}

/// Cost of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Name of the experiment.
    pub experiment: &'static str,
    /// Number of finished runs.
    pub runs: usize,
    /// CPU time of all runs, on all machines that performed runs.
    pub cpu: std::time::Duration,
}

/// A part of a paper's exhibits: a heading, a paragraph, a figure or a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Exhibit {
    /// Heading of a figure or table of the paper.
    Heading(String),
    /// A paragraph.
    Note(String),
    /// A figure.
    Figure(Figure),
    /// A table.
    Table(Table),
}

impl Exhibit {
    /// Creates a figure, or a paragraph with the reason if the figure cannot be drawn.
    pub(super) fn figure(name: &str, caption: &str, svg: Result<String, FigureError>) -> Self {
        match svg {
            Ok(svg) => Self::Figure(Figure {
                name: name.to_owned(),
                svg,
                caption: caption.to_owned(),
            }),
            Err(error) => Self::Note(format!("The figure {name} is missing: {error}.")),
        }
    }
}

/// A table and the name of its file.
#[derive(Clone, Debug)]
pub struct Table {
    /// File name without the extension.
    pub name: String,
    /// Caption.
    pub caption: String,
    /// Column names.
    pub header: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Formats the table as CSV.
    #[must_use]
    pub fn csv(&self) -> Vec<u8> {
        let mut out = csv::WriterBuilder::new()
            .flexible(true)
            .from_writer(Vec::new());
        let rows = self.rows.iter();
        let rows = rows.map(|row| {
            row.iter()
                .map(|cell| to_sheet(&cell.text).into_owned())
                .collect()
        });
        for row in std::iter::once(self.header.clone()).chain(rows) {
            let row: Vec<String> = row;
            out.write_record(&row).expect("memory does not fail");
        }
        out.into_inner().unwrap_or_default()
    }

    /// Formats the table for the terminal.
    #[must_use]
    pub fn text(&self, width: Option<u16>) -> String {
        let mut table = Plain::new(&self.header, usize::MAX, width);
        for row in &self.rows {
            table.add(row.iter().map(|cell| cell.text.clone()));
        }
        format!("{}\n\n{}", self.caption, table.text())
    }
}

impl Reproduction {
    /// Returns the number of claims with `verdict`.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        let with = |judged: &&Judged| judged.finding.verdict == verdict;
        self.judged.iter().filter(with).count()
    }

    /// Counts the verdicts in a line, by the standing of the claims: `claims of the paper: 14 of 18 hold; inputs: 2 of 2
    /// hold`.
    #[must_use]
    pub fn tally(&self) -> String {
        let tallies = summary::tallies(self.key, &self.judged).into_iter();
        let said =
            tallies.map(|(standing, tally)| format!("{}: {}", standing.heading(), tally.said()));
        said.collect::<Vec<String>>().join("; ")
    }

    /// Returns warnings for readers about the way in which the paper was run.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.extent == Extent::Quick {
            out.push(
                "A quick look: fewer seeds and shorter runs than the verdicts are meant to rest on."
                    .to_owned(),
            );
        }
        let missing = self.missing();
        if missing > 0 {
            let planned = self.evidence.planned();
            let planned = planned
                + self.settled.runs
                + self.readings.as_ref().map_or(0, |reread| reread.runs);
            out.push(format!(
                "This campaign was interrupted: {missing} of {planned} runs are missing, and all results rest on the others."
            ));
        }
        out
    }

    /// Returns the outcome of the given claim under other readings, if the paper was reread.
    #[must_use]
    pub fn of_readings(&self, claim: usize) -> Option<String> {
        let verdict = self.judged.get(claim)?.finding.verdict;
        Some(self.readings.as_ref()?.sentence(claim, verdict))
    }

    /// Returns the number of runs that are missing because of an interrupt.
    #[must_use]
    pub fn missing(&self) -> usize {
        let reread = self.readings.as_ref().map_or(0, |reread| reread.missing);
        self.evidence.missing() + self.settled.missing + reread
    }

    /// Returns the tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.exhibits.iter().filter_map(|exhibit| match exhibit {
            Exhibit::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Returns the figures.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.exhibits.iter().filter_map(|exhibit| match exhibit {
            Exhibit::Figure(figure) => Some(figure),
            _ => None,
        })
    }

    /// Formats the verdicts for the terminal.
    #[must_use]
    pub fn verdicts(&self, colour: Colour, width: Option<u16>) -> String {
        verdicts::table(&self.judged, colour, width)
    }

    /// Formats the verdicts as CSV.
    #[must_use]
    pub fn verdicts_csv(&self) -> Vec<u8> {
        let claims = || self.judged.iter().map(|judged| &judged.claim);
        let standing = |claim| Standing::of(self.key, claim).name().to_owned();
        let columns = [
            ("standing", claims().map(standing).collect()),
            (
                "fitted",
                claims().map(|claim| claim.fitted.clone()).collect(),
            ),
        ];
        verdicts::csv_with(&self.judged, &columns)
    }

    /// Returns the items of the readme's list of choices, each as Markdown on one line: the choice in bold, and its
    /// reason.
    pub fn choices(&self) -> impl Iterator<Item = String> + '_ {
        let items = self.readme.split("\n- **").skip(1);
        items.filter_map(|item| {
            let (item, _) = item.split_once("\n\n").unwrap_or((item, ""));
            let one_line = item.split_whitespace().collect::<Vec<_>>().join(" ");
            one_line.contains("**").then(|| format!("**{one_line}"))
        })
    }
}
