//! Presentation of a diagnosis for people and programs: sentences, a summary for the terminal, a page, files, and
//! predictions for other senders.
//!
//! | module | contents |
//! | --- | --- |
//! | [`story`](mod@story) | the limit of a stream, as a sentence |
//! | [`words`] | quantities in words |
//! | [`summary`](mod@summary), [`notes`](mod@notes) | one screen for the terminal |
//! | [`both`] | two captures of a transfer |
//! | [`requests`] | requests and answers: a line, a table |
//! | [`groups`] | connections by server: lines, tables |
//! | [`shared`] | bottlenecks that several streams share |
//! | [`diagnosis_page`], [`figures`], [`film`] | an HTML page with figures, packet by packet |
//! | [`numbers`], [`annotate`](mod@annotate) | JSON, CSV, a capture with comments |
//! | [`measures`] | a line per connection, and conditions, for scripts |
//! | [`experiment`] | the path of a stream as an experiment file |
//! | [`whatif`], [`asking`] | the time that other senders would have taken |
//!
//! The findings come from `dupack-diagnosis`, which does not depend on this crate.

pub mod annotate;
pub mod asking;
pub mod both;
pub mod diagnosis_page;
pub mod experiment;
pub mod figures;
pub mod film;
pub mod groups;
pub mod keys;
pub mod measures;
pub mod notes;
pub mod numbers;
pub mod requests;
pub mod shared;
pub mod story;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod whatif;
pub mod words;

pub use whatif::WhatIf;
