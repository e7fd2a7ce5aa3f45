//! What commands print, and where they put their files.

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

/// Whether, and how wide, the terminal shows tables.
pub fn terminal() -> (Colour, Option<u16>) {
    let stdout = io::stdout();
    if stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        (Colour::Yes, None)
    } else {
        (Colour::No, Some(120))
    }
}

/// Says what there is to warn of, and where the report is.
pub fn warn(results: &Results, folder: &OutputFolder) {
    for warning in &results.warnings {
        eprintln!("warning: {warning}");
    }
    eprintln!("report: {}", folder.path().join(PAGE).display());
}
