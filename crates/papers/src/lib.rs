//! Published results as runnable experiments: each paper's figures and tables redrawn beside its
//! own numbers, and a verdict on every claim.
//!
//! A paper is a folder `experiments/papers/<key>/` (experiment files, the paper's numbers, the
//! claims and how they are judged, and what was chosen where the text says nothing) and a file
//! here that draws and judges. The last, `today`, is nobody's paper: it asks the systems of the
//! five papers what their authors did not, and its claims are ours. [`find`] names it, [`Paper::plan`] makes a [`Campaign`] of it, and
//! [`Campaign::execute`] a [`Reproduction`].

pub mod agreement;
mod campaign;
mod changes;
mod claims;
mod data;
mod evidence;
mod exhibits;
mod files;
mod folder;
mod inventory;
mod judge;
mod le;
mod listing;
mod markdown;
mod momentary;
mod newreno_smooth;
mod page;
mod readings;
mod reproduction;
mod responding;
mod settle;
mod today;
mod westwood;

use miette::Diagnostic;
use serde::Deserialize;
use thiserror::Error;

use dupack_claims::Facts;

pub use campaign::{Campaign, Conduct, carry_out};
pub use changes::Changes;
pub use claims::{Book, Claim, Finding, Judged, System, Verdict};
pub use data::{Declared, PrintedFile};
pub use dupack_engine::JournalError;
pub use dupack_engine::store::FolderError;
pub use dupack_engine::{Amount, Watch};
pub use evidence::{At, Evidence, Followed, Part, Traced};
pub use files::files;
pub use folder::CampaignFolder;
pub use inventory::{Inventory, Item, Kind, inventory};
pub use listing::{describe, list};
pub use markdown::markdown;
pub use page::page;
pub use readings::{
    Alternative, Change, Fit, Pair, Reading, Readings, Reread, Scale, Seen, Turn, Way, WayOutcome,
    reread,
};
pub use reproduction::{Account, Exhibit, Reproduction, Table};
pub use settle::settle;

/// The five papers that are here, and what they did not ask.
pub static PAPERS: [&Paper; 6] = [
    &le::PAPER,
    &momentary::PAPER,
    &newreno_smooth::PAPER,
    &responding::PAPER,
    &westwood::PAPER,
    &today::PAPER,
];

/// A paper: what it claims, how it is rerun, and what is drawn of it.
#[derive(Debug)]
pub struct Paper {
    /// The name of its folder, and on the command line.
    pub key: &'static str,
    claims: &'static str,
    readme: &'static str,
    /// The other files of its folder by their names, and those that it shares.
    files: &'static [(&'static str, &'static str)],
    /// What is known of runs beyond their measures: by experiment, without runs if there are none
    /// yet.
    facts: evidence::ReadFacts,
    /// The exhibits that are not data.
    drawn: fn(&Evidence) -> Drawn,
}

/// What is kept of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observe {
    /// Its measures.
    #[default]
    Measures,
    /// Its measures, and for the first seed its first flow over time.
    Series,
    /// Every packet of its first flow.
    Packets,
    /// What the paper's Rust file reads off these packets; the packets are not kept.
    Facts,
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What the verdicts are meant to rest on.
    Full,
    /// Fewer seeds and shorter runs: a look, not a verdict.
    Quick,
}

/// What a paper's own file draws of the evidence, by the names by which `exhibits.toml` asks for it.
type Drawn = Vec<(&'static str, Vec<Exhibit>)>;

/// Of a paper whose exhibits are all data.
fn nothing_drawn(_: &Evidence) -> Drawn {
    Drawn::new()
}

/// Of a paper that asks for nothing but measures.
fn no_facts(_: &str, _: Option<&Part>) -> Facts {
    Facts::default()
}

/// There is no such paper.
#[derive(Debug, Error, Diagnostic)]
#[error("there is no paper `{key}`")]
#[diagnostic(help("{help}"))]
pub struct UnknownPaper {
    key: String,
    help: String,
}

/// A campaign that cannot be gone on with.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum PapersError {
    /// It names a paper that is not here.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Unknown(#[from] UnknownPaper),
    /// Its folder is of no use.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Folder(#[from] FolderError),
}

/// The paper called `key`.
///
/// # Errors
/// If there is none: the error names those that are here.
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
    /// Its claims.
    ///
    /// # Panics
    /// If the built-in file is broken, which the tests would show.
    #[must_use]
    pub fn book(&self) -> Book {
        toml::from_str(self.claims).expect("the built-in claims are valid")
    }

    /// What the text leaves open and what was chosen, as Markdown.
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

    /// What an explanation may cite: an experiment of the folder, or an alternative of its readings.
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
