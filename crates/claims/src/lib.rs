//! Claims: a rule is an expression over stacks, points and measures, judged by one engine.
//!
//! `docs/claims.md` describes the language. A file gives names to stacks and shorthands to
//! expressions ([`Vocabulary`]) and lists [`Claim`]s; a [`World`] holds the experiments that they
//! may ask about. [`Rules::check`] finds what is wrong before anything runs, and [`Rules::judge`]
//! says what has become of each claim.
//!
//! [`Vocabulary`]: dupack_lab::experiment::Vocabulary
//! [`Claim`]: dupack_lab::experiment::Claim

mod choose;
mod dictionary;
mod eval;
mod fit;
mod functions;
mod intervals;
mod lex;
mod operate;
mod parse;
mod reference;
mod rules;
mod select;
mod syntax;
mod text;
mod value;
mod verdict;
mod world;

#[cfg(test)]
mod tests;

pub use reference::{FUNCTIONS, Function};
pub use rules::{Rules, Said};
pub use value::{List, ListKind, Place, Samples, Stack, Value};
pub use verdict::{Finding, Judged, Verdict};
pub use world::{Fact, FactKind, FactValue, Facts, Printed, Scene, World};

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
