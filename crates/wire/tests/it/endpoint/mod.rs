//! Shared parts of the connection tests: stacks, a scripted peer, hosts with real bytes, and a network between them.

pub mod host;
pub mod network;
pub mod script;
pub mod stacks;
