//! The claims of a paper, as data.

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
    /// A few sentences about the paper and the experiments that are rerun.
    pub lead: String,
    /// The conclusion: two paragraphs with expressions in braces, as in `found` of a claim.
    #[serde(default)]
    pub conclusion: Vec<String>,
    /// Systems that the paper describes, with their implementations here.
    #[serde(default, rename = "system")]
    pub systems: Vec<System>,
    /// Experiments of the paper, in the order in which they are run.
    #[serde(default, rename = "experiment")]
    pub experiments: Vec<Declared>,
    /// Names of the stacks in the rules.
    #[serde(default)]
    pub names: BTreeMap<String, Named>,
    /// Additional stacks for these names, in experiments that a reading has changed.
    #[serde(skip)]
    pub instead: BTreeMap<String, Vec<String>>,
    /// Named expressions for the rules.
    #[serde(default)]
    pub define: BTreeMap<String, String>,
    /// Files of numbers that the paper prints.
    #[serde(default)]
    pub printed: Vec<PrintedFile>,
    /// Claims of the paper, in the order in which they are shown.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

impl Book {
    /// Returns the vocabulary of the rules.
    pub(super) fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            instead: self.instead.clone(),
            names: self.names.clone(),
            define: self.define.clone(),
        }
    }
}

/// A system that the paper describes, and its implementation here: a stack, an experiment, or both.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Name of the system in the paper.
    pub name: String,
    /// Section of the paper that describes the system.
    pub section: String,
    /// Stack, as `dupack compare --stacks` takes it.
    #[serde(default)]
    pub stack: Option<String>,
    /// Experiment of this paper that contains the system: the name of its file without the extension.
    #[serde(default)]
    pub experiment: Option<String>,
    /// Further notes for the reader, such as the role of a dialect.
    #[serde(default)]
    pub note: String,
}

impl System {
    /// Describes in words where the system is implemented here.
    #[must_use]
    pub fn place(&self) -> String {
        let stack = self.stack.iter().cloned();
        let experiment = self.experiment.iter().map(|e| format!("{e}.toml"));
        let parts: Vec<String> = stack.chain(experiment).collect();
        parts.join(" in ")
    }
}
