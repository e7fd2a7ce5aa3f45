//! The first screen: for each paper the number of claims by standing and verdict, and the conclusion in two paragraphs.
//!
//! A claim has one of four standings. Only the claims of a paper are evidence about the paper. For an input, a setting
//! was chosen in order to meet it; a hypothesis of ours is not in the paper's text; the questions of today are not about
//! a paper.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::claims::{Claim, Judged, Verdict};
use super::reproduction::Reproduction;
use super::{find, today};
use dupack_report::markdown::escape;
use dupack_report::table::Plain;

/// The summaries of the last rerun at full scale: `experiments/papers/conclusions.toml`.
const STORED: &str = include_str!("../experiments/conclusions.toml");

/// Role of a claim as evidence about a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A statement of the paper.
    Paper,
    /// A statement of the paper to which a setting was fitted.
    Input,
    /// A hypothesis of ours about what the paper proposes.
    Hypothesis,
    /// A question of ours that is not about a paper.
    Today,
}

/// Numbers of claims of one standing, by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Claims that hold.
    pub hold: usize,
    /// Claims that do not hold.
    pub fail: usize,
    /// Claims that cannot be told.
    pub open: usize,
}

/// Summary of a paper that was rerun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Key of the paper.
    pub key: String,
    /// Title of the paper.
    pub title: String,
    /// Numbers of claims, by standing.
    pub tallies: BTreeMap<Standing, Tally>,
    /// Number of runs.
    pub runs: usize,
    /// Claims whose rule was rewritten after its first verdict: all, those that did not hold before and hold now, and
    /// those that held before and do not hold now.
    pub rewritten: [usize; 3],
    /// The conclusion, in paragraphs.
    pub conclusion: Vec<String>,
}

/// The summaries of a rerun of papers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summaries {
    /// Version of dupack that made them.
    pub version: String,
    /// The papers.
    #[serde(rename = "paper")]
    pub papers: Vec<Summary>,
}

impl Standing {
    const ALL: [Self; 4] = [Self::Paper, Self::Input, Self::Hypothesis, Self::Today];

    /// Returns the standing of a claim in the paper called `key`.
    #[must_use]
    pub fn of(key: &str, claim: &Claim) -> Self {
        match (key == today::KEY, claim.ours, claim.fitted.is_empty()) {
            (true, _, _) => Self::Today,
            (false, true, _) => Self::Hypothesis,
            (false, false, false) => Self::Input,
            (false, false, true) => Self::Paper,
        }
    }

    /// Returns the heading of its column.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Paper => "claims of the paper",
            Self::Input => "inputs",
            Self::Hypothesis => "hypotheses of ours",
            Self::Today => "questions of today",
        }
    }

    /// Returns its name, as files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Input => "input",
            Self::Hypothesis => "hypothesis",
            Self::Today => "today",
        }
    }
}

impl Tally {
    /// Returns the number of claims.
    #[must_use]
    pub const fn all(self) -> usize {
        self.hold + self.fail + self.open
    }

    const fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Holds => self.hold += 1,
            Verdict::DoesNotHold => self.fail += 1,
            Verdict::CannotBeTold => self.open += 1,
        }
    }

    const fn add(&mut self, other: Self) {
        self.hold += other.hold;
        self.fail += other.fail;
        self.open += other.open;
    }

    /// Describes the counts in words, such as `30 of 41 hold, 1 cannot be told`. Empty without claims.
    #[must_use]
    pub fn said(self) -> String {
        match (self.all(), self.open) {
            (0, _) => String::new(),
            (all, 0) => format!("{} of {all} hold", self.hold),
            (all, open) => format!("{} of {all} hold, {open} cannot be told", self.hold),
        }
    }
}

/// Counts the claims by standing and verdict.
pub(super) fn tallies(key: &str, judged: &[Judged]) -> BTreeMap<Standing, Tally> {
    let mut out: BTreeMap<Standing, Tally> = BTreeMap::new();
    for judged in judged {
        let tally = out.entry(Standing::of(key, &judged.claim)).or_default();
        tally.count(judged.finding.verdict);
    }
    out
}

impl Reproduction {
    /// Returns the summary of the paper.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let rewritten = self.judged.iter().filter_map(|judged| {
            let first = judged.claim.rewritten.first()?;
            Some((first.before.as_str(), judged.finding.verdict))
        });
        let rewritten: Vec<(&str, Verdict)> = rewritten.collect();
        let with = |before: Verdict, now: Verdict| {
            let turned = |change: &&(&str, Verdict)| change.0 == before.name() && change.1 == now;
            rewritten.iter().filter(turned).count()
        };
        let (yes, no) = (Verdict::Holds, Verdict::DoesNotHold);
        Summary {
            key: self.key.to_owned(),
            title: self.book.title.clone(),
            tallies: tallies(self.key, &self.judged),
            runs: self.runs(),
            rewritten: [rewritten.len(), with(no, yes), with(yes, no)],
            conclusion: self.conclusion.clone(),
        }
    }

    /// Returns the number of runs that were made for the paper, under all readings.
    fn runs(&self) -> usize {
        let files: usize = self.accounts.iter().map(|account| account.runs).sum();
        files + self.settled.runs + self.readings.as_ref().map_or(0, |reread| reread.runs)
    }
}

impl Summaries {
    /// Returns the summaries of papers that were just rerun.
    #[must_use]
    pub fn of(reproductions: &[Reproduction]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            papers: reproductions.iter().map(Reproduction::summary).collect(),
        }
    }

    /// Returns the summaries of the last rerun of all papers at full scale.
    ///
    /// # Panics
    /// If the built-in file is invalid; the tests would catch that.
    #[must_use]
    pub fn stored() -> Self {
        toml::from_str(STORED).expect("the built-in summaries are valid")
    }

    /// Formats the summaries as TOML.
    ///
    /// # Panics
    /// Never, because every field can be written.
    #[must_use]
    pub fn toml(&self) -> String {
        let text = toml::to_string_pretty(self).expect("every field can be written");
        format!(
            "# Written by `cargo measure reproduce`: the counts and conclusions of the last rerun at full scale.\n\n{text}"
        )
    }

    /// Returns a row for each paper, and a sum over the papers, with a column for each standing that occurs.
    pub(super) fn rows(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let occurs = |standing: &Standing| {
            let tallies = self.papers.iter().map(|paper| &paper.tallies);
            tallies.into_iter().any(|own| own.contains_key(standing))
        };
        let columns: Vec<Standing> = Standing::ALL.into_iter().filter(occurs).collect();
        let row = |name: &str, tallies: &BTreeMap<Standing, Tally>| {
            let cells = columns.iter();
            let cells = cells.map(|standing| tallies.get(standing).copied().unwrap_or_default());
            let cells = cells.map(Tally::said);
            [name.to_owned()].into_iter().chain(cells).collect()
        };
        let mut sum: BTreeMap<Standing, Tally> = BTreeMap::new();
        for (standing, tally) in self.papers.iter().flat_map(|paper| &paper.tallies) {
            sum.entry(*standing).or_default().add(*tally);
        }
        let papers = self.papers.iter();
        let mut rows: Vec<Vec<String>> = papers.map(|own| row(&own.key, &own.tallies)).collect();
        if self.papers.len() > 1 {
            rows.push(row("all", &sum));
        }
        let header = ["paper"].into_iter();
        (
            header
                .chain(columns.iter().map(|own| own.heading()))
                .collect(),
            rows,
        )
    }

    /// Explains the columns of the table, and says how many rules were rewritten.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut out = vec![
            "Only the claims of a paper are evidence about it. For an input, we chose a setting in order to meet what \
             the paper says, so an input that holds is no evidence; the page of the paper names the setting. Hypotheses \
             are ours and not the paper's."
                .to_owned(),
        ];
        let sum = |n: usize| {
            self.papers
                .iter()
                .map(|own| own.rewritten[n])
                .sum::<usize>()
        };
        if sum(0) > 0 {
            out.push(format!(
                "The rules of {} claims were rewritten after a first verdict was known, each with date and reason. {} of \
                 these claims did not hold before and hold now; {} held before and do not hold now.",
                sum(0),
                sum(1),
                sum(2)
            ));
        }
        out
    }

    /// Returns the first screen as Markdown: `docs/reproduction/README.md`.
    #[must_use]
    pub fn markdown(&self) -> String {
        let runs: usize = self.papers.iter().map(|own| own.runs).sum();
        let mut out = format!(
            "# The papers, rerun and judged\n\nDoes it work, by how much, where not, and what would we use today? Every claim \
             is judged by a rule that was written down before its runs (`experiments/papers/<key>/claims.toml`). \
             {runs} runs, version {}; `dupack papers` prints this page.\n\n",
            self.version
        );
        let (header, rows) = self.rows();
        out += &format!(
            "| {} |\n|{}\n",
            header.join(" | "),
            " --- |".repeat(header.len())
        );
        for mut row in rows {
            if let Some(first) = row.first_mut() {
                *first = match find(first) {
                    Ok(paper) => format!("[{0}]({0}.md)", paper.key),
                    Err(_) => format!("**{first}**"),
                };
            }
            writeln!(out, "| {} |", row.join(" | ")).expect("memory does not fail");
        }
        for note in self.notes() {
            write!(out, "\n{note}\n").expect("memory does not fail");
        }
        for paper in &self.papers {
            let title = escape(&paper.title);
            write!(out, "\n## {}: {title}\n", paper.key).expect("memory does not fail");
            for paragraph in &paper.conclusion {
                write!(out, "\n{}\n", escape(paragraph)).expect("memory does not fail");
            }
        }
        out
    }

    /// Returns the first screen for the terminal.
    #[must_use]
    pub fn text(&self, width: Option<u16>) -> String {
        let (header, rows) = self.rows();
        let mut shown = Plain::new(&header, usize::MAX, width);
        for row in rows {
            shown.add(row);
        }
        let wrap =
            |text: &str| textwrap::fill(text, usize::from(width.unwrap_or(100).clamp(40, 100)));
        let mut out = format!("{}\n", shown.text());
        for note in self.notes() {
            write!(out, "\n{}\n", wrap(&note)).expect("memory does not fail");
        }
        for paper in &self.papers {
            write!(out, "\n{}: {}\n", paper.key, paper.title).expect("memory does not fail");
            for paragraph in &paper.conclusion {
                writeln!(out, "{}", wrap(paragraph)).expect("memory does not fail");
            }
        }
        out
    }
}
