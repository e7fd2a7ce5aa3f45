//! Text wrapping that breaks no words.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Characters after which the name of a stack may be broken if necessary.
const JOINTS: [char; 3] = ['(', ',', '/'];

/// Returns `text` in lines of at most `width` columns, broken between words. A word that is longer than a line is
/// broken only after `(`, `,` or `/`.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let words = text.split(' ').map(|word| broken(word, width));
    let text = words.collect::<Vec<_>>().join(" ");
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(&text, options)
}

/// Returns `text` in lines of at most `width` columns, which begin with `spaces` spaces.
pub(crate) fn indented(text: &str, spaces: usize, width: usize) -> String {
    let indent = " ".repeat(spaces);
    let lines = wrap(text, width.saturating_sub(spaces).max(1));
    let lines: Vec<String> = lines
        .lines()
        .map(|line| format!("{indent}{line}"))
        .collect();
    lines.join("\n")
}

/// Returns the number of columns of the longest line of `text`.
pub(crate) fn columns(text: &str) -> usize {
    let widths = text.lines().map(textwrap::core::display_width);
    widths.max().unwrap_or(0)
}

/// Returns a word on one or more lines of at most `width` columns.
fn broken(word: &str, width: usize) -> String {
    if columns(word) <= width {
        return word.to_owned();
    }
    let mut lines = vec![String::new()];
    for piece in word.split_inclusive(JOINTS) {
        let line = lines.last_mut().expect("there is one from the beginning");
        if line.is_empty() || columns(line) + columns(piece) <= width {
            line.push_str(piece);
        } else {
            lines.push(piece.to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "rack/bbr(loss_thresh=0.9,beta=0.99,headroom=0)";

    #[test]
    fn only_words_longer_than_a_line_are_broken_at_joints() {
        let text = format!("against {LONG}, which is long");
        assert_eq!(wrap(&text, 50), format!("against\n{LONG},\nwhich is long"));
        assert_eq!(
            wrap(LONG, 30),
            "rack/bbr(loss_thresh=0.9,\nbeta=0.99,headroom=0)"
        );
        for width in [10, 20, 30, 40, 60] {
            let whole: String = wrap(&text, width).split_whitespace().collect();
            let wanted: String = text.split_whitespace().collect();
            assert_eq!(whole, wanted, "nothing is added or lost");
        }
    }

    #[test]
    fn every_line_is_indented() {
        assert_eq!(indented("one two three", 2, 9), "  one two\n  three");
        assert_eq!(columns("★ a\n12345"), 5);
    }
}
