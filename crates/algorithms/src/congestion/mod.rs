//! The second axis: how the window grows, and what a congestion loss makes of it.
//!
//! One control per file, BBR in a folder beside its file; [`aimd`] holds the two value types that several of them are made of,
//! [`slow_start`] what may end slow start early, [`backlog`] the estimate that Vegas and Veno share, [`undo`] what all say of
//! reductions that were needless, [`pacing`] how they spread their window over time, [`window_validation`] what a window is
//! worth that was not used.

pub mod aimd;
pub mod backlog;
pub mod bbr;
pub mod cubic;
pub mod fixed;
pub mod hystart;
pub mod hystart_plus_plus;
pub mod pacing;
pub mod prague;
pub mod reno;
pub mod rr;
pub mod slow_start;
pub mod undo;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod westwood_linux;
pub mod window_validation;

#[cfg(test)]
pub(crate) mod bench;
