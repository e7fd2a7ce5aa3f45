//! The file that the recipe "Add an algorithm" in CONTRIBUTING.md makes.
//!
//! In the recipe it is a file of `dupack-algorithms`, here it is a crate of its own: the catalog accepts both.

// `dupack-algorithms`, for which the file is written, has no `std`.
extern crate alloc;

include!(concat!(env!("OUT_DIR"), "/recipe.rs"));

/// Path of the file.
pub const FILE: &str = concat!(env!("OUT_DIR"), "/half.rs");
