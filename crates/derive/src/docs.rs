//! Doc comments as text for readers.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Returns the text of the doc comment in one line; `None` if there is no doc comment.
pub(crate) fn text(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(doc) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(ExprLit {
            lit: Lit::Str(line),
            ..
        }) = &doc.value
        else {
            return None;
        };
        let line = line.value().trim().to_owned();
        (doc.path.is_ident("doc") && !line.is_empty()).then_some(line)
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join(" "))
}
