//! Errors in scripts, with their locations.

use std::fmt;
use std::ops::Range;

/// An error in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The error message, which names what was expected.
    pub message: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// Width of the erroneous text, in characters.
    pub width: usize,
    /// Origin of the error.
    pub fault: Fault,
}

/// Origin of the error: the script or this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The script is invalid: packetdrill would reject it too.
    Script,
    /// The script is valid but needs a feature that is unsupported here.
    Missing,
}

impl ParseError {
    pub(super) fn wrong(source: &str, span: Range<usize>, message: String) -> Self {
        Self::new(source, span, message, Fault::Script)
    }

    pub(super) fn missing(source: &str, span: Range<usize>, message: String) -> Self {
        Self::new(source, span, message, Fault::Missing)
    }

    /// Creates an error that concerns a whole line.
    pub(super) fn at_line(source: &str, line: usize, message: &str) -> Self {
        let start: usize = source
            .split_inclusive('\n')
            .take(line - 1)
            .map(str::len)
            .sum();
        let text = source[start..].lines().next().unwrap_or_default();
        let indent = text.len() - text.trim_start().len();
        let span = start + indent..start + text.trim_end().len();
        Self::wrong(source, span, message.to_owned())
    }

    fn new(source: &str, span: Range<usize>, message: String, fault: Fault) -> Self {
        let before = &source[..span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let first_line = source[span.clone()].lines().next().unwrap_or_default();
        Self {
            message,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            width: first_line.chars().count().max(1),
            fault,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}
