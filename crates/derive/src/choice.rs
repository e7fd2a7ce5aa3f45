//! `#[derive(Choice)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

use crate::docs;

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        let message = "the words of a parameter are the variants of an enum";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let words = data.variants.iter().map(word).collect::<Result<Vec<_>>>()?;
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

/// The word of a variant, and what it means.
fn word(variant: &Variant) -> Result<(String, String)> {
    if !matches!(variant.fields, Fields::Unit) {
        let message = "a word carries nothing: the variant has no fields";
        return Err(Error::new_spanned(&variant.fields, message));
    }
    let Some(meaning) = docs::text(&variant.attrs) else {
        let message = "say in a doc comment what the word means";
        return Err(Error::new_spanned(&variant.ident, message));
    };
    let given = variant.attrs.iter().find(|a| a.path().is_ident("choice"));
    let text = match given {
        Some(attribute) => attribute.parse_args::<LitStr>()?.value(),
        None => kebab_case(&variant.ident.to_string()),
    };
    Ok((text, meaning))
}

/// `EveryAck` as `every-ack`.
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
