//! Integration tests of this crate, in one program.

mod endpoint;
mod fuzz_corpus;
mod fuzz_entry;
mod hostile_peer;
mod states;
mod transfers;
