//! One HTML page for all papers: the first screen, and the contents of each paper.

use super::contents::{Part, Piece, account};
use super::reproduction::Reproduction;
use super::settle;
use super::summary::Summaries;
use dupack_report::page::{Block, Cell, Depth, Page, Section};

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
        title: "The papers, rerun and judged".to_owned(),
        lead: "Does it work, by how much, where not, and what would we use today? Every claim is judged by a rule that \
               was written down before its runs and that stands beside the verdict."
            .to_owned(),
        sections,
    }
}

fn summary(reproductions: &[Reproduction]) -> Section {
    let mut warnings: Vec<String> = Vec::new();
    for warning in reproductions.iter().flat_map(Reproduction::warnings) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let warnings = warnings.into_iter().map(|text| Block::Warning { text });
    let mut blocks: Vec<Block> = warnings.collect();
    let summaries = Summaries::of(reproductions);
    let (header, rows) = summaries.rows();
    let rows = rows.into_iter();
    blocks.push(Block::Table {
        caption: "Claims that hold, by their standing.".to_owned(),
        header: header.into_iter().map(str::to_owned).collect(),
        rows: rows
            .map(|row| row.into_iter().map(Cell::from).collect())
            .collect(),
    });
    blocks.extend(summaries.notes().into_iter().map(Block::text));
    blocks.extend(settle::said(reproductions).map(Block::text));
    Section {
        heading: "Summary".to_owned(),
        blocks,
        ..Section::default()
    }
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
        let mut sections: Vec<Section> = self.contents().into_iter().map(section).collect();
        if let Some(runs) = sections.last_mut() {
            runs.blocks.push(Block::text(self.cpu_times()));
            for part in &self.evidence.parts {
                runs.blocks.push(Block::Listing {
                    caption: format!("{}.toml, as `dupack run` takes it:", part.name),
                    text: part.results.experiment.text(),
                });
                let warnings = part.results.warnings.iter();
                let warnings = warnings.map(|text| Block::Warning { text: text.clone() });
                runs.blocks.extend(warnings);
            }
        }
        sections
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

fn section(part: Part<'_>) -> Section {
    let plain = |text: &str| text.replace(['`', '*'], "");
    let blocks = part.pieces.into_iter().map(|piece| match piece {
        Piece::Text(text) => Block::text(text),
        Piece::Warning(text) => Block::Warning { text },
        Piece::Item(beginning, rest) => {
            Block::text(format!("{} {}", plain(&beginning), plain(&rest)))
        }
        Piece::Figure(figure) => Block::Figure {
            svg: figure.svg.clone(),
            caption: figure.caption.clone(),
        },
        Piece::Table {
            caption,
            header,
            rows,
        } => Block::Table {
            caption,
            header,
            rows,
        },
    });
    Section {
        heading: part.heading,
        blocks: blocks.collect(),
        ..Section::default()
    }
}
