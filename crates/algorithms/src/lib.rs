#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]

extern crate alloc;
// The code that the derive macros generate uses this crate's name, also within the crate.
extern crate self as dupack_algorithms;

pub mod catalog;
pub mod congestion;
pub mod differentiation;
pub mod recovery;
pub mod response;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

/// Hash of this crate's sources: sixteen hexadecimal digits, computed when the crate is built. A stored run contains
/// it, so runs of different code can be distinguished.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");

/// Hash of the sources of the macros that declare parameters.
pub const DERIVE_SOURCE_HASH: &str = dupack_derive::source_hash!();
