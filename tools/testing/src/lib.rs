//! Support for the tests of several crates.
//!
//! This crate depends on no other crate of dupack, so its users can be compiled early. Support that needs other crates
//! is separate: `tools/wire-testing`, `tools/truth`, `tools/broken-senders`, `tools/fuzz-entries`.

pub mod analysers;
pub mod command;
#[cfg(target_os = "linux")]
pub mod leftovers;
pub mod skipping;
mod volume;

pub use volume::cases;
