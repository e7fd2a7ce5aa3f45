#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]

extern crate alloc;
// The code of the derive macros names this crate, here as elsewhere.
extern crate self as dupack_algorithms;

pub mod catalog;
pub mod congestion;
pub mod differentiation;
pub mod recovery;
pub mod response;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

/// Hash of this crate's sources: sixteen hexadecimal digits, computed when it is built. A stored run names it, so that
/// runs of different code are told apart.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");

/// Hash of the sources of the macros that declare parameters.
pub const DERIVE_SOURCE_HASH: &str = dupack_derive::source_hash!();
