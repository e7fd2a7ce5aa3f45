//! The integration tests of this crate, in one program.

#[path = "../../../packet/tests/analysers/mod.rs"]
mod analysers;
#[path = "../common/mod.rs"]
mod common;

mod clusters;
mod command;
mod deploy;
mod diagnose;
mod evaluate;
mod killed;
mod limits;
mod path;
mod resume;
mod script;
mod shard;
mod stream;
mod trace;
