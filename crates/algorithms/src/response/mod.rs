//! The fourth axis: what the window becomes after a loss that was not congestion.
//!
//! The methods of Park et al., Table 1; in a stack a method goes by its number there. Two families
//! of seven share their choice of the window ([`window_choice`]).

pub mod avoidance;
pub mod dynamic;
pub mod previous;
pub mod slow_start;
pub mod tcp;
pub mod window_choice;
