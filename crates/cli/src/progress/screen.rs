//! The terminal that shows the progress bars, and the space on its lines.

use std::io;

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};

use crate::output::{Keep, escaped};

/// Space for the text of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Space for all text, including the name of the current work.
    Wide {
        /// Columns for the name of the current work.
        message: usize,
    },
    /// Space for the number of completed runs.
    Narrow,
    /// Space for only the two numbers.
    Least,
}

/// Minimum width for a message next to the longest text, `12345/12345 runs, about 90 min left`, and a few columns of
/// the bar.
const WIDE_COLUMNS: usize = 56;

/// Minimum width for `12345/12345 runs` alone.
const NARROW_COLUMNS: usize = 28;

/// Width of the text and the shortest bar next to the message.
const BESIDE_MESSAGE: usize = 44;

impl Room {
    /// Returns the space on a line of the terminal. Without a terminal, the space is unlimited because nothing is
    /// drawn.
    pub fn of_the_terminal() -> Self {
        let term = Term::stderr();
        match term.is_term() {
            true => Self::of(columns(&term).into()),
            false => Self::Wide {
                message: usize::MAX,
            },
        }
    }

    /// Returns the space on a line of this width.
    const fn of(columns: usize) -> Self {
        match columns {
            WIDE_COLUMNS.. => Self::Wide {
                message: columns - BESIDE_MESSAGE,
            },
            NARROW_COLUMNS.. => Self::Narrow,
            _ => Self::Least,
        }
    }

    /// Returns the number of columns for the current work.
    pub const fn message(self) -> usize {
        match self {
            Self::Wide { message } => message,
            Self::Narrow | Self::Least => 0,
        }
    }
}

/// Returns the first `columns` characters of `text`, with control characters escaped. If text was cut off, the last
/// character is `…`.
pub fn cut(text: &str, columns: usize) -> String {
    let text = escaped(text, Keep::Nothing);
    if text.chars().count() <= columns {
        return text.into_owned();
    }
    let kept = text.chars().take(columns.saturating_sub(1));
    kept.chain(std::iter::once('…').take(columns)).collect()
}

/// Returns the target of bars, which is hidden without a terminal.
pub fn target() -> ProgressDrawTarget {
    let term = Term::buffered_stderr();
    match term.is_term() {
        true => ProgressDrawTarget::term_like(Box::new(Screen(term))),
        false => ProgressDrawTarget::hidden(),
    }
}

/// The terminal with its actual width. `console` assumes 80 columns for every terminal whose height is unknown, such as
/// the terminals of `script` and `expect`.
#[derive(Debug)]
struct Screen(Term);

/// Returns the columns of the terminal.
fn columns(term: &Term) -> u16 {
    match crossterm::terminal::size() {
        Ok((columns, _)) if columns > 0 => columns,
        _ => term.size().1,
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        columns(&self.0)
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_up(lines)
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.0.move_cursor_down(lines)
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_right(columns)
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.0.move_cursor_left(columns)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::progress::Bar;

    /// A terminal of this width that records its output.
    #[derive(Clone, Debug)]
    struct Kept(u16, Arc<Mutex<Vec<String>>>);

    impl Kept {
        fn keep(&self, text: &str) -> io::Result<()> {
            self.1.lock().unwrap().push(text.to_owned());
            Ok(())
        }
    }

    impl TermLike for Kept {
        fn width(&self) -> u16 {
            self.0
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.keep(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.keep(text)
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bars_are_one_line_at_any_width() {
        let long = "a sender whose name has rather more letters than most";
        for columns in 20..=200 {
            for what in ["compare", long] {
                let term = Kept(columns, Arc::default());
                let target = ProgressDrawTarget::term_like_with_hz(Box::new(term.clone()), 255);
                let bar = Bar::on(target, Room::of(columns.into()), 12_345, what);
                bar.bar.set_position(12_344);
                bar.bar.force_draw();
                let written = term.1.lock().unwrap().clone();
                let line = written.iter().rfind(|text| text.contains("12344/12345"));
                let line = line.unwrap_or_else(|| panic!("{columns}: {written:?}"));
                let length = line.chars().count();
                assert!(length <= columns.into(), "{columns}: {line}");
                assert!(line.contains(['━', '╸']), "{columns}: {line}");
                assert_eq!(
                    line.contains(what),
                    columns >= what.len() as u16 + 44 && columns >= 56,
                    "{columns}: {line}"
                );
            }
        }
    }

    #[test]
    fn cut_text_has_an_ellipsis() {
        assert_eq!(cut("compare", 7), "compare");
        assert_eq!(cut("compare", 6), "compa…");
        assert_eq!(cut("compare", 0), "");
    }
}
