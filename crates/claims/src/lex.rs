//! The lexer: splits the text of an expression into words.

use std::ops::Range;

use crate::syntax::{Fault, Operator};

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    Number(f64),
    Quantity(String),
    Text(String),
    Name(String),
    Operator(Operator),
    /// A bracket, comma, colon or dot.
    Mark(char),
    End,
}

impl Word {
    /// Returns the word as error messages show it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Number(number) => format!("`{number}`"),
            Self::Quantity(text) | Self::Name(text) => format!("`{text}`"),
            Self::Text(text) => format!("\"{text}\""),
            Self::Operator(operator) => format!("`{}`", operator.sign()),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Returns the words of `text` with their places. The last word is [`Word::End`].
pub(crate) fn words(text: &str) -> Result<Vec<(Word, Range<usize>)>, Fault> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (word, length) = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '0'..='9' => number(rest, at)?,
            '"' => {
                let Some(end) = rest[1..].find('"') else {
                    return Err(
                        Fault::new(&(at..text.len()), "unclosed text").help("close it with \"")
                    );
                };
                (Word::Text(rest[1..=end].to_owned()), end + 2)
            }
            c if c.is_alphabetic() || c == '_' => {
                let length = name_length(rest);
                (named(&rest[..length]), length)
            }
            _ => sign(rest, at)?,
        };
        out.push((word, at..at + length));
        at += length;
    }
    out.push((Word::End, text.len()..text.len()));
    Ok(out)
}

/// Returns the length of a name: letters, digits and underscores, and hyphens between two of these.
fn name_length(rest: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut length = 0;
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        let joins = c == '-' && chars.peek().is_some_and(|next| part(*next));
        if !part(c) && !joins {
            break;
        }
        length += c.len_utf8();
    }
    length
}

/// Returns `true` if `text` can be a name in an expression.
pub(crate) fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    starts && name_length(text) == text.len() && matches!(named(text), Word::Name(_))
}

fn named(name: &str) -> Word {
    match name {
        "and" => Word::Operator(Operator::And),
        "or" => Word::Operator(Operator::Or),
        "in" => Word::Operator(Operator::In),
        _ => Word::Name(name.to_owned()),
    }
}

/// Reads a number such as `12`, `0.5` or `1e-9`, or a number with a unit: `5%`, `50ms`, `2Mbit/s`.
fn number(rest: &str, at: usize) -> Result<(Word, usize), Fault> {
    let digits = |from: usize| {
        let run = rest[from..].bytes().take_while(u8::is_ascii_digit);
        from + run.count()
    };
    let mut end = digits(0);
    if rest[end..].starts_with('.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if rest[end..].starts_with('e') {
        let signed = end + 1 + usize::from(rest[end + 1..].starts_with(['-', '+']));
        if digits(signed) > signed {
            end = digits(signed);
        }
    }
    let value: f64 = rest[..end]
        .parse()
        .map_err(|_| Fault::new(&(at..at + end), "invalid number"))?;
    if !value.is_finite() {
        return Err(Fault::new(&(at..at + end), "the number is too large"));
    }
    if rest[end..].starts_with('%') {
        return Ok((Word::Quantity(rest[..=end].to_owned()), end + 1));
    }
    let letters = rest[end..].bytes().take_while(u8::is_ascii_alphabetic);
    let mut unit = end + letters.count();
    if unit == end {
        return Ok((Word::Number(value), end));
    }
    if rest[unit..].starts_with("/s") && name_length(&rest[unit + 1..]) == 1 {
        unit += 2;
    }
    Ok((Word::Quantity(rest[..unit].to_owned()), unit))
}

fn sign(rest: &str, at: usize) -> Result<(Word, usize), Fault> {
    const SIGNS: [(&str, Operator); 14] = [
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("!=", Operator::Unequal),
        ("==", Operator::Equal),
        ("≤", Operator::LessOrEqual),
        ("≥", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("=", Operator::Equal),
        ("+", Operator::Plus),
        ("-", Operator::Minus),
        ("*", Operator::Times),
        ("/", Operator::Over),
        ("×", Operator::Times),
    ];
    if let Some((text, operator)) = SIGNS.iter().find(|(text, _)| rest.starts_with(text)) {
        return Ok((Word::Operator(*operator), text.len()));
    }
    match rest.chars().next() {
        Some(mark @ ('(' | ')' | '[' | ']' | ',' | ':' | '.')) => Ok((Word::Mark(mark), 1)),
        other => {
            let other = other.unwrap_or_default();
            let message = format!("unexpected character `{other}`");
            Err(Fault::new(&(at..at + other.len_utf8()), message))
        }
    }
}
