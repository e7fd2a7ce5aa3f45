//! Checks for plain English: first words of doc comments, and spelling.
//!
//! The first line of a doc comment names the item ("Round-trip time estimator.") or says what a function does ("Returns
//! the lowest unacknowledged sequence number."). A relative clause in this position ("What the sender knows") is hard
//! to read.

use std::fs;
use std::process::Command;

use dupack_build::root;

use crate::needs;

/// Words with which a doc comment must not begin.
const OPENERS: [&str; 7] = ["What", "Who", "Whether", "Which", "Where", "That", "How"];

/// Maximum number of places in the error message.
const LISTED: usize = 40;

/// Checks the first lines of all doc comments. Also checks the spelling of all files if `typos` is installed.
///
/// # Errors
/// If a doc comment begins with one of the [`OPENERS`], or if a word is misspelt.
pub fn check() -> Result<(), String> {
    let places = openers()?;
    if !places.is_empty() {
        let more = places.len().saturating_sub(LISTED);
        let listed = places[..places.len() - more].join("\n");
        let rest = match more {
            0 => String::new(),
            more => format!("\n{more} more"),
        };
        return Err(format!(
            "{} doc comments begin with a relative clause; name the thing, or say what the function does:\n{listed}{rest}",
            places.len()
        ));
    }
    if needs::TYPOS.thing.is_here() {
        let typos = Command::new("typos").current_dir(root()).status();
        let typos = typos.map_err(|error| format!("cannot start typos: {error}"))?;
        if !typos.success() {
            return Err(
                "words are misspelt; terms of the field are listed in typos.toml".to_owned(),
            );
        }
    }
    Ok(())
}

/// Returns the places and the first lines of the doc comments that begin with one of the [`OPENERS`].
fn openers() -> Result<Vec<String>, String> {
    let files = Command::new("git")
        .args(["ls-files", "*.rs"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cannot start git: {error}"))?;
    let files = String::from_utf8_lossy(&files.stdout).into_owned();
    let mut places = Vec::new();
    for file in files.lines() {
        // Skip a file that was removed, if the removal is not committed yet.
        let Ok(text) = fs::read_to_string(root().join(file)) else {
            continue;
        };
        let found = text.lines().enumerate().scan("", |before, (number, line)| {
            let begins = !is_doc(before) && is_doc(line);
            *before = line;
            Some((number, line, begins))
        });
        let found = found.filter(|(_, line, begins)| *begins && has_opener(line));
        places.extend(
            found.map(|(number, line, _)| format!("{file}:{}: {}", number + 1, line.trim())),
        );
    }
    Ok(places)
}

/// Returns `true` if `line` belongs to a doc comment.
fn is_doc(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

/// Returns `true` if the line of a doc comment begins with one of the [`OPENERS`].
fn has_opener(line: &str) -> bool {
    let text = line.trim_start().get(3..).unwrap_or_default().trim_start();
    // "What-if" is a noun.
    let first = text.split(|c: char| !c.is_alphabetic() && c != '-').next();
    first.is_some_and(|first| OPENERS.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_clause_is_found_and_a_noun_is_not() {
        assert!(has_opener("    /// What the sender knows."));
        assert!(has_opener("//! Whether it is so."));
        assert!(!has_opener("/// Whatever the sender knows."));
        assert!(!has_opener("/// State of the sender.") && !has_opener("//! What-if in a line."));
        assert!(is_doc("  //! x") && !is_doc("// x"));
    }
}
