//! The lexer of scripts.

use std::ops::Range;

use winnow::combinator::{alt, delimited, preceded, repeat};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location as _};
use winnow::token::{any, none_of, one_of, take_till, take_until, take_while};

use super::error::ParseError;

type Input<'s> = LocatingSlice<&'s str>;
type Lexed<T> = Result<T, ErrMode<ContextError>>;

/// A token with its position in bytes and its line, counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind<'s>,
    pub(super) span: Range<usize>,
    pub(super) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'s> {
    /// Digits, optionally with a minus sign.
    Number(i64),
    /// `0x…`
    Hex(i64),
    /// Digits with a point.
    Decimal(&'s str),
    /// Letters, digits and underscores.
    Word(&'s str),
    /// Text in double quotes.
    Text(&'s str),
    /// Text in back quotes.
    Shell(&'s str),
    /// Text between `%{` and `}%`.
    Code(&'s str),
    /// `--name=value`
    Option(&'s str),
    /// `...`
    Ellipsis,
    /// Any other character.
    Sign(char),
}

/// Splits a script into tokens.
pub(super) fn tokens(source: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut input = LocatingSlice::new(source);
    let mut tokens = Vec::new();
    let (mut line, mut counted) = (1, 0);
    loop {
        // Neither of the two can fail: the first takes as many characters as match, and the second accepts any
        // character.
        let _: Lexed<()> = repeat(0.., alt((white, line_comment, comment))).parse_next(&mut input);
        let start = input.current_token_start();
        if start == source.len() {
            return Ok(tokens);
        }
        if source[start..].starts_with("/*") {
            return Err(unfinished(source, start));
        }
        line += source[counted..start].matches('\n').count();
        counted = start;
        let kind = token(&mut input).map_err(|_| unfinished(source, start))?;
        let span = start..input.previous_token_end();
        if let Some(at) = source[span.clone()].find(char::REPLACEMENT_CHARACTER) {
            return Err(foreign(source, start + at));
        }
        tokens.push(Token { kind, span, line });
    }
}

/// Creates the error for replacement characters. The caller replaces bytes that are not UTF-8. Their meaning is
/// unknown, so they are allowed only in comments.
fn foreign(source: &str, at: usize) -> ParseError {
    let end = at + char::REPLACEMENT_CHARACTER.len_utf8();
    ParseError::wrong(
        source,
        at..end,
        "invalid UTF-8, which is allowed only in comments: save the script as UTF-8".to_owned(),
    )
}

/// Creates the error for a token whose end is missing.
fn unfinished(source: &str, at: usize) -> ParseError {
    let message = match source[at..].chars().next() {
        Some('`') => "unclosed shell commands: add a back quote",
        Some('"') => "unclosed text: add a double quote",
        Some('%') => "unclosed code: add `}%`",
        Some('/') => "unclosed comment: add `*/`",
        _ => "the number has too many digits",
    };
    ParseError::wrong(source, at..at + 1, message.to_owned())
}

fn white(input: &mut Input<'_>) -> Lexed<()> {
    take_while(1.., char::is_whitespace)
        .void()
        .parse_next(input)
}

fn line_comment(input: &mut Input<'_>) -> Lexed<()> {
    ("//", take_till(0.., '\n')).void().parse_next(input)
}

fn comment(input: &mut Input<'_>) -> Lexed<()> {
    ("/*", take_until(0.., "*/"), "*/").void().parse_next(input)
}

fn token<'s>(input: &mut Input<'s>) -> Lexed<Kind<'s>> {
    alt((
        "...".value(Kind::Ellipsis),
        delimited("%{", take_until(0.., "}%"), "}%").map(Kind::Code),
        preceded("--", take_till(1.., char::is_whitespace)).map(Kind::Option),
        quoted('"').map(Kind::Text),
        quoted('`').map(Kind::Shell),
        decimal.map(Kind::Decimal),
        word,
        any.verify(|c: &char| !matches!(c, '"' | '`' | '%'))
            .map(Kind::Sign),
    ))
    .parse_next(input)
}

/// Parses the text between two `quote` characters. Backslashes are kept.
fn quoted<'s>(quote: char) -> impl FnMut(&mut Input<'s>) -> Lexed<&'s str> {
    move |input| {
        let escaped = ('\\', any).void();
        let plain = none_of([quote, '\\']).void();
        let inside = repeat::<_, _, (), _, _>(0.., alt((escaped, plain))).take();
        delimited(quote, inside, quote).parse_next(input)
    }
}

fn decimal<'s>(input: &mut Input<'s>) -> Lexed<&'s str> {
    (
        take_while(0.., |c: char| c.is_ascii_digit()),
        '.',
        take_while(1.., |c: char| c.is_ascii_digit()),
    )
        .take()
        .parse_next(input)
}

/// Parses words and numbers, because numbers look like words.
fn word<'s>(input: &mut Input<'s>) -> Lexed<Kind<'s>> {
    let letters = take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_');
    let negative = (
        '-',
        one_of(|c: char| c.is_ascii_digit()),
        take_while(0.., |c: char| c.is_ascii_digit()),
    )
        .take();
    alt((letters, negative))
        .try_map(|text: &str| {
            if let Some(digits) = text.strip_prefix("0x") {
                return i64::from_str_radix(digits, 16).map(Kind::Hex);
            }
            let digits = text.strip_prefix('-').unwrap_or(text);
            if digits.bytes().all(|b| b.is_ascii_digit()) {
                text.parse().map(Kind::Number)
            } else {
                Ok(Kind::Word(text))
            }
        })
        .parse_next(input)
}
