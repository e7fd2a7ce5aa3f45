//! Integration tests of this crate, in one binary.

mod common;

mod tables;
mod traces;
