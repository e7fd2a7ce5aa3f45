//! Integration tests of this crate, in one program.

mod answers;
mod documents;
mod traffic;
