//! The report card of RFC 9743: the criteria that a congestion control should meet before it is deployed on the
//! Internet, as experiments with a rule each.
//!
//! A [`Suite`] is data: the headings of RFC 9743 §§5–7, the criteria under them, and the scenarios that test them,
//! which are experiment files (`experiments/evaluation/`). A [`Campaign`] runs stacks of any catalog through the
//! scenarios and makes a [`Card`] for each: a [`Mark`] for every criterion. [`write()`] writes the cards to a folder.

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
