#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]

extern crate alloc;
// What the derive macros make names this crate, here as elsewhere.
extern crate self as dupack_algorithms;

pub mod catalog;
pub mod congestion;
pub mod differentiation;
pub mod recovery;
pub mod response;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

/// The hash of this crate's sources: sixteen hexadecimal digits, made when it is built. A stored run
/// names it, so that it is not taken for one of other code.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");

/// That of the macros that declare parameters.
pub const DERIVE_SOURCE_HASH: &str = dupack_derive::source_hash!();
