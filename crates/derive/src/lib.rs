//! Derives an algorithm's parameters and their words, for `dupack_algorithms::catalog`, whose
//! traits of the same names say what the macros take.

mod attributes;
mod choice;
mod docs;
mod parameters;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct's fields the parameters of an algorithm: see the trait `Parameters`.
#[proc_macro_derive(Parameters, attributes(parameter, embed))]
pub fn parameters(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    parameters::derive(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes an enum's variants the words of a parameter: see the trait `Choice`.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    choice::derive(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// The hash of this crate's sources, as a literal: a crate of macros has no constants to give.
#[proc_macro]
pub fn source_hash(_: TokenStream) -> TokenStream {
    let hash = env!("DUPACK_SOURCE_HASH");
    quote!(#hash).into()
}
