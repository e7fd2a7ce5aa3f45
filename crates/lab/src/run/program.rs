//! Hash of the running program, for runs that depend on algorithms outside this project's sources.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::{env, fs, io};

use xxhash_rust::xxh3::xxh3_64;

/// Returns the hash of the program's file. If the file cannot be read, returns a number that no other process has, so
/// that runs are repeated rather than reused from other code.
pub(super) fn hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(|| match bytes() {
        Ok(bytes) => xxh3_64(&bytes),
        Err(_) => RandomState::new().hash_one(()),
    })
}

/// Reads the program. On Linux, this is the program that was started, even if its file has been replaced since.
fn bytes() -> io::Result<Vec<u8>> {
    fs::read("/proc/self/exe").or_else(|_| fs::read(env::current_exe()?))
}
