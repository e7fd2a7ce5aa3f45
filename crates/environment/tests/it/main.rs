//! Integration tests of this crate, in one binary.

mod common;

mod agents;
mod bad_input;
mod documented;
mod same_as_an_experiment;
mod truth;
mod vector;
