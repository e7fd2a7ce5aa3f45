//! RFC 9743's report card: what must be looked at before a congestion control is let loose on the
//! Internet, as experiments with a rule each.
//!
//! A [`Suite`] is data: the headings of RFC 9743 §§5–7, criteria below them, and the scenarios that show
//! them, which are experiment files (`experiments/evaluation/`). A [`Campaign`] puts stacks of any catalog
//! into them and makes a [`Card`] of each: a [`Mark`] for every criterion. [`write()`] makes a folder of
//! them.

mod baseline;
mod campaign;
mod card;
mod error;
mod figure;
mod files;
mod folder;
mod found;
mod listing;
mod on_path;
mod page;
mod prepare;
mod suite;
mod wire;

pub use campaign::{Campaign, Conduct, Evaluated, Part};
pub use card::{Card, Mark, Row, WireCard, Worse};
pub use error::EvaluationError;
pub use files::{json, markdown, write, write_experiments};
pub use folder::EvaluationFolder;
pub use listing::{list, table, worse};
pub use page::page;
pub use suite::{
    Basis, CRITERIA, Criterion, Extent, Heading, PLACEHOLDER, Quick, Scale, Scenario, Suite,
};

pub use wire::{FLOWS, KERNEL, RealPackets, WireError, WireFlow, WireRun};

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
