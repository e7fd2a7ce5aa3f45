//! `#[derive(Parameters)]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Result, Token,
    parenthesized,
};

use crate::{attributes, docs};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        let message = "expected a struct: its fields are the parameters";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let Fields::Named(fields) = &data.fields else {
        let message = "expected a struct with named fields";
        return Err(Error::new_spanned(&input.ident, message));
    };
    let parts = fields
        .named
        .iter()
        .map(ParsedField::of)
        .collect::<Result<Vec<_>>>()?;
    let (name, visibility) = (&input.ident, &input.vis);
    let layout = format_ident!("{name}Layout");
    let (impl_generics, type_generics, bounds) = input.generics.split_for_impl();
    let generics = &input.generics;
    let names: Vec<_> = parts.iter().map(|part| &part.name).collect();
    let places = parts.iter().map(ParsedField::place);
    let laid_out = parts.iter().map(ParsedField::lay_out);
    let listed = parts.iter().map(ParsedField::list);
    let read = parts.iter().map(ParsedField::read);
    let doc = format!("Layout of the parameters of [`{name}`].");
    Ok(quote! {
        #[doc(hidden)]
        #[doc = #doc]
        #visibility struct #layout #generics #bounds {
            #(#places,)*
        }

        impl #impl_generics ::dupack_algorithms::catalog::Parameters for #name #type_generics #bounds {
            type Layout = #layout #type_generics;

            fn layout() -> Self::Layout {
                #(#laid_out)*
                #layout { #(#names,)* }
            }

            fn list(layout: &Self::Layout, specs: &mut ::dupack_algorithms::catalog::typed::Specs) {
                #(#listed)*
            }

            fn read(
                layout: &Self::Layout,
                values: &mut ::dupack_algorithms::catalog::typed::Reader<'_>,
            ) -> Self {
                #(#read)*
                Self { #(#names,)* }
            }
        }
    })
}

/// Field and the content of its attribute.
struct ParsedField<'a> {
    field: &'a Field,
    name: &'a Ident,
    says: Says,
}

enum Says {
    /// A parameter.
    Parameter(Box<Declaration>),
    /// A group of parameters that several algorithms share.
    Group(Embed),
}

/// `#[parameter(basic, source = "…", unit = "…", range = 1..=9, default = 3)]`.
struct Declaration {
    /// Name of the parameter in a stack's text.
    name: String,
    doc: String,
    source: Expr,
    unit: Option<Expr>,
    range: Option<Expr>,
    /// Defaults in the dialects `rfc`, `linux` and `ns2`.
    defaults: [Expr; 3],
    is_basic: bool,
}

/// `#[embed(change(field(doc = "…")), fix(field = 3))]`.
#[derive(Default)]
struct Embed {
    changes: Vec<(Place, Changes)>,
    fixed: Vec<(Place, Expr)>,
}

/// Path of a field in a group or in a nested group: `field` or `group.field`.
type Place = Punctuated<Ident, Token![.]>;

/// Declarations of a parameter. They may be in any order.
#[derive(Default)]
struct Changes {
    name: Option<LitStr>,
    doc: Option<Expr>,
    source: Option<Expr>,
    unit: Option<Expr>,
    range: Option<Expr>,
    defaults: Option<[Expr; 3]>,
    /// The word `basic`.
    basic: Option<Ident>,
}

impl<'a> ParsedField<'a> {
    fn of(field: &'a Field) -> Result<Self> {
        let Some(name) = &field.ident else {
            return Err(Error::new_spanned(field, "expected a named field"));
        };
        let says = match (
            attributes::only(&field.attrs, "parameter")?,
            attributes::only(&field.attrs, "embed")?,
        ) {
            (Some(attribute), None) => {
                Says::Parameter(Box::new(Declaration::of(field, name, attribute)?))
            }
            (None, Some(attribute)) => Says::Group(match &attribute.meta {
                syn::Meta::Path(_) => Embed::default(),
                _ => attribute.parse_args()?,
            }),
            _ => {
                let message = "expected `#[parameter(source = …, default = …)]` for a parameter, or `#[embed]` \
                               for a group of parameters";
                return Err(Error::new_spanned(field, message));
            }
        };
        Ok(Self { field, name, says })
    }

    /// Returns the field of the layout.
    fn place(&self) -> TokenStream {
        let (name, visibility, ty) = (self.name, &self.field.vis, &self.field.ty);
        match self.says {
            Says::Parameter(_) => {
                quote!(#visibility #name: ::dupack_algorithms::catalog::typed::Field<#ty>)
            }
            Says::Group(_) => {
                quote!(#visibility #name: <#ty as ::dupack_algorithms::catalog::Parameters>::Layout)
            }
        }
    }

    fn lay_out(&self) -> TokenStream {
        let (name, ty) = (self.name, &self.field.ty);
        match &self.says {
            Says::Parameter(declaration) => declaration.lay_out(name, ty),
            Says::Group(embed) => {
                let changes = embed.changes.iter().map(|(field, changes)| {
                    let place = quote_spanned!(field.span()=> #name.#field);
                    changes.apply(&place)
                });
                let withheld = embed
                    .fixed
                    .iter()
                    .map(|(field, _)| quote_spanned!(field.span()=> #name.#field.withhold();));
                let mutable = embed.mutability();
                quote! {
                    let #mutable #name = <#ty as ::dupack_algorithms::catalog::Parameters>::layout();
                    #(#changes)*
                    #(#withheld)*
                }
            }
        }
    }

    fn list(&self) -> TokenStream {
        let (name, ty) = (self.name, &self.field.ty);
        match self.says {
            Says::Parameter(_) => quote!(layout.#name.list(specs);),
            Says::Group(_) => {
                quote!(<#ty as ::dupack_algorithms::catalog::Parameters>::list(&layout.#name, specs);)
            }
        }
    }

    fn read(&self) -> TokenStream {
        let (name, ty) = (self.name, &self.field.ty);
        match &self.says {
            Says::Parameter(_) => quote!(let #name: #ty = layout.#name.read(values);),
            Says::Group(embed) => {
                let fixed = embed
                    .fixed
                    .iter()
                    .map(|(field, value)| quote_spanned!(field.span()=> #name.#field = #value;));
                let mutable = (!embed.fixed.is_empty()).then(|| quote!(mut));
                quote! {
                    let #mutable #name =
                        <#ty as ::dupack_algorithms::catalog::Parameters>::read(&layout.#name, values);
                    #(#fixed)*
                }
            }
        }
    }
}

impl Declaration {
    fn of(field: &Field, name: &Ident, attribute: &Attribute) -> Result<Self> {
        let said: Changes = attribute.parse_args()?;
        let missing = |what: &str| Error::new_spanned(field, what);
        if let Some(doc) = &said.doc {
            let message =
                "`doc` is not allowed here: describe the parameter in the field's doc comment";
            return Err(Error::new_spanned(doc, message));
        }
        if let (Some(unit), None) = (&said.unit, &said.range) {
            let message = "a `unit` requires a `range`: only numbers have a unit";
            return Err(Error::new_spanned(unit, message));
        }
        Ok(Self {
            name: said.name.map_or_else(|| name.to_string(), |name| name.value()),
            doc: docs::text(&field.attrs).ok_or_else(|| {
                missing("expected a doc comment that describes the parameter: `dupack stacks` prints it")
            })?,
            source: said
                .source
                .ok_or_else(|| missing("expected the source of the default: `source = \"…\"`"))?,
            unit: said.unit,
            range: said.range,
            defaults: said.defaults.ok_or_else(|| {
                missing("expected `default = …`, or by dialect `default(rfc = …, linux = …, ns2 = …)`")
            })?,
            is_basic: said.basic.is_some(),
        })
    }

    fn lay_out(&self, name: &Ident, ty: &syn::Type) -> TokenStream {
        let Self {
            name: text,
            doc,
            source,
            unit,
            range,
            defaults,
            is_basic,
        } = self;
        let kind = match range {
            Some(range) => {
                let unit = unit
                    .as_ref()
                    .map_or_else(|| quote!(""), |unit| quote!(#unit));
                quote_spanned! {range.span()=>
                    <#ty as ::dupack_algorithms::catalog::typed::Ranged>::kind(#range, #unit)
                }
            }
            None => quote_spanned! {ty.span()=>
                <#ty as ::dupack_algorithms::catalog::typed::Unranged>::kind()
            },
        };
        let defaults = typed(defaults, &quote!(#ty));
        let basic = is_basic.then(|| quote!(.basic()));
        quote! {
            let #name = ::dupack_algorithms::catalog::typed::Field::<#ty>::new(
                #text, #doc, #source, #kind, #defaults,
            )#basic;
        }
    }
}

/// Returns an array of the three defaults. The type of each default is checked at the default's own span.
fn typed(defaults: &[Expr; 3], ty: &TokenStream) -> TokenStream {
    let values = defaults
        .iter()
        .map(|value| quote_spanned!(value.span()=> { let value: #ty = #value; value }));
    quote!([#(#values,)*])
}

impl Embed {
    fn mutability(&self) -> Option<TokenStream> {
        let changes = !self.changes.is_empty() || !self.fixed.is_empty();
        changes.then(|| quote!(mut))
    }
}

impl Changes {
    /// Returns an error if the change of a group's parameter is not permitted: type, name, range, unit and level are
    /// determined by the group.
    fn check(&self, field: &Place) -> Result<()> {
        let message = "a group's parameter keeps its name, range, unit and level: change its `doc`, \
                       `source` or `default`";
        if let Some(name) = &self.name {
            return Err(Error::new_spanned(name, message));
        }
        if let Some(kept) = self.range.as_ref().or(self.unit.as_ref()) {
            return Err(Error::new_spanned(kept, message));
        }
        if let Some(basic) = &self.basic {
            return Err(Error::new_spanned(basic, message));
        }
        match (&self.doc, &self.source, &self.defaults) {
            (None, None, None) => Err(Error::new_spanned(
                field,
                "expected a change of `doc`, `source` or `default`",
            )),
            _ => Ok(()),
        }
    }

    /// Returns statements that change the layout's field at `place`.
    fn apply(&self, place: &TokenStream) -> TokenStream {
        let doc = self.doc.iter().map(|doc| quote!(#place.document(#doc);));
        let source = self
            .source
            .iter()
            .map(|source| quote!(#place.source(#source);));
        let defaults = self
            .defaults
            .iter()
            .map(|defaults| quote!(#place.default([#(#defaults,)*]);));
        quote!(#(#doc)* #(#source)* #(#defaults)*)
    }
}

impl Parse for Changes {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut changes = Self::default();
        let mut said = Vec::new();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            once(&mut said, &word)?;
            if word == "default" && input.peek(syn::token::Paren) {
                changes.defaults = Some(by_dialect(input)?);
            } else if word == "basic" {
                changes.basic = Some(word);
            } else {
                input.parse::<Token![=]>()?;
                match word.to_string().as_str() {
                    "name" => changes.name = Some(input.parse()?),
                    "doc" => changes.doc = Some(input.parse()?),
                    "source" => changes.source = Some(input.parse()?),
                    "unit" => changes.unit = Some(input.parse()?),
                    "range" => changes.range = Some(input.parse()?),
                    "default" => {
                        let value: Expr = input.parse()?;
                        changes.defaults = Some([value.clone(), value.clone(), value]);
                    }
                    _ => {
                        let message = "unknown word: expected `basic`, `name`, `doc`, `source`, `unit`, `range` or `default`";
                        return Err(Error::new_spanned(word, message));
                    }
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(changes)
    }
}

/// `(rfc = …, linux = …, ns2 = …)`.
fn by_dialect(input: ParseStream<'_>) -> Result<[Expr; 3]> {
    let inside;
    let open = parenthesized!(inside in input);
    let given = Punctuated::<Assignment, Token![,]>::parse_terminated(&inside)?;
    let value = |dialect: &str| {
        let found = given.iter().find(|assignment| assignment.name == dialect);
        found
            .map(|assignment| assignment.value.clone())
            .ok_or_else(|| {
                let message = format!("missing default for `{dialect}`");
                Error::new(open.span.join(), message)
            })
    };
    let mut said = Vec::new();
    for assignment in &given {
        once(&mut said, &assignment.name)?;
    }
    let all = [value("rfc")?, value("linux")?, value("ns2")?];
    let known = |name: &Ident| {
        ["rfc", "linux", "ns2"]
            .iter()
            .any(|dialect| name == dialect)
    };
    match given.iter().find(|assignment| !known(&assignment.name)) {
        Some(unknown) => Err(Error::new_spanned(
            &unknown.name,
            "unknown dialect: expected `rfc`, `linux` or `ns2`",
        )),
        None => Ok(all),
    }
}

/// Adds `word` to the words in `said`. A duplicate is an error.
fn once(said: &mut Vec<String>, word: &impl ToTokens) -> Result<()> {
    let text = word.to_token_stream().to_string();
    if said.contains(&text) {
        return Err(Error::new_spanned(
            word,
            "duplicate declaration: remove one",
        ));
    }
    said.push(text);
    Ok(())
}

/// `name = value`.
struct Assignment {
    name: Ident,
    value: Expr,
}

impl Parse for Assignment {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Self {
            name,
            value: input.parse()?,
        })
    }
}

impl Parse for Embed {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut embed = Self::default();
        // A parameter must not be both fixed and changed.
        let mut named = Vec::new();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            let inside;
            parenthesized!(inside in input);
            if word == "change" {
                while !inside.is_empty() {
                    let field = Place::parse_separated_nonempty(&inside)?;
                    once(&mut named, &field)?;
                    let said;
                    parenthesized!(said in inside);
                    let changes: Changes = said.parse()?;
                    changes.check(&field)?;
                    embed.changes.push((field, changes));
                    if !inside.is_empty() {
                        inside.parse::<Token![,]>()?;
                    }
                }
            } else if word == "fix" {
                while !inside.is_empty() {
                    let field = Place::parse_separated_nonempty(&inside)?;
                    once(&mut named, &field)?;
                    inside.parse::<Token![=]>()?;
                    embed.fixed.push((field, inside.parse()?));
                    if !inside.is_empty() {
                        inside.parse::<Token![,]>()?;
                    }
                }
            } else {
                let message = "expected `change(field(source = …))` or `fix(field = …)`";
                return Err(Error::new_spanned(word, message));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(embed)
    }
}

#[cfg(test)]
mod tests;
