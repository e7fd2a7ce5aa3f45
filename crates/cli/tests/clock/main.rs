//! Tests that use the wall clock: they run alone.

#[path = "../../../packet/tests/analysers/mod.rs"]
mod analysers;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../../wire/tests/leftovers/mod.rs"]
mod leftovers;

mod card;
mod endpoint;
mod shell;
mod shell_end;
mod testbed;
