//! Contents of a paper's page, independent of the format: the conclusion, the figures, the verdicts, the tables, the
//! readings, and the runs. `paper_page` shows them as HTML, and `markdown` as Markdown.

use super::claims::{Judged, System, Verdict};
use super::reproduction::{Exhibit, Reproduction, Table};
use super::settle;
use super::summary::Standing;
use dupack_report::claims::emphasis;
use dupack_report::figure::Figure;
use dupack_report::page::{Cell, Emphasis};

/// A part of the page: a heading and what follows it.
#[derive(Debug)]
pub(super) struct Part<'r> {
    pub(super) heading: String,
    pub(super) pieces: Vec<Piece<'r>>,
}

/// A piece of a part.
#[derive(Debug)]
pub(super) enum Piece<'r> {
    Text(String),
    Warning(String),
    /// An item of a list: its beginning, which is emphasized, and the rest.
    Item(String, String),
    Figure(&'r Figure),
    Table {
        caption: String,
        header: Vec<String>,
        rows: Vec<Vec<Cell>>,
    },
}

impl Piece<'_> {
    fn table(caption: &str, (header, rows): (Vec<String>, Vec<Vec<Cell>>)) -> Self {
        Self::Table {
            caption: caption.to_owned(),
            header,
            rows,
        }
    }
}

/// The exhibits below one heading.
#[derive(Default)]
struct Group<'r> {
    heading: &'r str,
    notes: Vec<&'r str>,
    figures: Vec<&'r Figure>,
    tables: Vec<&'r Table>,
}

/// Describes a paper and where it was published.
pub(super) fn account(reproduction: &Reproduction) -> String {
    let book = &reproduction.book;
    format!("{}. {}", book.citation, book.lead.trim())
}

impl Reproduction {
    /// Returns the parts of the page, in order.
    pub(super) fn contents(&self) -> Vec<Part<'_>> {
        let groups = self.groups();
        let mut parts = vec![self.conclusion_part()];
        parts.extend(groups.iter().filter_map(figures_of));
        parts.extend(self.failing_part());
        parts.push(self.verdict_part());
        parts.extend(groups.iter().filter_map(tables_of));
        parts.extend(self.rewritten_part());
        parts.extend(self.readings_part());
        parts.extend(self.systems_part());
        parts.push(self.choices_part());
        parts.push(self.record_part());
        parts
    }

    /// Returns the exhibits, grouped by their headings.
    fn groups(&self) -> Vec<Group<'_>> {
        let mut groups = vec![Group::default()];
        for exhibit in &self.exhibits {
            if let Exhibit::Heading(heading) = exhibit {
                groups.push(Group {
                    heading,
                    ..Group::default()
                });
                continue;
            }
            let Some(group) = groups.last_mut() else {
                continue;
            };
            match exhibit {
                Exhibit::Heading(_) => {}
                Exhibit::Note(text) => group.notes.push(text),
                Exhibit::Figure(figure) => group.figures.push(figure),
                Exhibit::Table(table) => group.tables.push(table),
            }
        }
        groups
    }

    /// Returns `true` if this is a published paper, and `false` if the claims are ours.
    pub(super) fn is_a_paper(&self) -> bool {
        self.key != super::today::KEY
    }

    /// Returns the heading of the claims.
    fn says(&self) -> &'static str {
        if self.is_a_paper() {
            "the paper"
        } else {
            "expected"
        }
    }

    fn conclusion_part(&self) -> Part<'_> {
        let warnings = self.warnings().into_iter().map(Piece::Warning);
        let conclusion = self.conclusion.iter().cloned().map(Piece::Text);
        let counts = format!("The verdicts: {}.", self.tally());
        let best = self.coherent_said().map(Piece::Text);
        let counts = std::iter::once(Piece::Text(counts));
        Part {
            heading: "Conclusion".to_owned(),
            pieces: warnings
                .chain(conclusion)
                .chain(counts)
                .chain(best)
                .collect(),
        }
    }

    /// Lists the claims that do not hold or cannot be told, each with the numbers, the explanation, and its verdicts
    /// under other readings.
    fn failing_part(&self) -> Option<Part<'_>> {
        let own = self.judged.iter().enumerate();
        let own = own.filter(|(_, judged)| judged.finding.verdict != Verdict::Holds);
        let items: Vec<Piece<'_>> = own
            .map(|(n, judged)| {
                let claim = &judged.claim;
                let beginning = format!("{} (section {}).", claim.statement, claim.section);
                Piece::Item(beginning, self.account_of(n, judged))
            })
            .collect();
        (!items.is_empty()).then(|| Part {
            heading: "Claims that do not hold, or cannot be told".to_owned(),
            pieces: items,
        })
    }

    /// Returns the sentences about a claim: verdict, numbers, explanation, and readings.
    pub(super) fn account_of(&self, n: usize, judged: &Judged) -> String {
        let sentence = |text: &str| {
            let text = text.trim();
            let mut letters = text.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string());
            let end = if text.ends_with(['.', '!', '?']) {
                ""
            } else {
                "."
            };
            format!("{}{}{end}", first.unwrap_or_default(), letters.as_str())
        };
        let verdict = judged.finding.verdict;
        let mut out = vec![sentence(verdict.name())];
        if !judged.finding.found.is_empty() {
            out.push(format!("Found: {}", sentence(&judged.finding.found)));
        }
        match (judged.explanation(), verdict) {
            (Some(why), _) => out.push(sentence(why)),
            (None, Verdict::DoesNotHold) => out.push("This is not explained.".to_owned()),
            (None, _) => {}
        }
        if let Some(readings) = self.of_readings(n) {
            out.push(format!("The claim {readings}."));
        }
        out.join(" ")
    }

    fn verdict_part(&self) -> Part<'_> {
        let rows = self.judged.iter().map(|judged| {
            let (claim, finding) = (&judged.claim, &judged.finding);
            let standing = match Standing::of(self.key, claim) {
                Standing::Input => format!(" Input: {}.", claim.fitted.trim_end_matches('.')),
                Standing::Hypothesis if !claim.fitted.is_empty() => {
                    format!(
                        " Hypothesis of ours, fitted: {}.",
                        claim.fitted.trim_end_matches('.')
                    )
                }
                Standing::Hypothesis => " Hypothesis of ours.".to_owned(),
                Standing::Paper | Standing::Today => String::new(),
            };
            vec![
                Cell::new(finding.verdict.name(), emphasis(finding.verdict)),
                format!("{} ({}).{standing}", claim.statement, claim.section).into(),
                claim.paper.clone().into(),
                finding.found.clone().into(),
                claim.rule.clone().into(),
            ]
        });
        let header = ["verdict", "claim", self.says(), "here", "rule"];
        let header = header.map(str::to_owned).to_vec();
        Part {
            heading: "Verdicts".to_owned(),
            pieces: vec![Piece::table("", (header, rows.collect()))],
        }
    }

    /// Lists the rules that were rewritten.
    fn rewritten_part(&self) -> Option<Part<'_>> {
        let rows = self.judged.iter().flat_map(|judged| {
            let verdict = judged.finding.verdict;
            judged.claim.rewritten.iter().map(move |change| {
                vec![
                    Cell::new(judged.claim.id.clone(), Emphasis::Group),
                    change.on.clone().into(),
                    change.why.clone().into(),
                    change.before.clone().into(),
                    Cell::new(verdict.name(), emphasis(verdict)),
                ]
            })
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        let header = ["claim", "date", "reason", "verdict before", "now"];
        (!rows.is_empty()).then(|| Part {
            heading: "Rules that were rewritten after a verdict was known".to_owned(),
            pieces: vec![Piece::table("", (header.map(str::to_owned).to_vec(), rows))],
        })
    }

    fn readings_part(&self) -> Option<Part<'_>> {
        let shown = self.reread_tables().into_iter();
        let tables = shown.map(|shown| Piece::table(&shown.caption, (shown.header, shown.rows)));
        let tables: Vec<Piece<'_>> = tables.collect();
        (!tables.is_empty()).then(|| Part {
            heading: "Readings".to_owned(),
            pieces: tables,
        })
    }

    fn systems_part(&self) -> Option<Part<'_>> {
        let table = systems(&self.book.systems);
        (!table.1.is_empty()).then(|| Part {
            heading: "Implementations of the paper's systems".to_owned(),
            pieces: vec![Piece::table(
                "Stacks as `dupack compare --stacks` takes them, and experiments.",
                table,
            )],
        })
    }

    fn choices_part(&self) -> Part<'_> {
        let items = self.choices().filter_map(|item| {
            let (what, how) = item.trim_start_matches('*').split_once("**")?;
            let bare = what.trim_end_matches(['.', ':']);
            let rest = how.trim_start_matches(['.', ':', ' ']);
            // The bold words may be the beginning of a sentence.
            let goes_on = bare == what && how.starts_with(' ');
            let end = if goes_on { "" } else { "." };
            Some(Piece::Item(format!("{bare}{end}"), rest.to_owned()))
        });
        let heading = match self.is_a_paper() {
            true => "Points that the text leaves open, and our choices",
            false => "Choices",
        };
        Part {
            heading: heading.to_owned(),
            pieces: items.collect(),
        }
    }

    fn record_part(&self) -> Part<'_> {
        let header = [
            "experiment",
            "stacks",
            "points",
            "seeds",
            "simulated time of a run, at most",
            "runs",
        ];
        let rows = self.evidence.parts.iter().zip(&self.accounts);
        let rows = rows.map(|(part, account)| {
            let number = |text: String| Cell::new(text, Emphasis::Number);
            let results = &part.results;
            vec![
                Cell::new(part.name, Emphasis::Group),
                number(results.stacks.len().to_string()),
                number(results.points.len().to_string()),
                number(results.experiment.seeds.to_vec().len().to_string()),
                number(results.experiment.duration.to_string()),
                number(account.runs.to_string()),
            ]
        });
        let caption = format!(
            "The experiments, at {} scale. Their files are in `experiments/papers/{}/`.",
            self.extent.name(),
            self.key
        );
        let header = header.map(str::to_owned).to_vec();
        Part {
            heading: "Runs".to_owned(),
            pieces: std::iter::once(Piece::table(&caption, (header, rows.collect())))
                .chain(settle::said(std::slice::from_ref(self)).map(Piece::Text))
                .collect(),
        }
    }
}

/// Returns the figures below a heading, with its notes.
fn figures_of<'r>(group: &Group<'r>) -> Option<Part<'r>> {
    let notes = group.notes.iter().map(|&text| Piece::Text(text.to_owned()));
    let figures = group.figures.iter().map(|&figure| Piece::Figure(figure));
    (!group.figures.is_empty()).then(|| Part {
        heading: group.heading.to_owned(),
        pieces: notes.chain(figures).collect(),
    })
}

/// Returns the tables below a heading. Its notes are with the figures, if there are any.
fn tables_of<'r>(group: &Group<'r>) -> Option<Part<'r>> {
    let alone = group.figures.is_empty();
    let notes = group.notes.iter().filter(|_| alone);
    let notes = notes.map(|&text| Piece::Text(text.to_owned()));
    let tables = group.tables.iter().map(|&table| {
        let columns = (table.header.clone(), table.rows.clone());
        Piece::table(&table.caption, columns)
    });
    let pieces: Vec<Piece<'r>> = notes.chain(tables).collect();
    let heading = match alone {
        true => group.heading.to_owned(),
        false => format!("{}: numbers", group.heading),
    };
    (!pieces.is_empty()).then_some(Part { heading, pieces })
}

/// Lists the systems of a paper with their implementations.
pub(super) fn systems(systems: &[System]) -> (Vec<String>, Vec<Vec<Cell>>) {
    let header = ["the paper's", "section", "here", ""];
    let rows = systems.iter().map(|system| {
        vec![
            Cell::new(system.name.clone(), Emphasis::Group),
            system.section.clone().into(),
            system.place().into(),
            system.note.clone().into(),
        ]
    });
    (header.map(str::to_owned).to_vec(), rows.collect())
}
