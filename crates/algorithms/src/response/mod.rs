//! Fourth axis: the window after a wireless loss.
//!
//! These are the methods of Park et al., Table 1; the name of a method in a stack is its number there. Two families of
//! seven methods share their choice of the window ([`window_choice`]). [`dynamic`] is our own.

pub mod avoidance;
pub mod dynamic;
pub mod previous;
pub mod slow_start;
pub mod tcp;
pub mod window_choice;
