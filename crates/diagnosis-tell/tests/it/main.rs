//! Integration tests of this crate, in one program.

mod answers;
mod documents;
mod fuzz_corpus;
mod fuzz_entry;
mod traffic;
