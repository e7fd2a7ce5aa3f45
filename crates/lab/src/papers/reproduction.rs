//! What came out of a paper, for reading: verdicts, figures and tables on a page and as text.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell as TextCell, Color, ContentArrangement};
use comfy_table::{LineStyle, Table as TextTable, TableStyle};

use super::claims::{Book, Judged, Verdict};
use super::{Evidence, Extent};
use crate::report::comparison::Figure;
use crate::report::{Block, Cell, Emphasis, Page, Section};
use crate::results::table::Colour;

/// A paper rerun and judged.
#[derive(Debug)]
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
}

/// Something to look at.
#[derive(Clone, Debug)]
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

/// A line below the header and nothing else.
const PLAIN: TableStyle = NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));

impl Verdict {
    const fn mark(self) -> &'static str {
        match self {
            Self::Holds => "✓",
            Self::DoesNotHold => "✗",
            Self::CannotBeTold => "?",
        }
    }

    const fn emphasis(self) -> Emphasis {
        match self {
            Self::Holds => Emphasis::Holds,
            Self::DoesNotHold => Emphasis::Fails,
            Self::CannotBeTold => Emphasis::Open,
        }
    }

    const fn colour(self) -> Color {
        match self {
            Self::Holds => Color::Green,
            Self::DoesNotHold => Color::Red,
            Self::CannotBeTold => Color::Yellow,
        }
    }
}

impl Table {
    /// As CSV.
    #[must_use]
    pub fn csv(&self) -> Vec<u8> {
        let mut out = csv::WriterBuilder::new()
            .flexible(true)
            .from_writer(Vec::new());
        let rows = self.rows.iter();
        let rows = rows.map(|row| row.iter().map(|cell| cell.text.clone()).collect());
        for row in std::iter::once(self.header.clone()).chain(rows) {
            let row: Vec<String> = row;
            out.write_record(&row).expect("memory does not fail");
        }
        out.into_inner().unwrap_or_default()
    }

    /// For the terminal.
    #[must_use]
    pub fn text(&self, width: Option<u16>) -> String {
        let mut table = empty(width);
        table.set_header(&self.header);
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| cell.text.as_str()));
        }
        format!("{}\n\n{table}", self.caption)
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
        let missing = self.evidence.missing();
        if missing > 0 {
            out.push(format!(
                "It was interrupted: {missing} of {} runs are missing, and everything here rests on the others.",
                self.evidence.planned()
            ));
        }
        out
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
        let mut table = empty(width);
        table.set_header(vec!["", "claim", "the paper", "here"]);
        for judged in &self.judged {
            let verdict = judged.finding.verdict;
            let mark = TextCell::new(format!("{} {}", verdict.mark(), verdict.name()));
            let mark = match colour {
                Colour::Yes => mark.fg(verdict.colour()).add_attribute(Attribute::Bold),
                Colour::No => mark,
            };
            let mut found = judged.finding.found.clone();
            if let Some(why) = judged.explanation() {
                found = format!("{found}\nWhy: {why}");
            }
            table.add_row(vec![
                mark,
                TextCell::new(&judged.claim.statement),
                TextCell::new(&judged.claim.paper),
                TextCell::new(found),
            ]);
        }
        table.to_string()
    }

    /// The verdicts as CSV.
    #[must_use]
    pub fn verdicts_csv(&self) -> Vec<u8> {
        let plain = |text: &str| Cell::new(text, Emphasis::Plain);
        let header = [
            "id",
            "section",
            "statement",
            "paper",
            "rule",
            "verdict",
            "found",
        ];
        let rows = self.judged.iter().map(|judged| {
            let (claim, finding) = (&judged.claim, &judged.finding);
            vec![
                plain(&claim.id),
                plain(&claim.section),
                plain(&claim.statement),
                plain(&claim.paper),
                plain(&claim.rule),
                plain(finding.verdict.name()),
                plain(&finding.found),
            ]
        });
        let table = Table {
            name: String::new(),
            caption: String::new(),
            header: header.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        };
        table.csv()
    }

    /// The sections of its page.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.verdict_section()];
        for exhibit in &self.exhibits {
            let block = match exhibit {
                Exhibit::Heading(heading) => {
                    sections.push(Section {
                        heading: heading.clone(),
                        blocks: Vec::new(),
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
        sections.push(self.choices());
        sections.push(self.record());
        sections
    }

    /// The page.
    #[must_use]
    pub fn page(&self) -> Page {
        Page {
            title: self.book.title.clone(),
            lead: format!("{}. {}", self.book.citation, self.book.lead.trim()),
            sections: self.sections(),
        }
    }

    fn verdict_section(&self) -> Section {
        let mut blocks: Vec<Block> = self
            .warnings()
            .into_iter()
            .map(|text| Block::Warning { text })
            .collect();
        let rows = self.judged.iter().map(|judged| {
            let (claim, finding) = (&judged.claim, &judged.finding);
            let found = match judged.explanation() {
                Some(why) => format!("{}\nWhy: {why}", finding.found),
                None => finding.found.clone(),
            };
            vec![
                Cell::new(finding.verdict.name(), finding.verdict.emphasis()),
                format!("{} (section {})", claim.statement, claim.section).into(),
                claim.paper.clone().into(),
                found.into(),
                claim.rule.clone().into(),
            ]
        });
        blocks.push(Block::Table {
            caption: format!("{}.", self.tally()),
            header: [
                "verdict",
                "claim",
                "the paper",
                "here",
                "judged by this rule",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.collect(),
        });
        Section {
            heading: "Verdicts".to_owned(),
            blocks,
        }
    }

    /// The readme's list of choices, item by item.
    fn choices(&self) -> Section {
        let items = self.readme.split("\n- **").skip(1);
        let rows = items.filter_map(|item| {
            let (what, text) = item.split_once("**")?;
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = text
                .trim_start_matches(['.', ':', ' '])
                .replace(['`', '*'], "");
            let mut what = what.trim_end_matches(['.', ':']).to_owned();
            what = what.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(vec![Cell::new(what, Emphasis::Plain), text.into()])
        });
        Section {
            heading: "What the text leaves open, and what we chose".to_owned(),
            blocks: vec![Block::Table {
                caption: format!("From experiments/papers/{}/README.md.", self.key),
                header: vec!["what".to_owned(), "how it was settled".to_owned()],
                rows: rows.collect(),
            }],
        }
    }

    fn record(&self) -> Section {
        let mut blocks = Vec::new();
        for part in &self.evidence.parts {
            blocks.push(Block::Listing {
                caption: format!("{}.toml, as `dupack run` takes it:", part.name),
                text: toml::to_string_pretty(&part.results.experiment).unwrap_or_default(),
            });
            let warnings = part.results.warnings.iter();
            blocks.extend(warnings.map(|text| Block::Warning { text: text.clone() }));
        }
        Section {
            heading: "What was run".to_owned(),
            blocks,
        }
    }
}

fn empty(width: Option<u16>) -> TextTable {
    let mut table = TextTable::new();
    table
        .load_style(PLAIN)
        .set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width {
        table.set_width(width);
    }
    table
}
