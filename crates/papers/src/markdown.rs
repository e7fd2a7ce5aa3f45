//! The pages for the repository, as Markdown: the first screen, `docs/reproduction/README.md`, and a page per paper.
//!
//! The pages contain no CPU times, so two runs of the same version write the same pages.

use std::fmt::Write as _;

use super::Extent;
use super::contents::{Part, Piece, account};
use super::reproduction::Reproduction;
use super::summary::Summaries;
use dupack_report::markdown::{escape, table};

/// Returns the pages of `reproductions`, each with its file name. Figures are linked as `../<paper>/figures/<name>.svg`,
/// relative to a folder of the pages beside the folders of the papers.
#[must_use]
pub fn pages(reproductions: &[Reproduction]) -> Vec<(String, String)> {
    let first = (
        "README.md".to_owned(),
        Summaries::of(reproductions).markdown(),
    );
    let papers = reproductions.iter();
    let papers = papers.map(|paper| (format!("{}.md", paper.key), paper.markdown()));
    std::iter::once(first).chain(papers).collect()
}

impl Reproduction {
    /// Returns the page of this paper as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let quick = match self.extent {
            Extent::Quick => " --quick",
            Extent::Full => "",
        };
        let readings = if self.readings.is_some() {
            " --readings"
        } else {
            ""
        };
        let mut out = format!(
            "# {}\n\n{}\n\nMade by `dupack papers {}{quick}{readings}`, version {}. Means are over the seeds, with ± half the \
             95 % confidence interval; ratios are paired by seed. [All papers](README.md)\n",
            escape(&self.book.title),
            escape(&account(self)),
            self.key,
            env!("CARGO_PKG_VERSION"),
        );
        for part in self.contents() {
            self.write(&part, &mut out);
        }
        out
    }

    fn write(&self, part: &Part<'_>, out: &mut String) {
        if !part.heading.is_empty() {
            write!(out, "\n## {}\n", escape(&part.heading)).expect("memory does not fail");
        }
        let mut in_list = false;
        for piece in &part.pieces {
            let item = matches!(piece, Piece::Item(..));
            if !(item && in_list) {
                out.push('\n');
            }
            in_list = item;
            match piece {
                Piece::Text(text) => writeln!(out, "{}", escape(text)),
                Piece::Warning(text) => writeln!(out, "> **{}**", escape(text)),
                Piece::Item(beginning, rest) => {
                    writeln!(out, "- **{beginning}** {}", rest.replace('\n', " "))
                }
                Piece::Figure(figure) => writeln!(
                    out,
                    "![{caption}](../{}/figures/{}.svg)\n\n{caption}",
                    self.key,
                    figure.name,
                    caption = escape(&figure.caption).trim_end()
                ),
                Piece::Table {
                    caption,
                    header,
                    rows,
                } => {
                    let caption = match caption.is_empty() {
                        true => String::new(),
                        false => format!("{}\n\n", escape(caption)),
                    };
                    write!(out, "{caption}{}", table(header, rows))
                }
            }
            .expect("memory does not fail");
        }
    }
}
