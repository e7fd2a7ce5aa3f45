//! Values in code.

use std::cmp::Ordering;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Tuple(Vec<Value>),
}

/// A number, for arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(super) const fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    pub(super) const fn value(self) -> Value {
        match self {
            Self::Int(int) => Value::Int(int),
            Self::Float(float) => Value::Float(float),
        }
    }
}

impl Value {
    /// Returns `true` if the value counts as true in a condition.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(bool) => *bool,
            Self::Int(int) => *int != 0,
            Self::Float(float) => *float != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Tuple(items) => !items.is_empty(),
        }
    }

    /// Returns the value as a number. `True` and `False` are 1 and 0.
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            Self::Bool(bool) => Some(Number::Int(i64::from(*bool))),
            Self::Int(int) => Some(Number::Int(*int)),
            Self::Float(float) => Some(Number::Float(*float)),
            _ => None,
        }
    }

    /// Returns the order of two values; `None` if they cannot be ordered.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        if let (Some(one), Some(two)) = (self.number(), other.number()) {
            return match (one, two) {
                (Number::Int(one), Number::Int(two)) => Some(one.cmp(&two)),
                _ => one.as_f64().partial_cmp(&two.as_f64()),
            };
        }
        match (self, other) {
            (Self::Text(one), Self::Text(two)) => Some(one.cmp(two)),
            (Self::Tuple(one), Self::Tuple(two)) => {
                for (one, two) in one.iter().zip(two) {
                    match one.order(two)? {
                        Ordering::Equal => {}
                        other => return Some(other),
                    }
                }
                Some(one.len().cmp(&two.len()))
            }
            (Self::None, Self::None) => Some(Ordering::Equal),
            _ => None,
        }
    }

    /// Returns the number of numbers and characters in the value, and its nesting depth.
    pub(super) fn extent(&self) -> (usize, usize) {
        match self {
            Self::Text(text) => (text.len().max(1), 1),
            Self::Tuple(items) => items
                .iter()
                .map(Self::extent)
                .fold((1, 1), |(parts, depth), (more, deeper)| {
                    (parts + more, depth.max(deeper + 1))
                }),
            _ => (1, 1),
        }
    }

    /// Returns the text that Python's `str` gives.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            _ => self.represented(),
        }
    }

    /// Returns the text that Python's `repr` gives.
    pub(super) fn represented(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Bool(true) => "True".to_owned(),
            Self::Bool(false) => "False".to_owned(),
            Self::Int(int) => int.to_string(),
            Self::Float(float) => format!("{float:?}"),
            Self::Text(text) => format!("'{text}'"),
            Self::Tuple(items) => {
                let items: Vec<String> = items.iter().map(Self::represented).collect();
                match &items[..] {
                    [one] => format!("({one},)"),
                    _ => format!("({})", items.join(", ")),
                }
            }
        }
    }
}
