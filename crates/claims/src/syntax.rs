//! The syntax tree of an expression.

use std::ops::Range;

/// A part of an expression and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Kind of the part, with its contents.
    pub(crate) node: Node,
    /// Place of the part in the text, in bytes.
    pub(crate) span: Range<usize>,
}

/// Kinds of parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// A number or percentage: `1.29`, `5%`.
    Number(f64),
    /// A number with a unit, as an experiment file writes it: `150Mbit/s`.
    Quantity(String),
    /// Quoted text: `"sack/reno"`.
    Text(String),
    /// A name: `SACK`.
    Name(String),
    /// A list: `[SACK, FACK]`.
    List(Vec<Expression>),
    /// A call of a function or definition: `mean(…)`.
    Call {
        name: String,
        inputs: Vec<Expression>,
    },
    /// A quantity with choices in brackets: `goodput[SACK, loss >= 5%]`.
    Select {
        name: String,
        choices: Vec<Expression>,
    },
    /// `figure6a.goodput[LE]`: the part after the dot is evaluated in this experiment.
    Within {
        experiment: String,
        body: Box<Expression>,
    },
    /// A loop: `all s in others: …`.
    Over {
        kind: Over,
        variable: String,
        items: Box<Expression>,
        body: Box<Expression>,
    },
    /// Negation of a number: `-x`.
    Negative(Box<Expression>),
    /// Negation of a truth value: `not x`.
    Not(Box<Expression>),
    /// An operator with two operands: `x + y`.
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

    /// Returns the precedence of the operator: an operator with a higher value binds more tightly.
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
    /// Key of the definition that contains the error. `None` if the evaluated text itself contains it.
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

    /// Adds a suggestion as help: the most similar known word if there is one, otherwise all known words.
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
