//! The subset of Python that scripts use in `%{ }%`: assertions, assignments, `print`, and expressions of numbers,
//! texts and tuples. Anything else is reported as unsupported.

mod evaluate;
mod format;
mod lex;
mod parse;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use evaluate::Evaluation;
use parse::Statement;
pub(crate) use value::Value;

/// Reasons why code stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// An assertion failed, or the code has an error at which Python would also have stopped.
    Failed(Complaint),
    /// The code uses an unsupported feature.
    Beyond(String),
}

/// An error in the code, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Number of lines after the first line of the code.
    pub(crate) line: usize,
    /// The error message.
    pub(crate) message: String,
    /// Names of the endpoint's state in the statement, with their values.
    pub(crate) seen: Vec<(String, String)>,
}

/// Result of looking up a name of the endpoint's state.
pub(crate) enum Lookup {
    /// The value.
    Is(Value),
    /// The name exists but is not supported here.
    Beyond(String),
    /// The name does not exist, for this reason.
    Wrong(String),
    /// The name does not exist.
    Unknown,
}

/// Runs the code of a script. Variables persist between blocks.
#[derive(Debug)]
pub(crate) struct Interpreter {
    variables: BTreeMap<String, Value>,
    print: fn(&str),
}

impl Interpreter {
    /// Creates an interpreter, which calls `print` with each printed line.
    pub(crate) const fn new(print: fn(&str)) -> Self {
        Self {
            variables: BTreeMap::new(),
            print,
        }
    }

    /// Runs `text`. `state` looks up names of the endpoint's state.
    pub(crate) fn run(&mut self, text: &str, state: &dyn Fn(&str) -> Lookup) -> Result<(), Stop> {
        for (line, statement) in parse::statements(text).map_err(unread)? {
            let evaluation = Evaluation::new(&self.variables, state, self.print);
            let done = evaluation.execute(&statement);
            match done {
                Ok(None) => {}
                Ok(Some((name, value))) => {
                    self.variables.insert(name, value);
                }
                Err(evaluate::Error::Beyond(reason)) => return Err(Stop::Beyond(reason)),
                Err(evaluate::Error::Wrong(message)) => {
                    return Err(Stop::Failed(Complaint {
                        line,
                        message,
                        seen: self.seen(&statement, state),
                    }));
                }
            }
        }
        Ok(())
    }

    /// Returns the names in `statement` with their values.
    fn seen(&self, statement: &Statement, state: &dyn Fn(&str) -> Lookup) -> Vec<(String, String)> {
        let mut seen: Vec<(String, String)> = Vec::new();
        for name in statement.names() {
            let value = match self.variables.get(name) {
                Some(value) => value.clone(),
                None => match state(name) {
                    Lookup::Is(value) => value,
                    _ => continue,
                },
            };
            if !seen.iter().any(|(known, _)| known == name) {
                seen.push((name.to_owned(), value.shown()));
            }
        }
        seen
    }
}

/// Converts the error for code that cannot be parsed.
fn unread((line, error): (usize, evaluate::Error)) -> Stop {
    match error {
        evaluate::Error::Beyond(reason) => Stop::Beyond(reason),
        evaluate::Error::Wrong(message) => Stop::Failed(Complaint {
            line,
            message,
            seen: Vec::new(),
        }),
    }
}
