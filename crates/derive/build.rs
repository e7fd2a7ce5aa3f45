//! What the crate is told when it is built: the hash of its sources.

fn main() {
    dupack_source_hash::emit();
}
