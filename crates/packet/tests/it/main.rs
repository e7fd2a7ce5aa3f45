//! The integration tests of this crate, in one program.

#[path = "../analysers/mod.rs"]
mod analysers;
mod captured;
mod common;
mod fuzz_corpus;
mod fuzz_entry;
mod packets;
mod round_trip;
mod tools;
mod writer;
