//! What came out of a paper: verdicts, figures and tables, as text and CSV.

use dupack_lab::results::sheet::to_sheet;
use std::collections::BTreeMap;

use super::claims::{Book, Judged, Verdict};
use super::readings::Reread;
use super::settle::{Anew, Why};
use super::{Evidence, Extent};
use dupack_report::claims as verdicts;
use dupack_report::figure::{Figure, FigureError};
use dupack_report::page::Cell;
use dupack_report::table::{Colour, Plain};

/// A paper rerun and judged.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reproduction {
    /// The paper's key.
    pub key: &'static str,
    /// What its text leaves open and what was chosen, as Markdown.
    pub readme: &'static str,
    /// How much was run.
    pub extent: Extent,
    /// Title, citation and claims.
    pub book: Book,
    /// A verdict for each claim, in their order.
    pub judged: Vec<Judged>,
    /// Figures and tables.
    pub exhibits: Vec<Exhibit>,
    /// What they rest on.
    pub evidence: Evidence,
    /// What each experiment took, in their order.
    pub accounts: Vec<Account>,
    /// What became of claims that could not be told at first, if that was asked for.
    pub settled: Settled,
    /// What becomes of the verdicts under other readings, if that was asked for.
    pub readings: Option<Reread>,
}

/// Claims that could not be told by the seeds of the files, and were judged anew with more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The claims that were judged anew, by their places.
    pub(super) claims: BTreeMap<usize, Anew>,
    /// Those that cannot be told still, and why.
    pub(super) open: BTreeMap<usize, Why>,
    /// Runs that were made for it.
    pub runs: usize,
    /// CPU time of these.
    pub cpu: std::time::Duration,
    /// Runs that are missing because it was interrupted: the claims are as they were then.
    pub missing: usize,
}

/// What an experiment took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The experiment.
    pub experiment: &'static str,
    /// Runs that were finished.
    pub runs: usize,
    /// CPU time of all of them, on whatever machine they were done.
    pub cpu: std::time::Duration,
}

/// Something to look at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Exhibit {
    /// The beginning of a figure or table of the paper.
    Heading(String),
    /// A paragraph.
    Note(String),
    /// A picture.
    Figure(Figure),
    /// A table.
    Table(Table),
}

impl Exhibit {
    /// A figure; if it cannot be drawn, a paragraph that says why.
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

/// A table with the name of its file.
#[derive(Clone, Debug)]
pub struct Table {
    /// File name without its ending.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// As CSV.
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

    /// For the terminal.
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
    /// How many claims have `verdict`.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        let with = |judged: &&Judged| judged.finding.verdict == verdict;
        self.judged.iter().filter(with).count()
    }

    /// The verdicts in a line: `14 of 18 claims hold, 4 do not hold, 0 cannot be told`.
    #[must_use]
    pub fn tally(&self) -> String {
        format!(
            "{} of {} claims hold, {} do not hold, {} cannot be told",
            self.count(Verdict::Holds),
            self.judged.len(),
            self.count(Verdict::DoesNotHold),
            self.count(Verdict::CannotBeTold),
        )
    }

    /// What a reader must know of how it was run.
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
                "It was interrupted: {missing} of {planned} runs are missing, and everything here rests on the others."
            ));
        }
        out
    }

    /// What was found of the claim at this place, why it does not hold if it does not or that nobody
    /// knows, and what becomes of it under other readings.
    #[must_use]
    pub fn found(&self, claim: usize) -> String {
        let Some(judged) = self.judged.get(claim) else {
            return String::new();
        };
        let mut found = judged.found();
        if judged.finding.verdict == Verdict::DoesNotHold && judged.explanation().is_none() {
            found += "\nWhy: not explained.";
        }
        match self.of_readings(claim) {
            Some(readings) => format!("{found}\nReadings: {readings}"),
            None => found,
        }
    }

    /// What becomes of the claim at this place under other readings, if it was reread.
    #[must_use]
    pub fn of_readings(&self, claim: usize) -> Option<String> {
        let verdict = self.judged.get(claim)?.finding.verdict;
        Some(self.readings.as_ref()?.sentence(claim, verdict))
    }

    /// Runs that are missing because it was interrupted.
    #[must_use]
    pub fn missing(&self) -> usize {
        let reread = self.readings.as_ref().map_or(0, |reread| reread.missing);
        self.evidence.missing() + self.settled.missing + reread
    }

    /// Its tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.exhibits.iter().filter_map(|exhibit| match exhibit {
            Exhibit::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Its figures.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.exhibits.iter().filter_map(|exhibit| match exhibit {
            Exhibit::Figure(figure) => Some(figure),
            _ => None,
        })
    }

    /// The verdicts for the terminal.
    #[must_use]
    pub fn verdicts(&self, colour: Colour, width: Option<u16>) -> String {
        verdicts::table(&self.judged, colour, width)
    }

    /// The verdicts as CSV.
    #[must_use]
    pub fn verdicts_csv(&self) -> Vec<u8> {
        verdicts::csv(&self.judged)
    }

    /// The readme's list of choices, item by item, as Markdown on one line each:
    /// `**What.** How it was settled.`
    pub fn choices(&self) -> impl Iterator<Item = String> + '_ {
        let items = self.readme.split("\n- **").skip(1);
        items.filter_map(|item| {
            let (item, _) = item.split_once("\n\n").unwrap_or((item, ""));
            let one_line = item.split_whitespace().collect::<Vec<_>>().join(" ");
            one_line.contains("**").then(|| format!("**{one_line}"))
        })
    }
}
