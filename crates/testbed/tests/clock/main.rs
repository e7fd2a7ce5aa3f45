//! Tests that use the wall clock: they run alone.
#![cfg(target_os = "linux")]

mod pauses;
mod shared;

use dupack_testing::skipping;
