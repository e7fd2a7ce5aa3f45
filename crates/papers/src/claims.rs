//! What a paper claims, as data, and what is made of it.

use std::collections::BTreeMap;

pub use dupack_claims::{Finding, Judged, Verdict};
pub use dupack_lab::experiment::Claim;
use dupack_lab::experiment::{Named, Vocabulary};
use serde::Deserialize;

use super::data::{Declared, PrintedFile};

/// A paper's `claims.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// The paper's title.
    pub title: String,
    /// Authors, place and year.
    pub citation: String,
    /// What it is about and what is rerun, in a few sentences.
    pub lead: String,
    /// The systems that it speaks of, and where they are here.
    #[serde(default, rename = "system")]
    pub systems: Vec<System>,
    /// Its experiments, in the order in which they are run.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<Declared>,
    /// What the rules call the stacks.
    #[serde(default)]
    pub names: BTreeMap<String, Named>,
    /// What else they are in experiments that a way to read the paper has changed.
    #[serde(skip)]
    pub instead: BTreeMap<String, Vec<String>>,
    /// Shorthands for the rules.
    #[serde(default)]
    pub define: BTreeMap<String, String>,
    /// The files of numbers that the paper prints.
    #[serde(default)]
    pub printed: Vec<PrintedFile>,
    /// Its claims, in the order in which they are shown.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

impl Book {
    /// What its rules may use.
    pub(super) fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            instead: self.instead.clone(),
            names: self.names.clone(),
            define: self.define.clone(),
        }
    }
}

/// A system that a paper speaks of, and where it is here: a stack, an experiment, or both.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name in the paper.
    pub name: String,
    /// Where the paper describes it.
    pub section: String,
    /// The stack that it is, as `dupack compare --stacks` takes it.
    #[serde(default)]
    pub stack: Option<String>,
    /// The experiment of this paper that it is, by its file's name without the ending.
    #[serde(default)]
    pub experiment: Option<String>,
    /// What else a reader should know, such as a dialect's part in it.
    #[serde(default)]
    pub note: String,
}

impl System {
    /// Where it is here, in words.
    #[must_use]
    pub fn place(&self) -> String {
        let stack = self.stack.iter().cloned();
        let experiment = self.experiment.iter().map(|e| format!("{e}.toml"));
        let parts: Vec<String> = stack.chain(experiment).collect();
        parts.join(" in ")
    }
}
