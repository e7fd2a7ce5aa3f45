//! The integration tests of this crate, in one program.

mod conformance;
mod damaged;
mod long;
mod options;
mod screen;
