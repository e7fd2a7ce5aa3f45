//! Claims as data: a rule is an expression over stacks, points and measures, judged by one engine.
//!
//! `docs/claims.md` describes the language. A file gives names to stacks and shorthands to
//! expressions ([`Vocabulary`]) and lists [`Claim`]s; a [`World`] holds the experiments that they
//! may ask about. [`Rules::check`] finds what is wrong before anything runs, and [`Rules::judge`]
//! says what has become of each claim.

mod choose;
mod eval;
mod fit;
mod functions;
mod lex;
mod operate;
mod parse;
mod reference;
mod syntax;
mod text;
mod value;
mod world;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use dupack_algorithms::catalog::Catalog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::load::{ExperimentError, Source};
use crate::results::Results;
use eval::Evaluator;
pub use reference::{FUNCTIONS, Function};
use syntax::{Expression, Fault};
pub use value::{List, ListKind, Place, Samples, Stack, Value};
pub use world::{Fact, FactKind, FactValue, Facts, Printed, Scene, World};

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
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub holds_if: String,
    /// The experiment that the expressions are about where they name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// What is shown beside the verdict: text with expressions in braces. Left out, the
    /// quantities that the rule compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Why it does not hold, as far as somebody knows: shown only if it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
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
#[serde(untagged)]
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
    /// Expressions by their names, which may have inputs: `gain(s)`.
    pub define: BTreeMap<String, String>,
}

/// What has become of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By its rule it holds.
    Holds,
    /// By its rule it does not.
    DoesNotHold,
    /// The runs do not decide it, or are missing.
    CannotBeTold,
}

impl Verdict {
    /// `Holds` or `DoesNotHold`.
    #[must_use]
    pub const fn of(holds: bool) -> Self {
        if holds {
            Self::Holds
        } else {
            Self::DoesNotHold
        }
    }

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::CannotBeTold => "cannot be told",
        }
    }
}

/// A verdict with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// Our numbers, with their intervals where there are any.
    pub found: String,
}

impl Finding {
    /// A finding.
    #[must_use]
    pub fn new(verdict: Verdict, found: impl Into<String>) -> Self {
        Self {
            verdict,
            found: found.into(),
        }
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// What was found.
    pub finding: Finding,
}

impl Judged {
    /// What was found, and why it does not hold if it does not.
    #[must_use]
    pub fn found(&self) -> String {
        match self.explanation() {
            Some(why) => format!("{}\nWhy: {why}", self.finding.found),
            None => self.finding.found.clone(),
        }
    }

    /// Why it does not hold, if it does not and somebody knows.
    #[must_use]
    pub fn explanation(&self) -> Option<&str> {
        let known = !self.claim.explanation.is_empty();
        (self.finding.verdict == Verdict::DoesNotHold && known)
            .then_some(self.claim.explanation.trim())
    }
}

/// An expression, or text with expressions in it, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Said<'s> {
    /// The file.
    pub source: &'s Source,
    /// Its key there.
    pub place: &'s str,
    /// What is said.
    pub text: &'s str,
    /// The experiment that it is about where it names none.
    pub experiment: Option<&'s str>,
}

/// The vocabulary and the claims of a file, read and ready to be judged.
#[derive(Debug)]
pub struct Rules {
    source: Source,
    catalog: Catalog,
    claims: Vec<Claim>,
    pub(crate) names: Vec<Stack>,
    definitions: Vec<Definition>,
}

/// A shorthand.
#[derive(Debug)]
struct Definition {
    /// As the file has it, with its inputs.
    key: String,
    name: String,
    inputs: Vec<String>,
    body: Expression,
}

impl Rules {
    /// Reads the expressions of a file whose text is `source` and whose stacks are of `catalog`.
    ///
    /// # Errors
    /// If a name, a definition or an expression is not what it should be: the error points at the
    /// place in the file.
    pub fn new(
        vocabulary: &Vocabulary,
        claims: &[Claim],
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        let names = vocabulary.names.iter();
        let names = names.map(|(name, named)| stack(name, named, source, catalog));
        let definitions = vocabulary.define.iter();
        let definitions = definitions.map(|(key, text)| definition(key, text, source));
        let book = Self {
            source: source.clone(),
            catalog: catalog.clone(),
            claims: claims.to_vec(),
            names: names.collect::<Result<_, _>>()?,
            definitions: definitions.collect::<Result<_, _>>()?,
        };
        for (n, claim) in claims.iter().enumerate() {
            if claims[..n].iter().any(|other| other.id == claim.id) {
                let message = format!("there are two claims called `{}`", claim.id);
                let place = format!("claim.{n}.id");
                return Err(ExperimentError::at(source, &place, message, None));
            }
        }
        Ok(book)
    }

    /// Those of an experiment file, held against the experiment, which has not run: `planned` is
    /// its results without a run. Nothing if it claims nothing.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`check`](Self::check), and if a claim has no expression.
    pub fn of_experiment(
        planned: &Results,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Option<Self>, ExperimentError> {
        let experiment = &planned.experiment;
        if experiment.claims.is_empty() {
            return Ok(None);
        }
        for (n, claim) in experiment.claims.iter().enumerate() {
            if claim.holds_if.is_empty() {
                let message = format!("the claim `{}` does not say when it holds", claim.id);
                let help = "give it `holds_if`, as docs/claims.md describes".to_owned();
                let place = format!("claim.{n}");
                return Err(ExperimentError::at(source, &place, message, Some(help)));
            }
        }
        let rules = Self::new(
            &experiment.vocabulary(),
            &experiment.claims,
            source,
            catalog,
        )?;
        rules.check(&World::planned(planned))?;
        Ok(Some(rules))
    }

    /// The claims.
    #[must_use]
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Whether every rule asks for what there is.
    ///
    /// # Errors
    /// If one does not: the error points at the place in the file and says what was meant.
    pub fn check(&self, planned: &World<'_>) -> Result<(), ExperimentError> {
        for (n, claim) in self.claims.iter().enumerate() {
            if claim.holds_if.is_empty() {
                continue;
            }
            let at = |field: &str| format!("claim.{n}.{field}");
            let mut asked = Evaluator::new(self, planned);
            if let Some(name) = &claim.experiment {
                asked
                    .enter(name, &(0..name.len()))
                    .map_err(|fault| self.complain(&at("experiment"), name, fault))?;
            }
            asked
                .verdict(&claim.holds_if)
                .map_err(|fault| self.complain(&at("holds_if"), &claim.holds_if, fault))?;
            if let Some(found) = &claim.found {
                asked
                    .template(found)
                    .map_err(|fault| self.complain(&at("found"), found, fault))?;
            }
        }
        Ok(())
    }

    /// What has become of a claim; nothing if it has no expression, or if runs that it needs are
    /// missing or do not show what it is about. A rule that does not fit what was run, such as a
    /// sweep of which a quick look has left out too much, cannot be told.
    #[must_use]
    pub fn judge(&self, claim: &Claim, world: &World<'_>) -> Option<Finding> {
        if claim.holds_if.is_empty() {
            return None;
        }
        self.judged(claim, world).unwrap_or_else(|fault| {
            let found = format!("the rule does not fit what was run: {}", fault.message);
            Some(Finding::new(Verdict::CannotBeTold, found))
        })
    }

    fn judged(&self, claim: &Claim, world: &World<'_>) -> Result<Option<Finding>, Fault> {
        let mut asked = Evaluator::new(self, world);
        if let Some(name) = &claim.experiment {
            asked.enter(name, &(0..name.len()))?;
        }
        let Some(verdict) = asked.verdict(&claim.holds_if)? else {
            return Ok(None);
        };
        let found = match &claim.found {
            Some(template) => asked.template(template)?,
            None => asked.shown(&claim.holds_if)?,
        };
        Ok(Some(Finding { verdict, found }))
    }

    /// What has become of every claim.
    #[must_use]
    pub fn judge_all(&self, world: &World<'_>) -> Vec<Judged> {
        let judged = self.claims.iter().map(|claim| Judged {
            claim: claim.clone(),
            finding: self.judge(claim, world).unwrap_or_else(|| {
                Finding::new(
                    Verdict::CannotBeTold,
                    "the runs do not show what it is about",
                )
            }),
        });
        judged.collect()
    }

    /// What an expression comes to; `variables` are known to it beside what the file defines.
    ///
    /// # Errors
    /// If it is no expression, or asks for what there is not.
    pub fn evaluate(
        &self,
        said: &Said<'_>,
        variables: &[(String, Value)],
        world: &World<'_>,
    ) -> Result<Value, ExperimentError> {
        self.asked(said, variables, world, |asked| asked.value(said.text))
    }

    /// Text with expressions in braces, filled in.
    ///
    /// # Errors
    /// If an expression in it is none, or asks for what there is not.
    pub fn fill(
        &self,
        said: &Said<'_>,
        variables: &[(String, Value)],
        world: &World<'_>,
    ) -> Result<String, ExperimentError> {
        self.asked(said, variables, world, |asked| asked.template(said.text))
    }

    fn asked<T>(
        &self,
        said: &Said<'_>,
        variables: &[(String, Value)],
        world: &World<'_>,
        what: impl FnOnce(&mut Evaluator<'_>) -> Result<T, Fault>,
    ) -> Result<T, ExperimentError> {
        let mut asked = Evaluator::new(self, world);
        let entered = said
            .experiment
            .map_or(Ok(()), |name| asked.enter(name, &(0..0)));
        asked.bind(variables);
        let out = entered.and_then(|()| what(&mut asked));
        out.map_err(|fault| match fault.definition {
            Some(_) => self.complain("", said.text, fault),
            None => complain(said.source, said.place, said.text, fault),
        })
    }

    fn complain(&self, place: &str, text: &str, fault: Fault) -> ExperimentError {
        match &fault.definition {
            Some(key) => {
                let place = format!("define.\"{key}\"");
                let text = self.text_of(key);
                complain(&self.source, &place, &text, fault)
            }
            None => complain(&self.source, place, text, fault),
        }
    }

    /// The text of a definition as the file has it.
    fn text_of(&self, key: &str) -> String {
        let text = toml::from_str::<toml::Table>(&self.source.text).ok();
        let text = text.and_then(|table| {
            let text = table.get("define")?.get(key)?.as_str()?;
            Some(text.to_owned())
        });
        text.unwrap_or_default()
    }
}

fn complain(source: &Source, place: &str, text: &str, fault: Fault) -> ExperimentError {
    ExperimentError::inside(source, place, (text, fault.span), fault.message, fault.help)
}

fn stack(
    name: &str,
    named: &Named,
    source: &Source,
    catalog: &Catalog,
) -> Result<Stack, ExperimentError> {
    let (texts, label) = match named {
        Named::One(text) => (vec![text], name),
        Named::Several(texts) => (texts.iter().collect(), name),
        Named::Labelled(LabelledStack { stack, label }) => match stack {
            OneOrMore::One(text) => (vec![text], label.as_str()),
            OneOrMore::More(texts) => (texts.iter().collect(), label.as_str()),
        },
    };
    let canonical = texts.into_iter().map(|text| {
        eval::canonical(text, catalog).map_err(|message| {
            let place = format!("names.\"{name}\"");
            ExperimentError::inside(source, &place, (text, 0..text.len()), message, None)
        })
    });
    Ok(Stack {
        name: name.to_owned(),
        label: label.to_owned(),
        texts: canonical.collect::<Result<_, _>>()?,
    })
}

/// `gain(s)` with its expression.
fn definition(key: &str, text: &str, source: &Source) -> Result<Definition, ExperimentError> {
    let place = format!("define.\"{key}\"");
    let (name, inputs) = match key.split_once('(') {
        None => (key, Vec::new()),
        Some((name, rest)) => {
            let inputs = rest.trim_end().trim_end_matches(')').split(',');
            (name, inputs.map(|input| input.trim().to_owned()).collect())
        }
    };
    let name = name.trim();
    if FUNCTIONS.iter().any(|function| function.name == name) {
        let message = format!("`{name}` is a function of the language");
        return Err(ExperimentError::at(source, &place, message, None));
    }
    let body = parse::parse(text).map_err(|fault| complain(source, &place, text, fault))?;
    Ok(Definition {
        key: key.to_owned(),
        name: name.to_owned(),
        inputs,
        body,
    })
}
