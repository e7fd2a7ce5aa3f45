//! The program that runs, for runs that depend on algorithms which are in no sources of ours.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::{env, fs, io};

use xxhash_rust::xxh3::xxh3_64;

/// The hash of the file that holds the program. If that cannot be read, it is a number that no other
/// process has: better a run that is done twice than one of other code.
pub(super) fn hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(|| match bytes() {
        Ok(bytes) => xxh3_64(&bytes),
        Err(_) => RandomState::new().hash_one(()),
    })
}

/// On Linux, of what was started, even if another program has taken its place since.
fn bytes() -> io::Result<Vec<u8>> {
    fs::read("/proc/self/exe").or_else(|_| fs::read(env::current_exe()?))
}
