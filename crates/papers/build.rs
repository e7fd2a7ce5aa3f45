//! Passes the hash of the crate's sources to the compiler.

fn main() {
    dupack_source_hash::emit();
}
