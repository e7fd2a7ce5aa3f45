//! Entry points of the fuzzers in `fuzz/`. Each entry point accepts arbitrary bytes and must not panic.
//!
//! The tests of this crate are compiled by a stable compiler. They run the entry points on the corpus and on bytes from
//! a seed.

mod capture;
mod codec;
mod diagnosis;
mod endpoint;

pub use capture::capture;
pub use codec::codec;
pub use diagnosis::diagnosis;
pub use endpoint::endpoint;
