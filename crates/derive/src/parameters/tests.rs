//! Tests of compile-time errors for invalid declarations.

use syn::parse::Parser;

use super::*;

/// Returns the error for a struct with this field, or an empty text if the field is accepted.
fn refused(field: TokenStream) -> String {
    let field = Field::parse_named.parse2(field).expect("a field");
    let input: DeriveInput = syn::parse_quote!(struct S { #field });
    derive(&input).map_or_else(|error| error.to_string(), |_| String::new())
}

/// Returns the error for a numeric parameter with `attribute`.
fn number(attribute: TokenStream) -> String {
    refused(quote! {
        /// how many
        #[parameter(#attribute)]
        n: u32
    })
}

/// Returns the error for a group with `attribute`.
fn group(attribute: TokenStream) -> String {
    refused(quote! {
        #[embed(#attribute)]
        group: Group
    })
}

const TWICE: &str = "duplicate declaration: remove one";

#[test]
fn correct_declarations_are_accepted() {
    let fair = [
        number(quote!(
            basic,
            source = "a",
            unit = "bytes",
            range = 1..=9,
            default = 3
        )),
        number(quote!(
            name = "m",
            source = "a",
            range = 1..=9,
            default(rfc = 1, linux = 2, ns2 = 3)
        )),
        group(quote!(
            change(n(doc = "a", source = "b", default = 4), m(source = "c")),
            fix(o = 2)
        )),
        group(quote!(change(n(default = 4)), change(m(doc = "a")))),
        group(quote!(change(inner.n(default = 4)), fix(inner.m = 3))),
    ];
    assert_eq!(fair, ["", "", "", "", ""]);
}

#[test]
fn duplicate_declarations_are_refused() {
    assert_eq!(
        number(quote!(source = "a", source = "b", default = 3)),
        TWICE
    );
    assert_eq!(
        number(quote!(source = "a", default = 3, default = 4)),
        TWICE
    );
    let both = number(quote!(
        source = "a",
        default = 3,
        default(rfc = 1, linux = 2, ns2 = 3)
    ));
    assert_eq!(both, TWICE);
    let dialect = number(quote!(
        source = "a",
        default(rfc = 1, rfc = 2, linux = 2, ns2 = 3)
    ));
    assert_eq!(dialect, TWICE);
    assert_eq!(group(quote!(change(n(doc = "a"), n(source = "b")))), TWICE);
    assert_eq!(group(quote!(change(n(doc = "a")), fix(n = 1))), TWICE);
    assert_eq!(group(quote!(fix(n = 1, n = 2))), TWICE);
    assert_eq!(group(quote!(fix(inner.n = 1, inner.n = 2))), TWICE);
    let attributes = refused(quote! {
        /// how many
        #[parameter(source = "a", range = 1..=9, default = 3)]
        #[parameter(source = "b", range = 1..=9, default = 4)]
        n: u32
    });
    assert_eq!(attributes, "duplicate attribute `#[parameter]`: remove one");
}

#[test]
fn a_groups_parameter_keeps_its_name_range_unit_and_level() {
    for kept in [
        quote!(name = "other"),
        quote!(range = 5..=6),
        quote!(unit = "bananas"),
        quote!(basic),
    ] {
        let error = group(quote!(change(n(source = "a", #kept))));
        assert!(
            error.contains("keeps its name, range, unit and level"),
            "{error}"
        );
    }
    assert_eq!(
        group(quote!(change(n()))),
        "expected a change of `doc`, `source` or `default`"
    );
}

#[test]
fn a_unit_requires_a_range() {
    let error = number(quote!(source = "a", unit = "bananas", default = 3));
    assert!(error.contains("only numbers have a unit"), "{error}");
}

#[test]
fn the_error_for_an_unknown_word_lists_the_known_ones() {
    let error = group(quote!(change(n(sauce = "a"))));
    assert_eq!(
        error,
        "unknown word: expected `basic`, `name`, `doc`, `source`, `unit`, `range` or `default`"
    );
}
