//! What is handed over to calls.

use crate::syntax::{Expression, Member};

/// A number, or a list with one.
pub(super) fn number(expression: &Expression) -> Option<i64> {
    match expression {
        Expression::Number(number) => Some(*number),
        Expression::List(items) | Expression::Or(items) => match &items[..] {
            [one] => number(one),
            _ => None,
        },
        _ => None,
    }
}

/// The names in `a|b`.
pub(super) fn words(expression: &Expression) -> Vec<&str> {
    match expression {
        Expression::Name(name) => vec![name],
        Expression::Or(items) => items.iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

/// Whether `name` is among the names in `a|b`.
pub(super) fn flag(expression: &Expression, name: &str) -> bool {
    words(expression).contains(&name)
}

/// The value of a struct's member.
pub(super) fn member<'e>(members: &'e [Member], name: &str) -> Option<&'e Expression> {
    let found = members.iter().find(|m| m.name.as_deref() == Some(name));
    found.map(|member| &member.value)
}

/// Bytes in all of `[{..., 1000}, {..., 2000}]`.
pub(super) fn vector_bytes(expression: &Expression) -> Option<i64> {
    let Expression::List(items) = expression else {
        return None;
    };
    items.iter().try_fold(0_i64, |sum, item| match item {
        Expression::Struct(members) => sum.checked_add(number(&members.last()?.value)?),
        _ => None,
    })
}
