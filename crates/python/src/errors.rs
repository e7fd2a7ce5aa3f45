//! Conversion of Rust errors to exceptions of `dupack.errors`.

use dupack_lab::experiment::load::{Complaint, ExperimentError};
use miette::Diagnostic;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Creates the exception `kind` of `dupack.errors` with `message` and with named `details` such as `help`.
pub fn exception(
    py: Python<'_>,
    kind: &str,
    message: &str,
    details: &[(&str, Option<String>)],
) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let class = py.import("dupack.errors")?.getattr(kind)?;
        let named = PyDict::new(py);
        for (name, value) in details {
            named.set_item(name, value)?;
        }
        Ok(PyErr::from_value(class.call((message,), Some(&named))?))
    };
    make().unwrap_or_else(|error| error)
}

/// Creates the exception `kind` from an error, with the help text of the error.
pub fn diagnosed(py: Python<'_>, kind: &str, error: &dyn Diagnostic) -> PyErr {
    let help = error.help().map(|help| in_python(&help.to_string()));
    exception(py, kind, &with_causes(error), &[("help", help)])
}

/// Replaces flags in a help text by the names of Python's arguments.
fn in_python(help: &str) -> String {
    let mut help = help.to_owned();
    // The help text says "with --resume DIR in place of --out", but in Python, `out=` still names the folder.
    const INSTEAD: &str = " in place of --out";
    if let (Some(begin), Some(end)) = (help.find("--resume "), help.find(INSTEAD))
        && begin < end
    {
        help.replace_range(begin..end + INSTEAD.len(), "--resume");
    }
    help.replace("--resume", "resume=True")
        .replace("--out", "out=")
}

/// Returns the message of an error and the messages of its causes.
fn with_causes(error: &dyn Diagnostic) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}

/// Creates an `ExperimentError` that names the invalid field.
pub fn experiment(py: Python<'_>, error: &ExperimentError) -> PyErr {
    match error {
        ExperimentError::Invalid(complaint) => invalid(py, complaint),
        ExperimentError::Unreadable { path, .. } => {
            let help = error.help().map(|help| help.to_string());
            let details = [("help", help), ("file", Some(path.clone()))];
            exception(py, "ExperimentError", &error.to_string(), &details)
        }
        _ => diagnosed(py, "ExperimentError", error),
    }
}

fn invalid(py: Python<'_>, complaint: &Complaint) -> PyErr {
    let text = complaint.file.inner();
    let start = complaint.at.map(|at| at.offset().min(text.len()));
    let before = start.and_then(|start| text.get(..start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    let excerpt = line.and_then(|line| text.lines().nth(line - 1));
    let details = [
        ("field", complaint.field.clone()),
        ("help", complaint.help.clone()),
        ("file", Some(complaint.file.name().to_owned())),
        ("line", line.map(|line| line.to_string())),
        ("excerpt", excerpt.map(str::to_owned)),
    ];
    exception(py, "ExperimentError", &complaint.message, &details)
}
