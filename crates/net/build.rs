//! Build script: passes the hash of the sources to the crate.

fn main() {
    dupack_source_hash::emit();
}
