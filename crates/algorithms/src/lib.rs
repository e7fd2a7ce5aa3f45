//! The plug-ins of the endpoint, one file each, by axis, and the [`catalog`] that names them.

extern crate alloc;

pub mod catalog;
pub mod congestion;
pub mod differentiation;
pub mod recovery;
pub mod response;
#[cfg(test)]
pub(crate) mod testing;
