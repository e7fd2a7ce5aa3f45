//! Second axis: growth of the window, and its reduction after a congestion loss.
//!
//! There is one control per file. Most controls are AIMD with a few differences: their file contains the differences,
//! and [`aimd_control`] the common part, which is built from these modules:
//!
//! | module | part |
//! | --- | --- |
//! | [`aimd`] | additive increase and multiplicative decrease |
//! | [`slow_start`] | early end of slow start: HyStart, HyStart++ |
//! | [`undo`] | signs of a spurious reduction |
//! | [`pacing`] | pacing of a window over the round-trip time |
//! | [`window_validation`] | congestion window validation (RFC 7661) |
//! | [`backlog`] | the estimate that Vegas and Veno share |
//!
//! Each of the two versions of BBR has a folder next to its file. They share `delivery_rate`, `max_filter` and
//! `chance`.

pub mod aimd;
pub mod aimd_control;
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
