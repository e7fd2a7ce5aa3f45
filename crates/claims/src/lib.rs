//! Claims about experiments. Each claim has a rule: an expression over stacks, points and measures. This crate judges
//! all rules.
//!
//! `docs/claims.md` describes the language. A file names stacks and defines expressions ([`Vocabulary`]), and lists
//! [`Claim`]s. A front end that runs an experiment file calls [`Rules::of_plan`] before anything runs, which reports
//! errors in the rules, and [`Rules::judge_results`] at the end. If rules ask about several experiments, a [`World`]
//! holds the experiments, for [`Rules::check`] and [`Rules::judge_all`].
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
mod spelling;
mod syntax;
mod text;
mod value;
mod verdict;
mod world;

#[cfg(test)]
mod tests;

pub use reference::{FUNCTIONS, Function};
pub use rules::{Asked, Rules, Said};
pub use value::{List, ListKind, Place, Samples, Stack, Value};
pub use verdict::{Finding, Judged, Verdict};
pub use world::{Cell, Fact, FactKind, FactValue, Facts, Printed, Scene, World};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
