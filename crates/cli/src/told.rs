//! Prints errors on the terminal in the layout of miette. Control characters in quoted text are escaped.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};

use miette::{
    Diagnostic, LabeledSpan, MietteHandlerOpts, NamedSource, ReportHandler, Severity, SourceCode,
    SourceSpan,
};

use crate::output::{Keep, escaped};

/// Prints `error` to standard error. A closed pipe is not an error.
pub fn error(error: &dyn Diagnostic) {
    let _ = writeln!(io::stderr().lock(), "{:?}", Drawn(&Told::of(error)));
}

/// Prints the error in the command line, or the requested help, and exits.
pub fn exit(error: &clap::Error, code: i32) -> ! {
    let code = if error.use_stderr() { code } else { 0 };
    let has_controls = |word: String| word.chars().any(char::is_control);
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    if error.use_stderr() && words.any(has_controls) {
        // Control characters in quoted arguments must be escaped. Escaping also removes the colours.
        crate::output::say(error.render().to_string().trim_end());
    } else {
        // If the terminal is closed, the message is lost.
        let _ = error.print();
    }
    std::process::exit(code)
}

/// An error that is formatted in the layout of miette.
struct Drawn<'e>(&'e Told);

impl fmt::Debug for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        MietteHandlerOpts::new().build().debug(self.0, f)
    }
}

/// The contents of a diagnostic with control characters escaped.
#[derive(Debug, Default)]
struct Told {
    message: String,
    code: Option<String>,
    severity: Option<Severity>,
    help: Option<String>,
    url: Option<String>,
    labels: Vec<LabeledSpan>,
    source: Option<NamedSource<String>>,
    cause: Option<Box<Self>>,
}

/// Maximum number of lines that are read from a file to which an error points.
const LINES: usize = 1_000_000;

impl Told {
    fn of(error: &dyn Diagnostic) -> Self {
        let labels = error.labels().into_iter().flatten();
        let labels = labels.map(|label| {
            let text = label.label().map(clean);
            LabeledSpan::new_with_span(text, *label.inner())
        });
        let cause = match error.diagnostic_source() {
            Some(cause) => Some(Self::of(cause)),
            None => error.source().map(Self::of_error),
        };
        Self {
            message: clean(error),
            code: error.code().map(clean),
            severity: error.severity(),
            help: error.help().map(clean),
            url: error.url().map(clean),
            labels: labels.collect(),
            source: error.source_code().and_then(source),
            cause: cause.map(Box::new),
        }
    }

    fn of_error(error: &(dyn Error + 'static)) -> Self {
        Self {
            message: clean(error),
            cause: error.source().map(|cause| Box::new(Self::of_error(cause))),
            ..Self::default()
        }
    }
}

fn clean(text: impl fmt::Display) -> String {
    escaped(&text.to_string(), Keep::Nothing).into_owned()
}

/// Returns the text of a file in which each control character is replaced by a character of the same length, so that
/// all positions stay the same.
fn source(code: &dyn SourceCode) -> Option<NamedSource<String>> {
    let whole = code.read_span(&SourceSpan::from(0..0), 0, LINES).ok()?;
    let text = String::from_utf8_lossy(whole.data());
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        // Control characters outside ASCII have two bytes.
        c if c.is_control() => {
            if c.is_ascii() {
                '?'
            } else {
                '¿'
            }
        }
        c => c,
    };
    let name = whole.name().map(clean).unwrap_or_default();
    Some(NamedSource::new(name, text.chars().map(shown).collect()))
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Told {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

type Shown<'a> = Box<dyn fmt::Display + 'a>;

impl Diagnostic for Told {
    fn code(&self) -> Option<Shown<'_>> {
        self.code.as_ref().map(|code| Box::new(code) as Shown<'_>)
    }

    fn severity(&self) -> Option<Severity> {
        self.severity
    }

    fn help(&self) -> Option<Shown<'_>> {
        self.help.as_ref().map(|help| Box::new(help) as Shown<'_>)
    }

    fn url(&self) -> Option<Shown<'_>> {
        self.url.as_ref().map(|url| Box::new(url) as Shown<'_>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use dupack_lab::experiment::load::{ExperimentError, Source};

    use super::*;

    fn drawn(error: &dyn Diagnostic) -> String {
        format!("{:?}", Drawn(&Told::of(error)))
    }

    #[test]
    fn quoted_text_is_escaped_and_positions_are_kept() {
        let source = Source::new("a\u{1b}]0;x\u{7}.toml", "seeds = 3\n");
        let message = "no \u{1b}[31mseed".to_owned();
        let error = ExperimentError::at(&source, "seeds", message, Some("\u{7}".to_owned()));
        let said = drawn(&error);
        assert!(said.contains("no \\u{1b}[31mseed"), "{said}");
        assert!(said.contains("a\\u{1b}]0;x\\u{7}.toml"), "{said}");
        assert!(
            !said.contains('\u{7}') && !said.contains("\u{1b}]"),
            "{said}"
        );
        // The arrow is in the line below the value.
        let lines: Vec<&str> = said.lines().collect();
        let at = { lines.iter() }
            .position(|line| line.contains("seeds = 3"))
            .unwrap();
        assert!(lines[at + 1].contains('┬'), "{said}");
        // A file whose text contains control characters is not valid TOML.
        let text = "stacks = []\n# \u{1b}[2J \u{9b}\nseeds = 3\n";
        let error = Source::new("a.toml", text).parse().unwrap_err();
        let said = drawn(&error);
        assert!(said.contains("# ?[2J ¿"), "{said}");
        assert!(
            !said.contains('\u{9b}') && !said.contains("\u{1b}[2J"),
            "{said}"
        );
    }

    #[test]
    fn causes_are_printed() {
        let error = miette::miette!(help = "do this", "it failed").wrap_err("the whole failed");
        let said = drawn(error.as_ref());
        for part in ["the whole failed", "it failed", "do this"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
