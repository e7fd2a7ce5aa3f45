//! Arguments of calls.

use crate::syntax::{Expression, Member};

/// Returns the number, or the only element of a list if that is a number.
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

/// Returns the names in `a|b`.
pub(super) fn words(expression: &Expression) -> Vec<&str> {
    match expression {
        Expression::Name(name) => vec![name],
        Expression::Or(items) => items.iter().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

/// Returns `true` if `name` is one of the names in `a|b`.
pub(super) fn flag(expression: &Expression, name: &str) -> bool {
    words(expression).contains(&name)
}

/// Returns the value of the member called `name` in a struct.
pub(super) fn member<'e>(members: &'e [Member], name: &str) -> Option<&'e Expression> {
    let found = members.iter().find(|m| m.name.as_deref() == Some(name));
    found.map(|member| &member.value)
}

/// Returns the total number of bytes in `[{..., 1000}, {..., 2000}]`.
pub(super) fn vector_bytes(expression: &Expression) -> Option<i64> {
    let Expression::List(items) = expression else {
        return None;
    };
    items.iter().try_fold(0_i64, |sum, item| match item {
        Expression::Struct(members) => sum.checked_add(number(&members.last()?.value)?),
        _ => None,
    })
}
