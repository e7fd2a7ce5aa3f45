//! Attributes of the macros.

use syn::{Attribute, Error, Result};

/// Returns the attribute called `word`, if there is one. A second attribute with this name is an error.
pub(crate) fn only<'a>(attributes: &'a [Attribute], word: &str) -> Result<Option<&'a Attribute>> {
    let mut found = attributes.iter().filter(|a| a.path().is_ident(word));
    match (found.next(), found.next()) {
        (_, Some(second)) => {
            let message = format!("duplicate attribute `#[{word}]`: remove one");
            Err(Error::new_spanned(second, message))
        }
        (first, None) => Ok(first),
    }
}
