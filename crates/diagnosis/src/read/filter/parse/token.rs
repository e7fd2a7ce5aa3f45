//! Words and operators of a capture filter.

use crate::read::filter::error::{FilterError, Problem, shown};

/// Word or operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Column in characters, from 1.
    pub(super) column: usize,
    /// Text as it was written.
    text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// Keyword or value.
    Word(&'a str),
    Open,
    Close,
    Not,
    And,
    Or,
    Equal,
    Unequal,
    /// Character that is not part of the filter syntax.
    Sign,
    End,
}

impl<'a> Token<'a> {
    pub(super) const NONE: Self = Self {
        kind: Kind::End,
        column: 1,
        text: "",
    };

    /// Returns the parser's keyword; `None` if the token is not a keyword.
    pub(super) fn keyword(self) -> Option<&'static str> {
        let Kind::Word(word) = self.kind else {
            return None;
        };
        let same = |keyword: &&str| word.eq_ignore_ascii_case(keyword);
        super::KEYWORDS.into_iter().find(same)
    }

    /// Returns an error for a token that differs from the expected syntax.
    pub(super) fn expected(
        self,
        expected: &'static str,
        example: impl Into<String>,
    ) -> FilterError {
        let found = match self.kind {
            Kind::End => "the end of the filter".to_owned(),
            _ => format!("`{}`", shown(self.text)),
        };
        self.error(Problem::Expected {
            expected,
            found,
            example: example.into(),
        })
    }

    pub(super) const fn error(self, problem: Problem) -> FilterError {
        FilterError {
            column: self.column,
            problem,
        }
    }
}

/// Returns all tokens of `text`; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut column) = (text, 1);
    loop {
        let trimmed = rest.trim_start();
        let blanks = rest.strip_suffix(trimmed).unwrap_or_default();
        column += blanks.chars().count();
        let (kind, length) = first(trimmed);
        let (text, after) = trimmed.split_at_checked(length).unwrap_or((trimmed, ""));
        tokens.push(Token { kind, column, text });
        if kind == Kind::End {
            return tokens;
        }
        column += text.chars().count();
        rest = after;
    }
}

/// Returns the first token of `text` and its length in bytes.
fn first(text: &str) -> (Kind<'_>, usize) {
    let signs = [
        ("&&", Kind::And),
        ("||", Kind::Or),
        ("==", Kind::Equal),
        ("!=", Kind::Unequal),
        ("=", Kind::Equal),
        ("!", Kind::Not),
        ("(", Kind::Open),
        (")", Kind::Close),
    ];
    if let Some((sign, kind)) = signs.into_iter().find(|(sign, _)| text.starts_with(sign)) {
        return (kind, sign.len());
    }
    let Some(sign) = text.chars().next() else {
        return (Kind::End, 0);
    };
    let length = text.find(|c| !is_of_word(c)).unwrap_or(text.len());
    let Some(word) = text.get(..length).filter(|word| !word.is_empty()) else {
        return (Kind::Sign, sign.len_utf8());
    };
    let operators = [
        ("and", Kind::And),
        ("or", Kind::Or),
        ("not", Kind::Not),
        ("eq", Kind::Equal),
        ("ne", Kind::Unequal),
    ];
    let named = operators
        .into_iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name));
    (named.map_or(Kind::Word(word), |(_, kind)| kind), length)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || ".:/-_%*".contains(c)
}
