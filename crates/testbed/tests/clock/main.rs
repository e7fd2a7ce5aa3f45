//! Tests that use the wall clock: they run alone.

#[path = "../../../wire/tests/skipping/mod.rs"]
mod skipping;

mod pauses;
mod shared;
