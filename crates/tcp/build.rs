//! Provides the hash of the crate's sources to the build.

fn main() {
    dupack_source_hash::emit();
}
