//! Parser of experiment files. Errors point at the invalid line.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Experiment;

/// Text of an experiment with its origin, so that errors can point at a line.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the file, for messages.
    pub name: String,
    /// Text of the file.
    pub text: String,
    /// Folder from which relative paths in the file start.
    pub folder: PathBuf,
}

/// Error in an experiment.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The file cannot be read.
    #[error("cannot read {path}: {cause}")]
    #[diagnostic(help("name an existing text file that you have permission to read"))]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Cause, as the operating system reports it.
        cause: String,
    },
    /// The text is not a valid experiment.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<Complaint>),
}

/// Error in the text of an experiment, with its position.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct Complaint {
    /// Description of the error.
    pub message: String,
    /// Keys of the invalid value, joined by dots (`path.loss`), if they are known.
    pub field: Option<String>,
    /// The file.
    #[source_code]
    pub file: NamedSource<String>,
    /// Position in the text.
    #[label("here")]
    pub at: Option<SourceSpan>,
    /// Suggested correction.
    #[help]
    pub help: Option<String>,
}

impl ExperimentError {
    /// Creates an error for the value at `path` (keys joined by dots) in `source`.
    #[must_use]
    pub fn at(source: &Source, path: &str, message: String, help: Option<String>) -> Self {
        Self::Invalid(Box::new(Complaint {
            message,
            field: Some(path.to_owned()),
            file: NamedSource::new(&source.name, source.text.clone()),
            at: source.span_of(path),
            help,
        }))
    }

    /// Creates an error for the last key of `path` in `source`, rather than for its value.
    #[must_use]
    pub fn at_key(source: &Source, path: &str, message: String, help: Option<String>) -> Self {
        Self::Invalid(Box::new(Complaint {
            message,
            field: Some(path.to_owned()),
            file: NamedSource::new(&source.name, source.text.clone()),
            at: source.spans_of(path).map(|(key, _)| key),
            help,
        }))
    }

    /// Creates an error for the bytes `part` of the value `text` at `path` in `source`.
    #[must_use]
    pub fn inside(
        source: &Source,
        path: &str,
        (text, part): (&str, Range<usize>),
        message: String,
        help: Option<String>,
    ) -> Self {
        let whole = source.span_of(path);
        let at = whole.map(|whole| {
            let start = whole.offset();
            let written = source
                .text
                .get(start..start + whole.len())
                .unwrap_or_default();
            match written.rfind(text) {
                // The value is written in the file without escapes, so its parts have positions.
                Some(begin) if !text.is_empty() => {
                    SourceSpan::from(start + begin + part.start..start + begin + part.end)
                }
                _ => whole,
            }
        });
        Self::Invalid(Box::new(Complaint {
            message,
            field: Some(path.to_owned()),
            file: NamedSource::new(&source.name, source.text.clone()),
            at,
            help,
        }))
    }
}

/// Reader of the recorded traces that an experiment names.
pub trait ReadFile {
    /// Returns the text of the file at `path`, which is relative to [`Source::folder`].
    ///
    /// # Errors
    /// If the file does not exist, or is not UTF-8.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// Files on disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl ReadFile for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(path)
    }
}

/// Files in memory, by path, for systems without a disk.
impl ReadFile for BTreeMap<PathBuf, String> {
    fn read(&self, path: &Path) -> io::Result<String> {
        let text = self.get(path).cloned();
        text.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Source {
    /// Creates a source from a text that was not read from a file. Errors use `name` as the file name. Relative paths
    /// in the text start from the working directory.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            folder: PathBuf::new(),
        }
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, or is not UTF-8.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = Disk.read(path).map_err(|e| ExperimentError::Unreadable {
            path: path.display().to_string(),
            cause: e.to_string(),
        })?;
        Ok(Self {
            name: path.display().to_string(),
            text,
            folder: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        })
    }

    /// Creates the text of an experiment that was assembled from flags, so that errors can point at a position.
    #[must_use]
    pub fn of_flags(experiment: &Experiment) -> Self {
        let text = experiment.text();
        Self::new("the experiment from the command line", text)
    }

    /// Parses the experiment that the text describes.
    ///
    /// # Errors
    /// If the text is not TOML, or contains an unknown key or an invalid value.
    pub fn parse(&self) -> Result<Experiment, ExperimentError> {
        toml::from_str(&self.text).map_err(|error| {
            let message = in_words(error.message());
            ExperimentError::Invalid(Box::new(Complaint {
                help: meant(&message)
                    .or_else(|| as_list(error.message()))
                    .or_else(|| left_out(&message)),
                message,
                field: error.span().and_then(|span| self.path_at(&span)),
                file: NamedSource::new(&self.name, self.text.clone()),
                at: error.span().map(SourceSpan::from),
            }))
        })
    }

    /// Returns the keys, joined by dots, of the innermost value whose key or text contains all of `span`, or `None` if
    /// there is no such value.
    fn path_at(&self, span: &Range<usize>) -> Option<String> {
        let table = DeTable::parse(&self.text).ok()?;
        let keys = keys_in(table.get_ref(), span)?;
        Some(keys.join("."))
    }

    /// Returns the position of the value at `path`. If the value is left out, this is the position of the nearest table
    /// that would contain it.
    fn span_of(&self, path: &str) -> Option<SourceSpan> {
        self.spans_of(path).map(|(_, whole)| whole)
    }

    /// Returns the position of the key at `path`, and of the key with its value. For an item of a list, both are the
    /// position of the item.
    fn spans_of(&self, path: &str) -> Option<(SourceSpan, SourceSpan)> {
        let table = DeTable::parse(&self.text).ok()?;
        let mut span = None;
        let mut here: Option<&DeTable<'_>> = Some(table.get_ref());
        let mut value: Option<&Spanned<DeValue<'_>>> = None;
        let keys = split(path);
        for key in &keys {
            let next = match (here, value.map(Spanned::get_ref)) {
                (Some(table), _) => table
                    .iter()
                    .find(|(name, _)| name.get_ref().as_ref() == key.as_str())
                    .map(|(name, value)| (name.span(), name.span().start..value.span().end, value)),
                (None, Some(DeValue::Array(items))) => {
                    let item = key.parse::<usize>().ok().and_then(|i| items.get(i));
                    item.map(|value| (value.span(), value.span(), value))
                }
                _ => None,
            };
            let Some((key, whole, found)) = next else {
                break;
            };
            span = Some((SourceSpan::from(key), SourceSpan::from(whole)));
            here = match found.get_ref() {
                DeValue::Table(table) => Some(table),
                _ => None,
            };
            value = Some(found);
        }
        span
    }
}

/// Returns the keys that lead to the innermost value of `table` whose key or text contains all of `span`.
fn keys_in(table: &DeTable<'_>, span: &Range<usize>) -> Option<Vec<String>> {
    table.iter().find_map(|(key, value)| {
        let name = match key.get_ref().contains('.') {
            true => format!("\"{}\"", key.get_ref()),
            false => key.get_ref().to_string(),
        };
        let own = covers(&key.span(), span).then(Vec::new);
        let inner = own.or_else(|| keys_to(value, span))?;
        Some(std::iter::once(name).chain(inner).collect())
    })
}

/// Returns the keys that lead from `value` to the innermost value that contains all of `span`. The list is empty if
/// `value` itself is the innermost value.
fn keys_to(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> Option<Vec<String>> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => keys_in(table, span),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(place, item)| {
            let inner = keys_to(item, span)?;
            Some(std::iter::once(place.to_string()).chain(inner).collect())
        }),
        _ => None,
    };
    inner.or_else(|| covers(&value.span(), span).then(Vec::new))
}

fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Splits a path into its keys. A quoted key may contain dots (`sweep."path.loss".2`).
#[must_use]
pub fn split(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => keys.push(String::new()),
            _ => keys.last_mut().expect("keys is never empty").push(c),
        }
    }
    keys
}

/// Replaces the type names of Rust and serde in a message of the parser: `expected a list, found the text "1%"`.
pub(super) fn in_words(message: &str) -> String {
    let Some((found, expected)) = mismatch(message) else {
        return message.to_owned();
    };
    let found = match found.split_once(' ') {
        _ if found.starts_with("floating point") => found.trim_start_matches("floating point "),
        Some(("string", text)) => return format!("expected {expected}, found the text {text}"),
        Some(("integer" | "boolean", value)) => value,
        _ if found == "sequence" => "a list",
        _ if found == "map" => "a table",
        _ => found,
    };
    format!("expected {expected}, found {}", found.replace('`', ""))
}

/// Returns the help for an experiment without `stacks`, the only required key.
fn left_out(message: &str) -> Option<String> {
    let help = "list the stacks to compare, for example stacks = [\"sack/reno\", \"rack/cubic\"]";
    (message == "missing field `stacks`").then(|| help.to_owned())
}

/// If the message reports a value of the wrong type, returns the value that was found and the type that was expected.
fn mismatch(message: &str) -> Option<(&str, &str)> {
    let message = message.lines().next()?;
    let (before, expected) = message.rsplit_once(", expected ")?;
    let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
    let found = kinds.iter().find_map(|kind| before.strip_prefix(kind))?;
    let expected = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number of at least 0",
        "i64" | "i32" => "a whole number",
        "f64" => "a number",
        "a string" => "quoted text",
        "path string" => "a quoted file path",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        // A struct of this project is a table in a file.
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    Some((found, expected))
}

/// Returns the help for a single value where a list is expected.
fn as_list(message: &str) -> Option<String> {
    let (found, "a list") = mismatch(message)? else {
        return None;
    };
    let value = found.split_once(' ').map(|(_, value)| value)?;
    let value = value.trim_start_matches("point ").replace('`', "");
    Some(format!("write a list: [{value}]"))
}

/// Returns a suggestion, if the message lists the accepted words.
pub(super) fn meant(message: &str) -> Option<String> {
    let mut words = message.split('`').skip(1).step_by(2);
    let wrong = words.next()?;
    let kind = if message.starts_with("unknown field") {
        "key"
    } else if message.starts_with("unknown variant") {
        "word"
    } else {
        return None;
    };
    let known: Vec<&str> = words.collect();
    let near = known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(wrong, word), *word))
        .filter(|(distance, word)| *distance <= 1 + word.len() / 3)
        .min();
    Some(match near {
        Some((_, word)) => format!("did you mean the {kind} `{word}`?"),
        None => format!("expected one of the {kind}s {}", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("test.toml", text)
    }

    fn rendered(error: &ExperimentError) -> String {
        let mut out = String::new();
        let handler = miette::NarratableReportHandler::new();
        handler.render_report(&mut out, error).unwrap();
        out
    }

    #[test]
    fn an_unknown_key_is_located_with_a_suggestion() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\ndleay = \"2ms\"\n";
        let out = rendered(&source(text).parse().unwrap_err());
        assert!(out.contains("did you mean the key `delay`"), "{out}");
        assert!(out.contains("line 4"), "{out}");
    }

    #[test]
    fn an_unknown_key_of_a_sweep_is_located() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\n[sweep]\n\"path.los\" = [\"1%\"]\n";
        let source = source(text);
        let experiment = source.parse().unwrap();
        let error = crate::experiment::points::points(&experiment, &source).unwrap_err();
        let out = rendered(&error);
        assert!(out.contains("did you mean the key `loss`"), "{out}");
        let ExperimentError::Invalid(complaint) = error else {
            panic!("{error}");
        };
        let at = complaint.at.unwrap();
        assert_eq!(&text[at.offset()..at.offset() + at.len()], "\"path.los\"");
    }

    #[test]
    fn a_value_of_the_wrong_type_is_described_without_names_of_rust_types() {
        for (line, wanted) in [
            (
                "sweep = { \"path.loss\" = \"1%\" }",
                "expected a list, found the text \"1%\"",
            ),
            (
                "sweep = { \"path.loss\" = \"1%\" }",
                "write a list: [\"1%\"]",
            ),
            ("sweep = { \"flows.0.count\" = 2 }", "write a list: [2]"),
            ("flows = 1", "expected a list, found 1"),
            ("path = 1.5", "expected a table, found 1.5"),
            ("path = true", "expected a table, found true"),
            ("title = 5", "expected quoted text, found 5"),
            ("title = [\"a\"]", "expected quoted text, found a list"),
            ("path = { trace = 3 }", "expected a quoted file path"),
            (
                "seeds_max = \"x\"",
                "expected a whole number from 0 to 4294967295, found the text",
            ),
            (
                "path = { rate = true }",
                "expected a rate such as \"10Mbit/s\", found true",
            ),
            (
                "path = { delay = [1] }",
                "expected a time such as \"20ms\", found a list",
            ),
        ] {
            let text = format!("stacks = [\"sack/reno\"]\n{line}\n");
            let out = rendered(&source(&text).parse().unwrap_err());
            assert!(out.contains(wanted), "{line}: {out}");
            for raw in [
                "invalid", "sequence", "map", "struct", "integer", "floating",
            ] {
                assert!(!out.contains(raw), "{raw}: {line}: {out}");
            }
        }
    }

    #[test]
    fn a_number_of_the_wrong_type_is_described_in_words() {
        let text = "stacks = [\"sack/reno\"]\n[[flows]]\ncount = -2\n";
        let out = rendered(&source(text).parse().unwrap_err());
        assert!(
            out.contains("expected a whole number from 0 to 4294967295"),
            "{out}"
        );
    }

    #[test]
    fn a_wrong_unit_is_located_with_a_correction() {
        let text = "stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit\"\n";
        let out = rendered(&source(text).parse().unwrap_err());
        assert!(out.contains("line 3") && out.contains("Mbit/s"), "{out}");
    }

    #[test]
    fn an_invalid_choice_is_located_with_the_valid_ones() {
        for (line, choices) in [
            (
                "[sender]\necn = \"classic\"",
                "`false`, `true` or `\"accurate\"`",
            ),
            ("[sender]\necn = 1", "`false`, `true` or `\"accurate\"`"),
            ("[names]\na = 1", "a stack, a list of stacks, or a table"),
            (
                "[names]\na = { stack = 1, label = \"A\" }",
                "a stack, a list of stacks, or a table",
            ),
            ("\nseeds = \"ten\"", "a number of seeds"),
        ] {
            let text = format!("stacks = [\"sack/reno\"]\n{line}\n");
            let out = rendered(&source(&text).parse().unwrap_err());
            assert!(out.contains(choices), "{out}");
            assert!(!out.contains("untagged"), "{out}");
            assert!(out.contains("line 3"), "{out}");
        }
    }

    #[test]
    fn an_error_names_the_field() {
        for (line, field) in [
            ("[path]\nrate = \"1Mbit\"", "path.rate"),
            ("[path]\nspeed = \"1Mbit/s\"", "path.speed"),
            ("[[flows]]\n[[flows]]\ncount = -2", "flows.1.count"),
            ("path = 1.5", "path"),
            ("sweep = { \"path.loss\" = \"1%\" }", "sweep.\"path.loss\""),
            ("nonsense = 3", "nonsense"),
        ] {
            let text = format!("stacks = [\"sack/reno\"]\n{line}\n");
            let ExperimentError::Invalid(complaint) = source(&text).parse().unwrap_err() else {
                panic!("{line}");
            };
            assert_eq!(complaint.field.as_deref(), Some(field), "{line}");
        }
    }

    #[test]
    fn values_are_found_by_their_path() {
        let text = "stacks = []\n[path]\ndelay = \"2ms\"\n[[flows]]\ncount = 3\n[sweep]\n\"path.loss\" = [\"1%\", \"2%\"]\n";
        let source = source(text);
        let found = |path: &str| {
            let span = source.span_of(path).unwrap();
            text[span.offset()..span.offset() + span.len()].to_owned()
        };
        assert_eq!(found("path.delay"), "delay = \"2ms\"");
        assert_eq!(found("flows.0.count"), "count = 3");
        assert_eq!(found("sweep.\"path.loss\".1"), "\"2%\"");
    }
}
