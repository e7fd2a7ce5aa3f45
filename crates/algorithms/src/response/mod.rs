//! The fourth axis: what the window becomes after a loss that was not congestion.
//!
//! One file per method of Park et al., Table 1; in a stack a method goes by its number there.

pub mod previous;
pub mod tcp;
