//! Tests that use the wall clock and therefore run alone.
#![cfg(target_os = "linux")]

mod pauses;
mod shared;

use dupack_testing::skipping;
