//! One HTML page for all papers: contents with tallies and, for each paper, its introduction, verdicts, figures and
//! tables, choices, and runs.

use super::Extent;
use super::claims::{System, Verdict};
use super::reproduction::{Exhibit, Reproduction};
use super::settle;
use dupack_report::claims::emphasis;
use dupack_report::page::{Block, Cell, Depth, Emphasis, Page, Section};

/// Heading of the rules that were rewritten.
pub(super) const REWRITTEN: &str = "Rules that were rewritten, none because of its outcome.";

/// Returns the page of `reproductions`.
#[must_use]
pub fn page(reproductions: &[Reproduction]) -> Page {
    if let [only] = reproductions {
        return only.page();
    }
    let mut sections = vec![summary(reproductions)];
    for reproduction in reproductions {
        let mut own = reproduction.sections();
        for section in &mut own {
            section.depth = Depth::Subsection;
        }
        sections.push(Section {
            heading: reproduction.book.title.clone(),
            note: reproduction.tally(),
            blocks: vec![Block::text(account(reproduction))],
            ..Section::default()
        });
        sections.extend(own);
    }
    Page {
        title: "Published results, rerun and judged".to_owned(),
        lead: "Each paper's figures and tables redrawn beside its own numbers, and a verdict on every claim: \
               holds, does not hold, or cannot be told, by a rule that stands beside it. The last chapter asks \
               questions that the papers did not; its claims are ours and are counted separately."
            .to_owned(),
        sections,
    }
}

/// Describes a paper and where it was published.
pub(super) fn account(reproduction: &Reproduction) -> String {
    let book = &reproduction.book;
    format!("{}. {}", book.citation, book.lead.trim())
}

fn summary(reproductions: &[Reproduction]) -> Section {
    let mut warnings: Vec<String> = Vec::new();
    for warning in reproductions.iter().flat_map(Reproduction::warnings) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let mut blocks: Vec<Block> = warnings
        .into_iter()
        .map(|text| Block::Warning { text })
        .collect();
    let (header, rows) = tallies(reproductions);
    blocks.push(Block::Table {
        caption: "Claims by verdict.".to_owned(),
        header,
        rows,
    });
    blocks.extend(settle::said(reproductions).map(Block::text));
    Section {
        heading: "Summary".to_owned(),
        blocks,
        ..Section::default()
    }
}

/// Counts the verdicts by paper, with a sum. The chapter that is not a paper is below the sum.
pub(super) fn tallies(reproductions: &[Reproduction]) -> (Vec<String>, Vec<Vec<Cell>>) {
    let verdicts = [Verdict::Holds, Verdict::DoesNotHold, Verdict::CannotBeTold];
    let mut header = vec!["paper".to_owned(), "claims".to_owned()];
    header.extend(verdicts.map(|verdict| verdict.name().to_owned()));
    let reread = reproductions.iter().any(|r| r.readings.is_some());
    header.extend(reread.then(|| "holds under the reading that fits best".to_owned()));
    let number = |n: usize| Cell::new(n.to_string(), Emphasis::Number);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let of = |name: &str, some: &[&Reproduction]| {
        let count = |verdict| some.iter().map(|r| r.count(verdict)).sum();
        let claims = some.iter().map(|r| r.judged.len()).sum();
        let name = Cell::new(name, Emphasis::Group);
        let counts = verdicts.map(|verdict| number(count(verdict)));
        let best = || {
            let each = some.iter().filter_map(|r| {
                let fit = r.readings.as_ref()?.coherent_fit(&r.judged);
                Some(fit.hold + fit.held_out)
            });
            let each: Vec<usize> = each.collect();
            (!each.is_empty()).then(|| each.iter().sum())
        };
        let best = reread.then(|| best().map_or_else(|| Cell::from(""), number));
        let row = [name, number(claims)].into_iter().chain(counts);
        row.chain(best).collect()
    };
    let (papers, ours): (Vec<_>, Vec<_>) = reproductions.iter().partition(|r| r.is_a_paper());
    for paper in papers.iter().copied() {
        rows.push(of(paper.key, &[paper]));
    }
    if papers.len() > 1 {
        rows.push(of("all", &papers));
    }
    for own in ours {
        rows.push(of(own.key, &[own]));
    }
    (header, rows)
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

impl Reproduction {
    /// Returns the page of this paper alone.
    #[must_use]
    pub fn page(&self) -> Page {
        Page {
            title: self.book.title.clone(),
            lead: account(self),
            sections: self.sections(),
        }
    }

    /// Returns the sections of the paper's page.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.summary_section()];
        for exhibit in &self.exhibits {
            let block = match exhibit {
                Exhibit::Heading(heading) => {
                    sections.push(Section {
                        heading: heading.clone(),
                        ..Section::default()
                    });
                    continue;
                }
                Exhibit::Note(text) => Block::text(text.clone()),
                Exhibit::Figure(figure) => Block::Figure {
                    svg: figure.svg.clone(),
                    caption: figure.caption.clone(),
                },
                Exhibit::Table(table) => Block::Table {
                    caption: table.caption.clone(),
                    header: table.header.clone(),
                    rows: table.rows.clone(),
                },
            };
            if let Some(section) = sections.last_mut() {
                section.blocks.push(block);
            }
        }
        sections.push(self.verdict_section());
        sections.extend(self.readings_section());
        sections.extend(self.systems_section());
        sections.push(self.choices_section());
        sections.push(self.record_section());
        sections
    }

    /// Returns `true` if this is a published paper, and `false` if the claims are ours.
    pub(super) fn is_a_paper(&self) -> bool {
        self.key != super::today::KEY
    }

    /// Returns the heading of the claims.
    pub(super) fn says(&self) -> &'static str {
        if self.is_a_paper() {
            "the paper"
        } else {
            "expected"
        }
    }

    /// Returns the heading of the choices.
    pub(super) fn chosen(&self) -> &'static str {
        if self.is_a_paper() {
            "What the text leaves open, and what we chose"
        } else {
            "What was chosen"
        }
    }

    /// Returns the summary: the number of claims that hold, and the claims that do not hold.
    fn summary_section(&self) -> Section {
        let warnings = self.warnings().into_iter();
        let mut blocks: Vec<Block> = warnings.map(|text| Block::Warning { text }).collect();
        blocks.push(Block::text(format!("{}.", self.tally())));
        blocks.extend(self.coherent_said().map(Block::text));
        let (header, rows) = self.not_holding();
        if !rows.is_empty() {
            blocks.push(Block::Table {
                caption: "The claims that do not hold, or cannot be told.".to_owned(),
                header,
                rows,
            });
        }
        Section {
            heading: "Summary".to_owned(),
            blocks,
            ..Section::default()
        }
    }

    /// Lists the claims that do not hold or cannot be told, each with its verdicts under other readings.
    pub(super) fn not_holding(&self) -> (Vec<String>, Vec<Vec<Cell>>) {
        let own = self.judged.iter().enumerate();
        let own = own.filter(|(_, judged)| judged.finding.verdict != Verdict::Holds);
        let rows = own.map(|(n, judged)| {
            let verdict = judged.finding.verdict;
            let mut row = vec![
                Cell::new(verdict.name(), emphasis(verdict)),
                judged.claim.statement.clone().into(),
            ];
            row.extend(self.of_readings(n).map(Cell::from));
            row
        });
        let mut header = vec!["verdict", "claim"];
        header.extend(self.readings.as_ref().map(|_| "under other readings"));
        let header = header.into_iter().map(str::to_owned);
        (header.collect(), rows.collect())
    }

    fn verdict_section(&self) -> Section {
        let rows = self.judged.iter().enumerate().map(|(n, judged)| {
            let (claim, finding) = (&judged.claim, &judged.finding);
            vec![
                Cell::new(finding.verdict.name(), emphasis(finding.verdict)),
                format!("{} (section {})", claim.statement, claim.section).into(),
                claim.paper.clone().into(),
                self.found(n).into(),
                claim.rule.clone().into(),
            ]
        });
        let mut blocks = vec![Block::Table {
            caption: format!("{}.", self.tally()),
            header: [
                "verdict",
                "claim",
                self.says(),
                "here",
                "judged by this rule",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.collect(),
        }];
        if let Some((header, rows)) = self.rewritten() {
            blocks.push(Block::Table {
                caption: REWRITTEN.to_owned(),
                header,
                rows,
            });
        }
        Section {
            heading: "Verdicts".to_owned(),
            blocks,
            ..Section::default()
        }
    }

    /// Lists the rules that were rewritten. Returns `None` if there are none.
    pub(super) fn rewritten(&self) -> Option<(Vec<String>, Vec<Vec<Cell>>)> {
        let rows: Vec<Vec<Cell>> = self
            .judged
            .iter()
            .flat_map(|judged| {
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
            })
            .collect();
        let header = ["claim", "date", "reason", "verdict before", "now"];
        (!rows.is_empty()).then(|| (header.map(str::to_owned).to_vec(), rows))
    }

    fn readings_section(&self) -> Option<Section> {
        let tables = self.reread_tables();
        (!tables.is_empty()).then(|| Section {
            heading: "Readings".to_owned(),
            blocks: tables
                .into_iter()
                .map(|shown| Block::Table {
                    caption: shown.caption,
                    header: shown.header,
                    rows: shown.rows,
                })
                .collect(),
            ..Section::default()
        })
    }

    fn systems_section(&self) -> Option<Section> {
        let (header, rows) = systems(&self.book.systems);
        (!rows.is_empty()).then(|| Section {
            heading: "Where the paper's systems are".to_owned(),
            blocks: vec![Block::Table {
                caption: "Stacks as `dupack compare --stacks` takes them, and experiments."
                    .to_owned(),
                header,
                rows,
            }],
            ..Section::default()
        })
    }

    fn choices_section(&self) -> Section {
        let rows = self.choices().filter_map(|item| {
            let (what, how) = item.trim_start_matches('*').split_once("**")?;
            let how = how.trim_start_matches(['.', ':', ' ']);
            let plain = |text: &str| Cell::from(text.replace(['`', '*'], ""));
            Some(vec![plain(what.trim_end_matches(['.', ':'])), plain(how)])
        });
        Section {
            heading: self.chosen().to_owned(),
            blocks: vec![Block::Table {
                caption: format!("From experiments/papers/{}/README.md.", self.key),
                header: vec!["what".to_owned(), "how it was settled".to_owned()],
                rows: rows.collect(),
            }],
            ..Section::default()
        }
    }

    fn record_section(&self) -> Section {
        let (header, rows) = self.record();
        let mut blocks = vec![Block::Table {
            caption: match self.extent {
                Extent::Full => "The experiments, in full.".to_owned(),
                Extent::Quick => "The experiments, in their quick form.".to_owned(),
            },
            header,
            rows,
        }];
        blocks.push(Block::text(self.cpu_times()));
        for part in &self.evidence.parts {
            blocks.push(Block::Listing {
                caption: format!("{}.toml, as `dupack run` takes it:", part.name),
                text: part.results.experiment.text(),
            });
            let warnings = part.results.warnings.iter();
            blocks.extend(warnings.map(|text| Block::Warning { text: text.clone() }));
        }
        Section {
            heading: "What was run".to_owned(),
            blocks,
            ..Section::default()
        }
    }

    /// Lists the experiments that were run, as a table.
    pub(super) fn record(&self) -> (Vec<String>, Vec<Vec<Cell>>) {
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
        (header.map(str::to_owned).to_vec(), rows.collect())
    }

    /// Formats the CPU time of each experiment on one line, because it differs between runs.
    fn cpu_times(&self) -> String {
        let times = self
            .accounts
            .iter()
            .map(|account| format!("{} {:.1} s", account.experiment, account.cpu.as_secs_f64()));
        let times: Vec<String> = times.collect();
        format!("CPU time: {}.", times.join(", "))
    }
}
