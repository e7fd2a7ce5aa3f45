//! Derive macros for an algorithm's parameters and for the words of a parameter. The traits with the same names in
//! `dupack_algorithms::catalog` explain the input.

mod attributes;
mod choice;
mod docs;
mod parameters;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

/// Derives the parameters of an algorithm from the fields of a struct. The trait `Parameters` explains the input.
#[proc_macro_derive(Parameters, attributes(parameter, embed))]
pub fn parameters(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    parameters::derive(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Derives the words of a parameter from the variants of an enum. The trait `Choice` explains the input.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    choice::derive(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Expands to the hash of this crate's sources, as a string literal. It is a macro because a crate of macros cannot
/// export a constant.
#[proc_macro]
pub fn source_hash(_: TokenStream) -> TokenStream {
    let hash = env!("DUPACK_SOURCE_HASH");
    quote!(#hash).into()
}
