//! Support for the tests of several crates.
//!
//! It depends on no crate of dupack, so a test that uses it waits for none. Support that needs the crates stands apart:
//! `tools/wire-testing`, `tools/truth`, `tools/broken-senders`, `tools/fuzz-entries`.

pub mod analysers;
pub mod command;
#[cfg(target_os = "linux")]
pub mod leftovers;
pub mod skipping;
mod volume;

pub use volume::cases;
