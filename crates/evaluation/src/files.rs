//! The files of report cards.

use std::path::Path;
use std::sync::Arc;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::folder::Folder;
use dupack_lab::results::Answered;
use dupack_report::comparison::{self, Beside};
use dupack_report::files::{DeliveryError, Files};
use dupack_report::markdown as md;
use dupack_report::page::{Block, Page, html};

use crate::campaign::{Campaign, Evaluated};
use crate::card::Card;
use crate::card_page::page;
use crate::error::EvaluationError;
use crate::prepare::place;
use crate::suite::Suite;

/// Name of the HTML page of the cards.
pub(crate) const PAGE: &str = "card.html";
/// Name of the Markdown page of the cards.
pub(crate) const MARKDOWN: &str = "card.md";
/// Name of the data file of the cards, which `--baseline` reads.
pub(crate) const JSON: &str = "card.json";

/// Writes the experiments of `campaign` to `folder`, before anything runs.
///
/// # Errors
/// If a file cannot be written.
pub fn write_experiments(
    campaign: &Campaign<'_>,
    folder: &dyn Folder,
) -> Result<(), EvaluationError> {
    for (name, text) in campaign.experiments() {
        folder.write(&slashed(&name), text.as_bytes())?;
    }
    Ok(())
}

/// Writes the cards to `folder`: an HTML page, Markdown, JSON and, for every scenario, the complete report of its runs.
///
/// # Errors
/// If a figure cannot be drawn, or a file cannot be written.
pub fn write(
    evaluated: &[Evaluated],
    (suite, catalog): (&Suite, &Catalog),
    folder: &dyn Folder,
) -> Result<(), EvaluationError> {
    let page = page(evaluated, suite).map_err(DeliveryError::from)?;
    folder.write(PAGE, html(&page).as_bytes())?;
    folder.write(MARKDOWN, markdown(&page).as_bytes())?;
    let cards: Vec<&Card> = evaluated.iter().map(|of| &of.card).collect();
    folder.write(JSON, json(&cards).as_bytes())?;
    for of in evaluated {
        for part in of.parts.iter().filter(|part| !part.results.runs.is_empty()) {
            let beside = Beside {
                judged: part.judged.clone(),
                ..Beside::default()
            };
            let answered = Arc::new(Answered::of(&part.results));
            let report =
                comparison::files(&answered, catalog, beside).map_err(DeliveryError::from)?;
            let mut files = Files::new();
            let place = place(of.folder.as_deref(), &part.name);
            files.add_folder(&slashed(&place), report);
            files.write(folder)?;
            if part.has_more_seeds {
                let own = place.join(part.file());
                folder.write(&slashed(&own), part.source.text.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// Formats the cards as JSON: one card, or a list of several cards.
#[must_use]
pub fn json(cards: &[&Card]) -> String {
    let text = match cards {
        [only] => serde_json::to_string_pretty(only),
        several => serde_json::to_string_pretty(several),
    };
    format!("{}\n", text.unwrap_or_default())
}

/// Formats the page as Markdown: its texts and tables, without the figures.
#[must_use]
pub fn markdown(page: &Page) -> String {
    let mut out = format!(
        "# {}\n\n{}\n",
        md::escape(&page.title),
        md::escape(&page.lead)
    );
    for section in &page.sections {
        let depth = match section.depth {
            dupack_report::page::Depth::Section => "##",
            dupack_report::page::Depth::Subsection | dupack_report::page::Depth::Detail => "###",
        };
        out += &format!("\n{depth} {}\n", md::escape(&section.heading));
        for block in &section.blocks {
            match block {
                Block::Text { text } | Block::Warning { text } => {
                    out += &format!("\n{}\n", md::escape(text));
                }
                Block::Table { header, rows, .. } => {
                    out += &format!("\n{}", md::table(header, rows))
                }
                Block::Listing { caption, text } => {
                    out += &format!(
                        "\n{}\n\n```text\n{}\n```\n",
                        md::escape(caption),
                        text.trim_end()
                    );
                }
                _ => {}
            }
        }
    }
    out
}

/// Formats a path with forward slashes, for pages and file names in folders.
pub(crate) fn slashed(path: &Path) -> String {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}
