//! Integration tests of this crate, in one binary.

mod captured;
mod common;
mod packets;
mod round_trip;
mod tools;
mod writer;

use dupack_testing::analysers;
