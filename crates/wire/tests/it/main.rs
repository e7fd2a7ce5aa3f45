//! The integration tests of this crate, in one program.

#[path = "../analysers/mod.rs"]
mod analysers;
mod common;
mod endpoint;

mod captured;
mod fuzz_corpus;
mod fuzz_entry;
mod hostile_peer;
mod packets;
mod round_trip;
mod states;
mod tools;
mod transfers;
mod writer;
