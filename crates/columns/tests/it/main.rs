//! The integration tests of this crate, in one program.

mod common;

mod tables;
mod traces;
