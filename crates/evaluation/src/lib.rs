//! The report card of RFC 9743: criteria that a congestion control should meet before it is deployed on the Internet.
//! Each criterion is tested by an experiment with a rule.
//!
//! A [`Suite`] is data: the headings of RFC 9743 §§5–7, the criteria under these headings, and the scenarios that test
//! them. Scenarios are experiment files (`experiments/evaluation/`). A [`Campaign`] runs stacks of any catalog in the
//! scenarios and makes a [`Card`] for each stack: a [`Mark`] for every criterion. [`write()`] writes the cards to a
//! folder.

mod baseline;
mod campaign;
mod card;
mod card_page;
mod error;
mod evidence;
mod figure;
mod files;
mod folder;
mod found;
mod listing;
mod on_path;
mod prepare;
mod suite;
mod wire;

pub use campaign::{Campaign, Evaluated};
pub use card::{Card, Mark, Row, WireCard, Worse};
pub use card_page::page;
pub use error::EvaluationError;
pub use evidence::{Conduct, ScenarioResults};
pub use files::{json, markdown, write, write_experiments};
pub use folder::EvaluationFolder;
pub use listing::{list, table, worse};
pub use suite::{
    Basis, CRITERIA, Criterion, Extent, Heading, PLACEHOLDER, Quick, Scale, Scenario, Suite,
};

pub use wire::{FLOWS, KERNEL, RealPackets, WireError, WireFlow, WireRun};

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
