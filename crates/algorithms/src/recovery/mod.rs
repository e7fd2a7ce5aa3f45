//! The plug-ins of the axis `recovery`.

mod duplicate_acks;
pub mod fack;
mod go_back_n;
mod hole_cursor;
pub mod momentary;
pub mod newreno;
pub mod reno;
mod rto_policy;
pub mod sack;
mod sack_fall_floyd;
#[cfg(test)]
mod storm;
pub mod tahoe;
