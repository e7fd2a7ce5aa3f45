//! The `dupack` command.
fn main() {}
