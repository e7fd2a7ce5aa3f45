//! What commands print, and where they put their files.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use dupack_engine::folder::{IfPresent, OutputFolder};
use dupack_lab::results::Results;
use dupack_report::files::PAGE;
use dupack_report::table::Colour;
use miette::{IntoDiagnostic, Result};

/// Exit code of a command that was interrupted, as shells have it for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Prints `text` with a line break. A reader that has gone away is no error. A terminal gets colours and no other
/// control characters: they would be those of somebody's names.
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

/// Says `text`, which has no colours, on standard error with a line break, its control characters escaped. A reader that
/// has gone away is no error.
pub fn say(text: &str) {
    // There is nobody to tell that it cannot be said.
    let _ = writeln!(io::stderr().lock(), "{}", escaped(text, Keep::Nothing));
}

/// Which control sequences stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// None.
    Nothing,
    /// Those that set colours: `ESC [ … m`.
    Colours,
}

/// `text` with control characters as Rust writes them, `\\u{1b}`, but for tabs and line breaks: a terminal obeys them,
/// and they may be those of a file's name.
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

/// The length of the sequence that sets a colour, if `text` begins with one.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then_some(2 + end + 1)
}

/// The output folder: the one that was named, or a new one under `dupack-out`.
pub fn folder(named: Option<&Path>, name: &str) -> Result<OutputFolder> {
    Ok(match named {
        Some(path) => OutputFolder::create(path, IfPresent::Refuse)?,
        None => OutputFolder::create(&Path::new("dupack-out").join(name), IfPresent::Number)?,
    })
}

/// The command that was given with `args`, without `flags` and their values, as words for a shell.
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

/// `word` as a shell takes it: the command in which it stands can be pasted.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How wide tables are where there is no terminal, and nobody says.
const WIDTH: u16 = 120;

/// Whether the terminal shows colours, and how wide tables are; none where the terminal says it. Into a
/// file or a pipe they are as wide as the variable `COLUMNS` says.
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

/// Says what there is to warn of, and where the report is.
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
    fn control_characters_are_escaped_and_colours_stay_where_they_are_ours() {
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
        // A sequence that is cut off is none.
        assert_eq!(escaped("\u{1b}[3", Keep::Colours), "\\u{1b}[3");
        assert!(matches!(
            escaped("plain é\n", Keep::Nothing),
            Cow::Borrowed(_)
        ));
    }
}
