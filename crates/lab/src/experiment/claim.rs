//! Claims, as an experiment file has them: what is said, by which rule, of which stacks.
//!
//! To this crate a rule is text. `dupack-claims` reads it, checks it and judges by it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that somebody says and a run can confirm or refute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name, unique within the file.
    pub id: String,
    /// Where it is said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// What is said, in a sentence.
    pub statement: String,
    /// The number or the order that a paper gives.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub paper: String,
    /// How it is judged, as a sentence for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The same as an expression: the claim holds if it is true. See docs/claims.md.
    pub holds_if: String,
    /// The experiment that the expressions are about where they name none: of a paper, which has
    /// several. An experiment file has only one, so that its schema does not offer this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub experiment: Option<String>,
    /// What is shown beside the verdict: text with expressions in braces. Left out, the
    /// quantities that the rule compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Why it does not hold, as far as somebody knows: shown only if it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
    /// Of a paper: it was not looked at when a reading of the paper was chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub held_out: bool,
    /// Of a paper: when and why its rule was rewritten, and what the verdict was before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(skip)]
    pub rewritten: String,
}

/// What a file calls its stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a stack, several, or a table with `stack` and `label`"
)]
pub enum Named {
    /// A stack, as `stacks` has it.
    One(String),
    /// Stacks of several experiments, of which each has one.
    Several(Vec<String>),
    /// Either, with a label for people.
    Labelled(LabelledStack),
}

/// A stack with a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelledStack {
    /// The stack, or the stacks of several experiments, of which each has one.
    pub stack: OneOrMore,
    /// What people read.
    pub label: String,
}

/// One text or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a stack, or a list of stacks")]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

/// What expressions of a file may use beside functions and measures.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Stacks by what the file calls them.
    pub names: BTreeMap<String, Named>,
    /// Stacks that a name is of in experiments that have none of its own: an experiment may have been
    /// changed under a reading of its paper.
    pub instead: BTreeMap<String, Vec<String>>,
    /// Expressions by their names, which may have inputs: `gain(s)`.
    pub define: BTreeMap<String, String>,
}
