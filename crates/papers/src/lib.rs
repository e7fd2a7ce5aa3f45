//! Published results as runnable experiments. Each paper's figures and tables are shown next to the paper's own
//! numbers, with a verdict on every claim.
//!
//! A paper consists of a folder and a file. The folder `experiments/papers/<key>/` contains experiment files, the
//! paper's numbers, the claims and the rules that judge them, and the choices where the text is silent. The file in
//! this crate draws and judges. The last chapter, `today`, is not a paper: it asks questions that the papers did not
//! ask, about the same systems, and its claims are ours. [`find`] looks a paper up, [`Paper::plan`] turns it into a
//! [`Campaign`], and [`Campaign::execute`] returns a [`Reproduction`].

pub mod agreement;
mod campaign;
mod changes;
mod claims;
mod contents;
mod data;
mod evidence;
mod exhibits;
mod files;
mod folder;
mod inventory;
mod judge;
mod le;
mod listing;
mod look;
mod markdown;
mod momentary;
mod newreno_smooth;
mod paper_page;
mod prr;
mod readings;
mod reproduction;
mod responding;
mod settle;
mod summary;
mod today;
mod westwood;

use miette::Diagnostic;
use serde::Deserialize;
use thiserror::Error;

use dupack_claims::Facts;

pub use campaign::{Campaign, Conduct, Journals, carry_out};
pub use changes::Changes;
pub use claims::{Book, Claim, Finding, Judged, System, Verdict};
pub use data::{Declared, PrintedFile};
pub use dupack_engine::JournalError;
pub use dupack_engine::store::FolderError;
pub use dupack_engine::{Amount, Watch};
pub use evidence::{At, Evidence, ExperimentResults, Followed, Traced};
pub use files::files;
pub use folder::CampaignFolder;
pub use inventory::{Inventory, Item, Kind, inventory};
pub use listing::{describe, list};
pub use look::{Look, LookError, Looked, look};
pub use markdown::pages;
pub use paper_page::page;
pub use readings::{
    Alternative, Change, Count, Fit, Pair, Reading, Readings, Reread, Scale, Seen, Turn, Way,
    WayOutcome, reread,
};
pub use reproduction::{Account, Exhibit, Reproduction, Table};
pub use settle::settle;
pub use summary::{Standing, Summaries, Summary, Tally};

/// The papers, and the chapter with questions that the papers did not ask.
pub static PAPERS: [&Paper; 7] = [
    &le::PAPER,
    &momentary::PAPER,
    &newreno_smooth::PAPER,
    &prr::PAPER,
    &responding::PAPER,
    &westwood::PAPER,
    &today::PAPER,
];

/// A paper: its claims, its experiments, and its exhibits.
#[derive(Debug)]
pub struct Paper {
    /// Name of the paper's folder, and its name on the command line.
    pub key: &'static str,
    claims: &'static str,
    readme: &'static str,
    /// Other files of the paper's folder by name, and shared files.
    files: &'static [(&'static str, &'static str)],
    /// Reads facts of an experiment's runs in addition to their measures. Without runs, returns the names of the facts.
    facts: evidence::ReadFacts,
    /// Draws the exhibits that are not data.
    drawn: fn(&Evidence) -> Drawn,
}

/// Data to keep from each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observe {
    /// The measures.
    #[default]
    Measures,
    /// The measures and, for the first seed, the first flow over time.
    Series,
    /// Every packet of the first flow.
    Packets,
    /// The facts that the paper's Rust file reads from the packets. The packets are not kept.
    Facts,
}

/// Scale of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The scale that is intended for verdicts.
    Full,
    /// Fewer seeds and shorter runs, for a quick look but not for a verdict.
    Quick,
}

/// Exhibits that a paper's own code draws from the results, by their names in `exhibits.toml`.
type Drawn = Vec<(&'static str, Vec<Exhibit>)>;

/// Draws nothing, for a paper whose exhibits are all data.
fn nothing_drawn(_: &Evidence) -> Drawn {
    Drawn::new()
}

/// Reads nothing, for a paper that needs only measures.
fn no_facts(_: &str, _: Option<&ExperimentResults>) -> Facts {
    Facts::default()
}

/// Error: there is no such paper.
#[derive(Debug, Error, Diagnostic)]
#[error("there is no paper `{key}`")]
#[diagnostic(help("{help}"))]
pub struct UnknownPaper {
    key: String,
    help: String,
}

/// Error: a campaign cannot be resumed.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum PapersError {
    /// The folder names an unknown paper.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unknown(#[from] UnknownPaper),
    /// The folder cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
}

/// Returns the paper called `key`.
///
/// # Errors
/// If there is no such paper. The error names the papers that exist.
pub fn find(key: &str) -> Result<&'static Paper, UnknownPaper> {
    PAPERS
        .into_iter()
        .find(|paper| paper.key == key)
        .ok_or_else(|| {
            let near = PAPERS
                .iter()
                .map(|paper| (strsim::damerau_levenshtein(key, paper.key), paper.key))
                .filter(|(distance, known)| *distance <= 1 + known.len() / 3)
                .min();
            UnknownPaper {
                key: key.to_owned(),
                help: match near {
                    Some((_, known)) => format!("did you mean `{known}`?"),
                    None => {
                        let known = PAPERS.map(|paper| paper.key);
                        format!("the papers here are {}", known.join(", "))
                    }
                },
            }
        })
}

impl Paper {
    /// Returns the claims of the paper.
    ///
    /// # Panics
    /// If the built-in file is invalid; the tests would catch that.
    #[must_use]
    pub fn book(&self) -> Book {
        toml::from_str(self.claims).expect("the built-in claims are valid")
    }

    /// Returns the questions that the text leaves open and our choices, as Markdown.
    #[must_use]
    pub fn readme(&self) -> &'static str {
        self.readme
    }
}

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_paper_is_answered_with_what_there_is() {
        assert!(find("momentum").is_err_and(|e| e.help.contains("`momentary`")));
        let error = find("tahoe-reno-vegas").unwrap_err();
        assert!(error.help.contains("momentary") && error.help.contains("newreno-smooth"));
    }

    #[test]
    fn every_claim_has_a_name_of_its_own_and_a_rule() {
        for paper in PAPERS {
            let claims = paper.book().claims;
            let mut ids: Vec<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), claims.len(), "{}", paper.key);
            assert!(claims.iter().all(|claim| claim.rule.len() > 20));
        }
    }

    #[test]
    fn every_rewriting_has_a_date_a_reason_and_a_verdict_before() {
        let verdicts = [Verdict::Holds, Verdict::DoesNotHold, Verdict::CannotBeTold];
        for paper in PAPERS {
            for claim in paper.book().claims {
                let of = format!("{}: {}", paper.key, claim.id);
                for change in &claim.rewritten {
                    let known = verdicts
                        .iter()
                        .any(|verdict| verdict.name() == change.before);
                    assert!(
                        known || change.before == "not judged",
                        "{of}: {}",
                        change.before
                    );
                    assert!(change.on.len() == 10 && !change.why.is_empty(), "{of}");
                }
            }
        }
    }

    #[test]
    fn every_conclusion_has_two_paragraphs() {
        for paper in PAPERS {
            assert_eq!(paper.book().conclusion.len(), 2, "{}", paper.key);
        }
    }

    /// An explanation may cite an experiment of the folder or an alternative of its readings.
    #[test]
    fn every_explanation_cites_a_run_or_says_that_there_is_none() {
        for paper in PAPERS {
            let (book, readings) = (paper.book(), paper.readings());
            let files = book.experiments.iter().map(|e| format!("{}.toml", e.name));
            let known: Vec<String> = files.chain(readings.names()).collect();
            for claim in &book.claims {
                let why = &claim.explanation;
                let cited = known.iter().any(|name| why.contains(name.as_str()));
                assert!(
                    why.is_empty() || cited || why.contains("not explained"),
                    "{}: {}: {why}",
                    paper.key,
                    claim.id
                );
            }
        }
    }

    #[test]
    fn every_system_is_where_its_paper_says() {
        use dupack_algorithms::catalog::{Catalog, StackSpec};
        for paper in PAPERS {
            for system in paper.book().systems {
                let of = format!("{}: {}", paper.key, system.name);
                assert!(
                    system.stack.is_some() || system.experiment.is_some(),
                    "{of}"
                );
                if let Some(stack) = &system.stack {
                    assert!(
                        StackSpec::parse(stack, &Catalog::builtin()).is_ok(),
                        "{of}: {stack}"
                    );
                }
                if let Some(name) = &system.experiment {
                    assert!(
                        paper
                            .prepare(Extent::Full)
                            .unwrap()
                            .iter()
                            .any(|e| e.name == name),
                        "{of}: {name}"
                    );
                }
            }
        }
    }
}
