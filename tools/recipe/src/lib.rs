//! The recipe of CONTRIBUTING.md, "Add an algorithm": the file that it makes, as it stands there.
//!
//! There it is a file of `dupack-algorithms`, here a crate beside it: the catalog takes both alike.

// As in the crate that the file is meant for, which has no `std`.
extern crate alloc;

include!(concat!(env!("OUT_DIR"), "/recipe.rs"));

/// Where that file is.
pub const FILE: &str = concat!(env!("OUT_DIR"), "/half.rs");
