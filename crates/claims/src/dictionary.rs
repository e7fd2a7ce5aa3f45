//! What the words of a file mean: its names for stacks and its shorthands for expressions.

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::experiment::{LabelledStack, Named, OneOrMore, Vocabulary};

use crate::parse::parse;
use crate::reference::FUNCTIONS;
use crate::syntax::{Expression, Fault};
use crate::value::Stack;

/// The vocabulary of a file, read.
#[derive(Debug)]
pub(crate) struct Dictionary {
    source: Source,
    pub(crate) catalog: Catalog,
    pub(crate) names: Vec<Stack>,
    pub(crate) definitions: Vec<Definition>,
}

/// A shorthand.
#[derive(Debug)]
pub(crate) struct Definition {
    /// As the file has it, with its inputs.
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) inputs: Vec<String>,
    pub(crate) body: Expression,
}

impl Dictionary {
    /// Reads the vocabulary of the file `source`, whose stacks are of `catalog`.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        source: &Source,
        catalog: &Catalog,
    ) -> Result<Self, ExperimentError> {
        let names = vocabulary.names.iter();
        let names = names.map(|(name, named)| stack(name, named, source, catalog));
        let definitions = vocabulary.define.iter();
        let definitions = definitions.map(|(key, text)| definition(key, text, source));
        Ok(Self {
            source: source.clone(),
            catalog: catalog.clone(),
            names: names.collect::<Result<_, _>>()?,
            definitions: definitions.collect::<Result<_, _>>()?,
        })
    }

    /// What is wrong in `text`, which stands at `place` of the file, or in a definition that it uses.
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

/// A stack's text in its canonical spelling.
pub(crate) fn canonical(text: &str, catalog: &Catalog) -> Result<String, String> {
    match StackSpec::parse(text, catalog) {
        Ok(stack) => Ok(stack.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// What is wrong in `text`, which stands at `place` of a file.
pub(crate) fn complain(source: &Source, place: &str, text: &str, fault: Fault) -> ExperimentError {
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
        canonical(text, catalog).map_err(|message| {
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
    let body = parse(text).map_err(|fault| complain(source, &place, text, fault))?;
    Ok(Definition {
        key: key.to_owned(),
        name: name.to_owned(),
        inputs,
        body,
    })
}
