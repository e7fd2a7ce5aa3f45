//! Tests that depend on the wall clock and therefore run alone.

#[path = "../../../wire/tests/skipping/mod.rs"]
mod skipping;

mod pauses;
mod shared;
