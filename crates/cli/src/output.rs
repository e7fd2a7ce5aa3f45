//! What commands print, and where they put their files.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use dupack_lab::results::Results;
use dupack_report::files::PAGE;
use dupack_report::folder::{IfPresent, OutputFolder};
use dupack_report::table::Colour;
use miette::{IntoDiagnostic, Result};

/// Exit code of a command that was interrupted, as shells have it for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Prints `text` with a line break. A reader that has gone away is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.into_diagnostic(),
    }
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
        eprintln!("warning: {warning}");
    }
    eprintln!("report: {}", folder.path().join(PAGE).display());
}
