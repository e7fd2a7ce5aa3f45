//! The catalog: every algorithm by name, with its parameters, citation and conflicts.

pub mod spec;
