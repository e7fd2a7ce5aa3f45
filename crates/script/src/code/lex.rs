//! The lexer: words, numbers, texts and signs.

use winnow::combinator::{alt, delimited, opt, repeat};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::token::{any, none_of, one_of, take_while};

use super::evaluate::Error;

type Lexed<T> = Result<T, ErrMode<ContextError>>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Int(i64),
    Float(f64),
    Text(String),
    Word(String),
    Sign(&'static str),
    /// End of a statement.
    End,
}

/// Signs. A longer sign comes before its prefixes.
const SIGNS: [&str; 28] = [
    "**=", "//=", "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=", "<", ">",
    "+", "-", "*", "/", "%", "&", "|", "^", "~", "(", ")", ",",
];

/// Returns the tokens of `text`, each with the number of lines above it, or the error with the number of lines above
/// it.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, (usize, Error)> {
    let mut rest = text;
    let mut line = 0;
    // Inside brackets, the end of a line does not end a statement.
    let mut depth = 0_usize;
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r']);
        if let Some(after) = rest.strip_prefix("\\\n") {
            rest = after;
            line += 1;
            continue;
        }
        if rest.starts_with('#') {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        }
        if let Some(after) = rest.strip_prefix(['\n', ';']) {
            if depth == 0 {
                tokens.push((line, Token::End));
            }
            line += usize::from(rest.starts_with('\n'));
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Ok(tokens);
        }
        let before = &text[..text.len() - rest.len()];
        let token = token(&mut rest).map_err(|_| (line, unread(before, rest)))?;
        match token {
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens.push((line, token));
    }
}

/// Returns the error for `rest`, which does not start with a valid token and follows `before`.
fn unread(before: &str, rest: &str) -> Error {
    let start: String = rest.chars().take_while(|&c| c != '\n').take(20).collect();
    match rest.chars().next() {
        // Three quotes start a text of several lines.
        Some(quote @ ('\'' | '"'))
            if !before.ends_with([quote; 2].iter().collect::<String>().as_str()) =>
        {
            Error::Wrong(format!("unclosed text at `{start}`: add `{quote}`"))
        }
        Some(sign @ ('$' | '?' | '!')) => Error::Wrong(format!("`{sign}` is not Python")),
        _ => Error::Beyond(format!(
            "Python other than assertions and arithmetic: `{start}`"
        )),
    }
}

fn token(input: &mut &str) -> Lexed<Token> {
    alt((
        number,
        quoted('\'').map(Token::Text),
        quoted('"').map(Token::Text),
        word.map(|word: &str| Token::Word(word.to_owned())),
        sign.map(Token::Sign),
    ))
    .parse_next(input)
}

fn word<'s>(input: &mut &'s str) -> Lexed<&'s str> {
    (
        one_of(|c: char| c.is_ascii_alphabetic() || c == '_'),
        take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_'),
    )
        .take()
        .parse_next(input)
}

fn number(input: &mut &str) -> Lexed<Token> {
    let hex = ("0x", take_while(1.., |c: char| c.is_ascii_hexdigit()))
        .try_map(|(_, digits): (&str, &str)| i64::from_str_radix(digits, 16).map(Token::Int));
    let exponent = || (one_of(['e', 'E']), opt(one_of(['+', '-'])), digits(1));
    let float = alt((
        (digits(0), '.', digits(1), opt(exponent())).take(),
        (digits(1), exponent()).take(),
    ))
    .try_map(|text: &str| text.parse().map(Token::Float));
    let int = digits(1).try_map(|text: &str| text.parse().map(Token::Int));
    alt((hex, float, int)).parse_next(input)
}

fn digits<'s>(least: usize) -> impl FnMut(&mut &'s str) -> Lexed<&'s str> {
    move |input| take_while(least.., |c: char| c.is_ascii_digit()).parse_next(input)
}

fn quoted(quote: char) -> impl FnMut(&mut &str) -> Lexed<String> {
    move |input| {
        let escaped = ('\\', any).map(|(_, c)| if c == 'n' { '\n' } else { c });
        let plain = none_of([quote, '\\', '\n']);
        let inside = repeat(0.., alt((escaped, plain)));
        delimited(quote, inside, quote).parse_next(input)
    }
}

fn sign(input: &mut &str) -> Lexed<&'static str> {
    for sign in SIGNS.into_iter().chain(["="]) {
        if let Some(rest) = input.strip_prefix(sign) {
            *input = rest;
            return Ok(sign);
        }
    }
    Err(ErrMode::Backtrack(ContextError::new()))
}
