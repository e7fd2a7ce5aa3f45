//! The integration tests of this crate, in one program.

mod fuzz_corpus;
mod fuzz_entry;
mod limits;
mod paths;
mod senders;
mod truth;
