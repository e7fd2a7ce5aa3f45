//! `#[derive(Choice)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

use crate::{attributes, docs};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        let message = "expected an enum: its variants are the words of a parameter";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let words = data.variants.iter().map(word).collect::<Result<Vec<_>>>()?;
    for (i, (text, _)) in words.iter().enumerate() {
        if words[..i].iter().any(|(earlier, _)| earlier == text) {
            let message = format!("another variant already has the word `{text}`");
            return Err(Error::new_spanned(&data.variants[i], message));
        }
    }
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let texts = words.iter().map(|(text, _)| text);
    let meanings = words.iter().map(|(_, meaning)| meaning);
    let known = words.iter().map(|(text, _)| text);
    let said = words.iter().map(|(text, _)| text);
    Ok(quote! {
        impl ::dupack_algorithms::catalog::Choice for #name {
            const WORDS: &'static [::dupack_algorithms::catalog::Word] = &[
                #(::dupack_algorithms::catalog::Word::new(#texts, #meanings),)*
            ];

            fn word(&self) -> &'static str {
                match self {
                    #(Self::#variants => #said,)*
                }
            }

            fn from_word(word: &str) -> ::core::option::Option<Self> {
                match word {
                    #(#known => ::core::option::Option::Some(Self::#variants),)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    })
}

/// Returns the word of a variant, and its meaning.
fn word(variant: &Variant) -> Result<(String, String)> {
    if !matches!(variant.fields, Fields::Unit) {
        let message = "expected a variant without fields";
        return Err(Error::new_spanned(&variant.fields, message));
    }
    let Some(meaning) = docs::text(&variant.attrs) else {
        let message = "expected a doc comment with the meaning of the word";
        return Err(Error::new_spanned(&variant.ident, message));
    };
    let text = match attributes::only(&variant.attrs, "choice")? {
        Some(attribute) => attribute.parse_args::<LitStr>()?.value(),
        None => kebab_case(&variant.ident.to_string()),
    };
    Ok((text, meaning))
}

/// Converts `EveryAck` to `every-ack`.
fn kebab_case(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(c.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    /// Returns the error for this enum, or an empty text if there is none.
    fn refused(input: &DeriveInput) -> String {
        derive(input).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn words_are_unique() {
        assert_eq!(
            refused(&parse_quote! {
                enum E {
                    /// a
                    #[choice("fast")]
                    Quick,
                    /// b
                    Slow,
                }
            }),
            ""
        );
        let twice = refused(&parse_quote! {
            enum E {
                /// a
                #[choice("fast")]
                Quick,
                /// b
                Fast,
            }
        });
        assert_eq!(twice, "another variant already has the word `fast`");
        let both = refused(&parse_quote! {
            enum E {
                /// a
                #[choice("fast")]
                #[choice("quick")]
                Quick,
            }
        });
        assert_eq!(both, "duplicate attribute `#[choice]`: remove one");
    }
}
