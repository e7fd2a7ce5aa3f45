//! Integration tests of this crate, in one program.

mod endpoint;
mod hostile_peer;
mod states;
mod transfers;
