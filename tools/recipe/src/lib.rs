//! The file that results from the recipe "Add an algorithm" in CONTRIBUTING.md.
//!
//! In the recipe, the file is part of `dupack-algorithms`. Here it is a separate crate, because the catalog accepts
//! both.

// The file is written for `dupack-algorithms`, which does not use `std`.
extern crate alloc;

include!(concat!(env!("OUT_DIR"), "/recipe.rs"));

/// Path of the file.
pub const FILE: &str = concat!(env!("OUT_DIR"), "/half.rs");
