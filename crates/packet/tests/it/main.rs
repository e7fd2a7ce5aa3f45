//! The integration tests of this crate, in one program.

mod captured;
mod common;
mod packets;
mod round_trip;
mod tools;
mod writer;

use dupack_testing::analysers;
