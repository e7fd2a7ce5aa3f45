//! Output of commands, and their folders.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use dupack_engine::folder::{IfPresent, OutputFolder};
use dupack_lab::results::Results;
use dupack_report::files::PAGE;
use dupack_report::table::Colour;
use miette::{IntoDiagnostic, Result};

/// Exit code of an interrupted command. Shells use this code for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Prints `text` with a line break. A closed pipe is not an error. On a terminal, colours are kept and other control
/// characters are escaped, because they may come from foreign names.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let text = match out.is_terminal() {
        true => escaped(text.trim_end(), Keep::Colours),
        false => Cow::Borrowed(text.trim_end()),
    };
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.into_diagnostic(),
    }
}

/// Prints `text`, which has no colours, to standard error with a line break. Control characters are escaped. A closed
/// pipe is not an error.
pub fn say(text: &str) {
    // If standard error cannot be written, the error cannot be reported anywhere.
    let _ = writeln!(io::stderr().lock(), "{}", escaped(text, Keep::Nothing));
}

/// Control sequences that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// No sequences.
    Nothing,
    /// Sequences that set colours: `ESC [ … m`.
    Colours,
}

/// Returns `text` with control characters except tabs and line breaks escaped like `\\u{1b}`. A terminal would execute
/// control characters, and they may come from a file name.
pub fn escaped(text: &str, keep: Keep) -> Cow<'_, str> {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match colour(rest) {
            Some(length) if keep == Keep::Colours => {
                shown.push_str(&rest[..length]);
                length
            }
            _ if is_plain(c) => {
                shown.push(c);
                c.len_utf8()
            }
            _ => {
                shown.extend(c.escape_default());
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// Returns the length of the colour sequence at the start of `text`, if there is one.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then_some(2 + end + 1)
}

/// Returns the output folder: the folder `named`, or a new folder under `dupack-out`.
pub fn folder(named: Option<&Path>, name: &str) -> Result<OutputFolder> {
    Ok(match named {
        Some(path) => OutputFolder::create(path, IfPresent::Refuse)?,
        None => OutputFolder::create(&Path::new("dupack-out").join(name), IfPresent::Number)?,
    })
}

/// Returns the words of the command given by `args`, quoted for a shell, without `flags` and the values of these flags.
pub fn command_without(args: impl Iterator<Item = OsString>, flags: &[&str]) -> Vec<String> {
    let mut words = vec!["dupack".to_owned()];
    let mut args = args.skip(1).map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = args.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (&*word, None),
        };
        if !flags.contains(&flag) {
            words.push(quoted(&word));
        } else if value.is_none() {
            args.next();
        }
    }
    words
}

/// Returns `word` quoted for a shell, so that the command can be pasted.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Width of tables without a terminal, in columns.
const WIDTH: u16 = 120;

/// Returns the use of colour, and the width of tables. On a terminal, the width is `None` because the terminal has its
/// own width. For a file or a pipe, the width is the value of the variable `COLUMNS`, or 120 columns without this
/// variable.
pub fn terminal() -> (Colour, Option<u16>) {
    let is_terminal = io::stdout().is_terminal();
    let colour = match is_terminal && std::env::var_os("NO_COLOR").is_none() {
        true => Colour::Yes,
        false => Colour::No,
    };
    let said = || std::env::var("COLUMNS").ok()?.parse::<u16>().ok();
    let said = || said().filter(|columns| *columns > 0).unwrap_or(WIDTH);
    (colour, (!is_terminal).then(said))
}

/// Prints warnings and the path of the report.
pub fn warn(results: &Results, folder: &OutputFolder) {
    for warning in &results.warnings {
        say!("warning: {warning}");
    }
    say!("report: {}", folder.path().join(PAGE).display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_except_own_colours() {
        let text = "a\tb\n\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7} \u{9b}2J \r é";
        let nothing = escaped(text, Keep::Nothing);
        assert_eq!(
            nothing,
            "a\tb\n\\u{1b}[1;31mred\\u{1b}[0m \\u{1b}]0;title\\u{7} \\u{9b}2J \\r é"
        );
        let colours = escaped(text, Keep::Colours);
        assert!(
            colours.contains("\u{1b}[1;31mred\u{1b}[0m \\u{1b}]0;"),
            "{colours}"
        );
        assert!(!colours.contains('\u{7}') && !colours.contains('\u{9b}'));
        // An incomplete colour sequence is escaped.
        assert_eq!(escaped("\u{1b}[3", Keep::Colours), "\\u{1b}[3");
        assert!(matches!(
            escaped("plain é\n", Keep::Nothing),
            Cow::Borrowed(_)
        ));
    }
}
