//! A position in the tokens of a script.

use super::error::ParseError;
use super::lex::{Kind, Token};

/// Result of parsing a part of the grammar.
pub(super) type Parsed<T> = Result<T, ParseError>;

pub(super) struct Cursor<'s, 't> {
    source: &'s str,
    /// End of the script without trailing white space.
    end: usize,
    last_line: usize,
    tokens: &'t [Token<'s>],
    next: usize,
    depth: usize,
}

/// Maximum nesting of brackets, in calls and in code. Real scripts have three or four levels. Recursive parsing needs a
/// bound that is well within a thread's stack.
pub(crate) const DEEPEST: usize = 50;

impl<'s, 't> Cursor<'s, 't> {
    pub(super) fn new(source: &'s str, tokens: &'t [Token<'s>]) -> Self {
        let text = source.trim_end();
        Self {
            source,
            end: text.len(),
            last_line: text.matches('\n').count() + 1,
            tokens,
            next: 0,
            depth: 0,
        }
    }

    /// Returns the next token.
    pub(super) fn peek(&self) -> Option<Kind<'s>> {
        self.tokens.get(self.next).map(|token| token.kind)
    }

    /// Returns the token after the next token.
    pub(super) fn peek_second(&self) -> Option<Kind<'s>> {
        self.tokens.get(self.next + 1).map(|token| token.kind)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// Parses with `read`, one nesting level deeper.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return Err(self.wrong(&too_deep()));
        }
        self.depth += 1;
        let inside = read(self);
        self.depth -= 1;
        inside
    }

    /// Returns the position, for [`wrong_at`](Self::wrong_at).
    pub(super) const fn position(&self) -> usize {
        self.next
    }

    /// Returns the line of the next token, from 1.
    pub(super) fn line(&self) -> usize {
        let line = |token: &Token<'_>| token.line;
        self.tokens.get(self.next).map_or(self.last_line, line)
    }

    /// Returns `true` if the next token directly follows the previous one.
    pub(super) fn is_close(&self) -> bool {
        let before = self.next.checked_sub(1).map(|at| self.span(at).end);
        before == Some(self.span(self.next).start)
    }

    fn span(&self, at: usize) -> std::ops::Range<usize> {
        let token = self.tokens.get(at);
        token.map_or(self.end..self.end, |token| token.span.clone())
    }

    /// Takes `sign` if it is next. Returns `true` if it was taken.
    pub(super) fn take_sign(&mut self, sign: char) -> bool {
        let there = self.peek() == Some(Kind::Sign(sign));
        self.next += usize::from(there);
        there
    }

    /// Takes `word` if it is next. Returns `true` if it was taken.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let there = self.peek() == Some(Kind::Word(word));
        self.next += usize::from(there);
        there
    }

    /// Takes `sign`. If it is not next, returns an error that names what was expected.
    pub(super) fn sign(&mut self, sign: char, meant: &str) -> Parsed<()> {
        match self.take_sign(sign) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{sign}` ({meant})"))),
        }
    }

    /// Takes a number that fits into a `T`.
    pub(super) fn number<T: TryFrom<i64>>(&mut self, meant: &str) -> Parsed<T> {
        let (Some(Kind::Number(number)) | Some(Kind::Hex(number))) = self.peek() else {
            return Err(self.expected(meant));
        };
        let number = T::try_from(number)
            .map_err(|_| self.wrong(&format!("{number} is out of range for {meant}")))?;
        self.advance();
        Ok(number)
    }

    /// Creates the error for an unexpected next token.
    pub(super) fn expected(&self, meant: &str) -> ParseError {
        let found = match self.tokens.get(self.next) {
            None => "the end of the script".to_owned(),
            Some(token) => {
                let text = self.source[token.span.clone()].lines().next();
                let text: String = text.unwrap_or_default().chars().take(20).collect();
                format!("`{text}`")
            }
        };
        self.wrong(&format!("expected {meant}, found {found}"))
    }

    pub(super) fn wrong(&self, message: &str) -> ParseError {
        self.wrong_at(self.next, message)
    }

    pub(super) fn wrong_at(&self, position: usize, message: &str) -> ParseError {
        ParseError::wrong(self.source, self.span(position), message.to_owned())
    }

    /// Creates the error for a valid but unsupported token.
    pub(super) fn missing(&self, message: &str) -> ParseError {
        ParseError::missing(self.source, self.span(self.next), message.to_owned())
    }
}

/// Returns the message for nesting beyond [`DEEPEST`].
pub(crate) fn too_deep() -> String {
    format!("nested too deeply: at most {DEEPEST} levels")
}
