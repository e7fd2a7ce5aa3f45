//! The outcome of a script.

use std::fmt;

use crate::screen::{plain, write_line, write_wrapped};

/// Outcome of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptOutcome {
    /// Everything happened as the script expects.
    Passed,
    /// Something differed from the script.
    Failed(Failure),
    /// The script needs an unsupported feature.
    Skipped(Skip),
    /// The file cannot be read. The text contains the reason and a remedy.
    Unread(String),
}

/// An unsupported feature that a script needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Line that needs the feature, counted from 1.
    pub line: usize,
    /// The unsupported feature.
    pub reason: String,
}

/// A difference from the script. Its `Display` form fits on a screen of 80 columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the script, counted from 1.
    pub line: usize,
    /// The error message, on one line.
    pub message: String,
    /// The expected packet or result of a call.
    pub expected: Option<String>,
    /// The actual packet or result.
    pub came: Option<String>,
    /// Differences between `expected` and `came`.
    pub differences: Vec<String>,
    /// State of the connection: names and values.
    pub state: Vec<(&'static str, String)>,
    /// Lines of the script up to the failed line, with their numbers.
    pub excerpt: Vec<(usize, String)>,
    /// Column of the error, counted from 1, and its width in characters, if known.
    pub mark: Option<(usize, usize)>,
}

/// Reasons why a script stopped.
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

/// Number of lines that are shown before the failed line.
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

    /// Returns the message with the first difference.
    #[must_use]
    pub fn in_short(&self) -> String {
        match (&self.differences[..], &self.expected, &self.came) {
            ([first, ..], ..) => format!("{}: {first}", self.message),
            ([], Some(expected), Some(came)) => {
                format!("{}: expected {expected}, got {came}", self.message)
            }
            _ => self.message.clone(),
        }
    }

    /// Adds the lines of `source` up to the failed line.
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
        for (name, text) in [("expected", &self.expected), ("got", &self.came)] {
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
        write!(
            f,
            "line {}: unsupported: {}",
            self.line,
            plain(&self.reason)
        )
    }
}
