//! What came of a script.

use std::fmt;

use crate::screen::{plain, write_line, write_wrapped};

/// What came of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Everything was as it says.
    Passed,
    /// Something was not.
    Failed(Failure),
    /// It asks for what is not there.
    Skipped(Skip),
    /// There is no script: why its file cannot be read, and what to do.
    Unread(String),
}

/// What a script asks for that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The line that asks for it, from 1.
    pub line: usize,
    /// What is not there.
    pub reason: String,
}

/// What was not as a script says. Printed, it fits a screen of 80 columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line of the script, from 1.
    pub line: usize,
    /// What is wrong, in one line.
    pub message: String,
    /// What the script wants, if it is a packet or an answer.
    pub expected: Option<String>,
    /// What came in its place.
    pub came: Option<String>,
    /// In what the two differ, one thing each.
    pub differences: Vec<String>,
    /// How the connection stands: a name and a value each.
    pub state: Vec<(&'static str, String)>,
    /// The lines of the script around it, with their numbers.
    pub excerpt: Vec<(usize, String)>,
    /// The column of what is wrong, and how wide it is, if that is known: from 1, in characters.
    pub mark: Option<(usize, usize)>,
}

/// Why a script's run stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Failed(Box<Failure>),
    Skipped(Skip),
}

impl Stop {
    pub(crate) fn skipped(line: usize, reason: impl Into<String>) -> Self {
        Self::Skipped(Skip {
            line,
            reason: reason.into(),
        })
    }
}

/// Lines of the script that are shown before the one that failed.
const LINES_BEFORE: usize = 3;

impl Failure {
    pub(crate) const fn new(line: usize, message: String) -> Self {
        Self {
            line,
            message,
            expected: None,
            came: None,
            differences: Vec::new(),
            state: Vec::new(),
            excerpt: Vec::new(),
            mark: None,
        }
    }

    /// What is wrong, and the first thing in which it shows.
    #[must_use]
    pub fn in_short(&self) -> String {
        match (&self.differences[..], &self.expected, &self.came) {
            ([first, ..], ..) => format!("{}: {first}", self.message),
            ([], Some(expected), Some(came)) => {
                format!("{}: {expected} expected, {came} came", self.message)
            }
            _ => self.message.clone(),
        }
    }

    /// Adds the lines of `source` around it.
    pub(crate) fn with_excerpt(mut self, source: &str) -> Self {
        let first = self.line.saturating_sub(LINES_BEFORE).max(1);
        self.excerpt = source
            .lines()
            .enumerate()
            .map(|(index, text)| (index + 1, text.to_owned()))
            .filter(|(number, _)| (first..=self.line).contains(number))
            .collect();
        self
    }

    fn write_excerpt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, text) in &self.excerpt {
            let (pointer, mark) = match *number == self.line {
                true => ('>', self.mark),
                false => (' ', None),
            };
            write_line(f, &format!("{pointer}{number:>5} | "), text, mark)?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.excerpt.is_empty() {
            self.write_excerpt(f)?;
            writeln!(f)?;
        }
        write_wrapped(f, "", &self.message)?;
        for (name, text) in [("expected", &self.expected), ("came", &self.came)] {
            if let Some(text) = text {
                write_wrapped(f, &format!("  {name:<9}"), text)?;
            }
        }
        for difference in &self.differences {
            write_wrapped(f, "  differs  ", difference)?;
        }
        for (name, value) in &self.state {
            write_wrapped(f, &format!("  {name:<14}"), value)?;
        }
        Ok(())
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: not there: {}", self.line, plain(&self.reason))
    }
}
