//! The Python of `%{ }%`, as far as scripts use it: assertions, assignments, `print`, and
//! expressions of numbers, texts and tuples. What goes beyond is not guessed at.

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

/// Why code stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// An assertion does not hold, or Python itself would have stopped.
    Failed(Complaint),
    /// It uses what is not there.
    Beyond(String),
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Lines below the first of the code.
    pub(crate) line: usize,
    /// What does not hold.
    pub(crate) message: String,
    /// The names of the endpoint's state in it, with their values.
    pub(crate) seen: Vec<(String, String)>,
}

/// What a name of the endpoint's state stands for.
pub(crate) enum Lookup {
    /// This.
    Is(Value),
    /// It exists, but is not known here.
    Beyond(String),
    /// There is no such name, and this is why.
    Wrong(String),
    /// There is no such name.
    Unknown,
}

/// Runs the code of a script. Variables live as long as it does.
#[derive(Debug)]
pub(crate) struct Interpreter {
    variables: BTreeMap<String, Value>,
    print: fn(&str),
}

impl Interpreter {
    /// With what `print` calls with each line.
    pub(crate) const fn new(print: fn(&str)) -> Self {
        Self {
            variables: BTreeMap::new(),
            print,
        }
    }

    /// Runs `text`; `state` knows the endpoint.
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

    /// The names in `statement` and what they stand for.
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

/// What comes of code that cannot be read.
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
