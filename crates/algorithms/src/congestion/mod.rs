//! The second axis: how the window grows, and what a congestion loss makes of it.
//!
//! One control per file, the two versions of BBR each in a folder beside its file with `delivery_rate`,
//! `max_filter` and `chance` in common; [`aimd`] holds the two value types that several of them are made of,
//! [`slow_start`] what may end slow start early, [`backlog`] the estimate that Vegas and Veno share, [`undo`] what all say of
//! reductions that were needless, [`pacing`] how they spread their window over time, [`window_validation`] what a window is
//! worth that was not used.

pub mod aimd;
pub mod backlog;
pub mod bbr;
pub mod bbr_v1;
mod chance;
pub mod cubic;
pub mod dctcp;
mod delivery_rate;
pub mod fixed;
pub mod htcp;
pub mod hybla;
pub mod hystart;
pub mod hystart_plus_plus;
pub mod illinois;
mod max_filter;
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
#[cfg(test)]
mod bottleneck;
