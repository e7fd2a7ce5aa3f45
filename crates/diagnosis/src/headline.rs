//! The first line, as a sentence of its own.

use crate::story::{Case, tell};

/// What limited a stream, with a capital letter and a full stop.
pub(crate) fn story(case: &Case<'_>) -> String {
    let (_, said) = tell(case);
    let mut letters = said.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    format!("{}{}.", first.to_uppercase(), letters.as_str())
}
