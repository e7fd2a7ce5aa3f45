//! The vocabulary of a file: names for stacks and definitions for expressions.

use std::sync::Arc;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::{LabelledStack, Named, OneOrMore, Vocabulary};

use crate::eval::PAPER;
use crate::lex::is_name;
use crate::parse::parse;
use crate::reference::FUNCTIONS;
use crate::spelling::unknown;
use crate::syntax::{Expression, Fault};
use crate::value::Stack;
use crate::world::{Flows, MEASURES, World};

/// Words of the language that a file cannot redefine.
pub(crate) const WORDS: [&str; 9] = [
    "points", "true", "false", "none", "each", "all", "any", "not", PAPER,
];

/// The parsed vocabulary of a file.
#[derive(Debug)]
pub(crate) struct Dictionary {
    source: Source,
    pub(crate) catalog: Catalog,
    pub(crate) names: Vec<Arc<Stack>>,
    pub(crate) definitions: Vec<Definition>,
}

/// A named expression of `[define]`.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Key in the file, with the inputs: `gain(s)`.
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) inputs: Vec<String>,
    pub(crate) body: Expression,
}

impl Dictionary {
    /// Reads the vocabulary of the file `source`. Stacks come from `catalog`.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        let names = vocabulary.names.iter();
        let names = names.map(|(name, named)| {
            let instead = vocabulary.instead.get(name).map_or(&[][..], Vec::as_slice);
            stack(name, named, instead, (source, catalog))
        });
        let definitions = vocabulary.define.iter();
        let definitions = definitions.map(|(key, text)| definition(key, text, source));
        let book = Self {
            source: source.clone(),
            catalog: catalog.clone(),
            names: names.collect::<Result<_, _>>()?,
            definitions: definitions.collect::<Result<_, _>>()?,
        };
        let all = &book.definitions;
        for (n, definition) in all.iter().enumerate() {
            let name = &definition.name;
            let other = if all[..n].iter().any(|other| other.name == *name) {
                "another definition"
            } else if book.names.iter().any(|stack| stack.name == *name) {
                "a stack in `[names]`"
            } else if is_measure(name) {
                "a measure"
            } else {
                continue;
            };
            return Err(book.about(definition, format!("{other} is already called `{name}`")));
        }
        Ok(book)
    }

    /// Checks every definition for unknown words, even if no rule uses it.
    pub(crate) fn check(&self, planned: &World<'_>) -> Result<(), ExperimentError> {
        for definition in &self.definitions {
            let facts = planned.scenes.iter();
            if facts
                .flat_map(|scene| scene.quantities())
                .any(|known| known == definition.name)
            {
                let message = format!("a measure is already called `{}`", definition.name);
                return Err(self.about(definition, message));
            }
            if let Some(fault) = unknown(definition, self, planned) {
                let definition = Some(definition.key.clone());
                return Err(self.complain(
                    "",
                    "",
                    Fault {
                        definition,
                        ..fault
                    },
                ));
            }
        }
        Ok(())
    }

    /// Creates an error about the name of a definition.
    fn about(&self, definition: &Definition, message: String) -> ExperimentError {
        let place = format!("define.\"{}\"", definition.key);
        let help = Some("give it another name".to_owned());
        ExperimentError::at(&self.source, &place, message, help)
    }

    /// Creates the error for a fault in `text`, at `place` in the file, or in a definition that `text` uses.
    pub(crate) fn complain(&self, place: &str, text: &str, fault: Fault) -> ExperimentError {
        match &fault.definition {
            Some(key) => {
                let place = format!("define.\"{key}\"");
                let text = self.text_of(key);
                complain(&self.source, &place, &text, fault)
            }
            None => complain(&self.source, place, text, fault),
        }
    }

    /// Returns the text of a definition, as written in the file.
    fn text_of(&self, key: &str) -> String {
        let text = toml::from_str::<toml::Table>(&self.source.text).ok();
        let text = text.and_then(|table| {
            let text = table.get("define")?.get(key)?.as_str()?;
            Some(text.to_owned())
        });
        text.unwrap_or_default()
    }
}

/// Prefix of the name of a kernel's sender, on real packets.
const KERNEL: &str = "kernel:";

/// Returns the canonical spelling of a stack. A kernel's sender is in no catalog and is returned unchanged.
pub(crate) fn canonical(text: &str, catalog: &Catalog) -> Result<String, String> {
    if text.starts_with(KERNEL) {
        return Ok(text.to_owned());
    }
    match StackSpec::parse(text, catalog) {
        Ok(stack) => Ok(stack.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Creates the error for a fault in `text`, at `place` in a file.
pub(crate) fn complain(source: &Source, place: &str, text: &str, fault: Fault) -> ExperimentError {
    ExperimentError::inside(source, place, (text, fault.span), fault.message, fault.help)
}

/// Help text: the rules for a name.
const NAME: &str = "a name starts with a letter and consists of letters, digits, underscores and inner \
                    hyphens; words of the language are not allowed";

fn is_measure(name: &str) -> bool {
    let measures = MEASURES.iter().map(|(known, _)| known.as_str());
    let mut all = measures.chain(Flows::ALL.iter().map(|(known, _)| *known));
    all.any(|known| known == name)
}

fn stack(
    name: &str,
    named: &Named,
    instead: &[String],
    (source, catalog): (&Source, &Catalog),
) -> Result<Arc<Stack>, ExperimentError> {
    let (texts, label) = match named {
        Named::One(text) => (vec![text], name),
        Named::Several(texts) => (texts.iter().collect(), name),
        Named::Labelled(LabelledStack { stack, label }) => match stack {
            OneOrMore::One(text) => (vec![text], label.as_str()),
            OneOrMore::More(texts) => (texts.iter().collect(), label.as_str()),
        },
    };
    let place = format!("names.\"{name}\"");
    if !is_name(name) || WORDS.contains(&name) {
        let message = format!("invalid name `{}`", name.escape_default());
        return Err(ExperimentError::at(
            source,
            &place,
            message,
            Some(NAME.to_owned()),
        ));
    }
    let spelled = |text: &String| {
        canonical(text, catalog).map_err(|message| {
            ExperimentError::inside(source, &place, (text, 0..text.len()), message, None)
        })
    };
    let canonical = texts.into_iter().map(spelled);
    Ok(Arc::new(Stack {
        name: name.to_owned(),
        label: label.to_owned(),
        texts: canonical.collect::<Result<_, _>>()?,
        instead: instead.iter().map(spelled).collect::<Result<_, _>>()?,
    }))
}

/// Parses a definition such as `gain(s)` and its expression.
fn definition(key: &str, text: &str, source: &Source) -> Result<Definition, ExperimentError> {
    let place = format!("define.\"{key}\"");
    let wrong = |message: String, help: &str| {
        Err(ExperimentError::at(
            source,
            &place,
            message,
            Some(help.to_owned()),
        ))
    };
    let shown = key.escape_default();
    let (name, inputs) = match key.split_once('(') {
        None => (key, Vec::new()),
        Some((name, rest)) => {
            let Some(inputs) = rest.trim_end().strip_suffix(')') else {
                return wrong(
                    format!("unclosed parenthesis in `{shown}`"),
                    "write `\"gain(s)\"`",
                );
            };
            let inputs = inputs.split(',').map(|input| input.trim().to_owned());
            (name, inputs.collect::<Vec<String>>())
        }
    };
    let name = name.trim();
    for (n, word) in inputs.iter().map(String::as_str).chain([name]).enumerate() {
        if !is_name(word) || WORDS.contains(&word) {
            let message = format!(
                "`{}` in `{shown}` is not a valid name",
                word.escape_default()
            );
            return wrong(message, NAME);
        }
        if n < inputs.len() && inputs[..n].iter().any(|other| other == word) {
            let message = format!("two inputs of `{shown}` are called `{word}`");
            return wrong(message, "give each input its own name");
        }
    }
    if FUNCTIONS.iter().any(|function| function.name == name) {
        let message = format!("`{name}` is already a function of the language");
        return Err(ExperimentError::at(source, &place, message, None));
    }
    let body = parse(text).map_err(|fault| complain(source, &place, text, fault))?;
    Ok(Definition {
        key: key.to_owned(),
        name: name.to_owned(),
        inputs,
        body,
    })
}
