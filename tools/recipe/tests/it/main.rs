//! The integration tests of this crate, in one program.

mod copied_example;
mod recipe;
