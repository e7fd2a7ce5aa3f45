//! Claims in an experiment file: a statement, the rule that judges it, and the stacks to which it refers.
//!
//! In this crate a rule is text. `dupack-claims` parses, checks and evaluates rules.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Claim that a run can confirm or refute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name of the claim, unique within the file.
    pub id: String,
    /// Section of the source that makes the claim.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// The claim, as one sentence.
    pub statement: String,
    /// Number or order that the paper reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub paper: String,
    /// Rule that judges the claim, as a sentence for readers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The rule as an expression: the claim holds if the expression is true. See docs/claims.md.
    pub holds_if: String,
    /// Default experiment of the expressions, for papers that have several experiments. An experiment file has only
    /// one, so its schema does not offer this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub experiment: Option<String>,
    /// Text shown next to the verdict, with expressions in braces. Defaults to the quantities that the rule compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Explanation of why the claim does not hold, if one is known. Shown only if the claim does not hold.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
    /// For papers: `true` if the claim was not used to choose a reading of the paper.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub held_out: bool,
    /// For papers: `true` if the statement is a hypothesis of ours and not a statement of the paper.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub ours: bool,
    /// For papers: the setting that was chosen so that the claim holds. Such a claim is an input and no evidence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(skip)]
    pub fitted: String,
    /// For papers: changes of the rule after its first verdict, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub rewritten: Vec<Rewriting>,
}

/// Change of a rule after its first verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewriting {
    /// Date, such as `2026-11-29`.
    pub on: String,
    /// Reason for the change.
    pub why: String,
    /// Verdict by the rule before the change: the name of a verdict, or `not judged` for a new rule.
    pub before: String,
}

/// Stack, or stacks, behind a name in an experiment file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a stack, a list of stacks, or a table with `stack` and `label`"
)]
pub enum Named {
    /// A stack, written as in `stacks`.
    One(String),
    /// One stack from each of several experiments.
    Several(Vec<String>),
    /// A stack or several stacks, with a label for readers.
    Labelled(LabelledStack),
}

/// A stack with a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelledStack {
    /// The stack, or one stack from each of several experiments.
    pub stack: OneOrMore,
    /// Label for readers.
    pub label: String,
}

/// One text, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a stack, or a list of stacks")]
pub enum OneOrMore {
    /// One text.
    One(String),
    /// Several texts.
    More(Vec<String>),
}

/// Names that the expressions of a file may use, in addition to functions and measures.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Stacks by their names in the file.
    pub names: BTreeMap<String, Named>,
    /// Replacement stacks for experiments that contain none of a name's own stacks, because a reading of the paper
    /// changed the experiment.
    pub instead: BTreeMap<String, Vec<String>>,
    /// Expressions by name. A name may have inputs, as in `gain(s)`.
    pub define: BTreeMap<String, String>,
}
