//! Entry points of the fuzzers in `fuzz/`: each takes any bytes, and must not panic.
//!
//! The tests of this crate run them on a stable compiler, on the corpus and on bytes from a seed.

mod capture;
mod codec;
mod diagnosis;
mod endpoint;

pub use capture::capture;
pub use codec::codec;
pub use diagnosis::diagnosis;
pub use endpoint::endpoint;
