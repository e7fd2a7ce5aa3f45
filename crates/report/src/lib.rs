//! Reports of results for readers: figures, tables, and a single HTML page.

mod answer;
pub mod catalog;
pub mod claims;
pub mod comparison;
pub mod deploy;
pub mod figure;
pub mod files;
pub mod groups;
pub mod markdown;
pub mod notes;
pub mod over_time;
pub mod page;
pub mod parameters;
pub mod setting;
mod shown;
pub mod stream;
pub mod table;
pub mod theory;
pub mod trace;
mod wrap;

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
