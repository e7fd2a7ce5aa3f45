//! Integration tests of this crate, in one binary.

mod common;

mod determinism;
mod ecn;
mod hostile;
mod managed;
mod ns3_agreement;
mod radio;
mod stacks;
mod transfers;
mod undo;
