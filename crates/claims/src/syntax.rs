//! The syntax tree of an expression.

use std::ops::Range;

/// A part of an expression and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The part itself.
    pub(crate) node: Node,
    /// Its place in the text, in bytes.
    pub(crate) span: Range<usize>,
}

/// The kinds of parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// `1.29`, `5%`.
    Number(f64),
    /// A number with a unit, as an experiment file writes it: `150Mbit/s`.
    Quantity(String),
    /// `"sack/reno"`.
    Text(String),
    /// `SACK`.
    Name(String),
    /// `[SACK, FACK]`.
    List(Vec<Expression>),
    /// `mean(…)`.
    Call {
        name: String,
        inputs: Vec<Expression>,
    },
    /// `goodput[SACK, loss >= 5%]`.
    Select {
        name: String,
        choices: Vec<Expression>,
    },
    /// `figure6a.goodput[LE]`: the part after the dot is about this experiment.
    Within {
        experiment: String,
        body: Box<Expression>,
    },
    /// `all s in others: …`.
    Over {
        kind: Over,
        variable: String,
        items: Box<Expression>,
        body: Box<Expression>,
    },
    /// `-x`.
    Negative(Box<Expression>),
    /// `not x`.
    Not(Box<Expression>),
    /// `x + y`.
    Binary {
        operator: Operator,
        left: Box<Expression>,
        right: Box<Expression>,
    },
}

/// Result of a loop, whose body is evaluated for every item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The list of values.
    Each,
    /// True if the body is true for all items.
    All,
    /// True if the body is true for at least one item.
    Any,
}

/// An operator between two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
    In,
    Plus,
    Minus,
    Times,
    Over,
}

impl Operator {
    /// Returns `true` for the comparison operators.
    pub(crate) const fn compares(self) -> bool {
        matches!(
            self,
            Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
                | Self::Equal
                | Self::Unequal
                | Self::In
        )
    }

    /// Returns the binding strength; a stronger operator binds more tightly.
    pub(crate) const fn strength(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Plus | Self::Minus => 5,
            Self::Times | Self::Over => 6,
            _ => 4,
        }
    }

    /// Returns the operator as it is written.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "=",
            Self::Unequal => "!=",
            Self::In => "in",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
        }
    }
}

/// An error in an expression and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) span: Range<usize>,
    pub(crate) help: Option<String>,
    /// Key of the definition that the error is in; `None` if it is in the text that was evaluated.
    pub(crate) definition: Option<String>,
}

impl Fault {
    pub(crate) fn new(span: &Range<usize>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            span: span.clone(),
            help: None,
            definition: None,
        }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// Adds a suggestion as help: the nearest known word if one is similar, otherwise all of them.
    pub(crate) fn meant<'k>(self, wrong: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        let known: Vec<&str> = known.into_iter().filter(|word| !word.is_empty()).collect();
        let near = known
            .iter()
            .map(|word| (strsim::damerau_levenshtein(wrong, word), *word))
            .filter(|(distance, word)| *distance <= 1 + word.len() / 3)
            .min();
        match near {
            Some((_, word)) => self.help(format!("did you mean `{word}`?")),
            None if known.is_empty() => self,
            None => self.help(format!("expected one of {}", known.join(", "))),
        }
    }
}
