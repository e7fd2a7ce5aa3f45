//! Integration tests of this crate, in one binary.

mod conformance;
mod damaged;
mod long;
mod options;
mod screen;
