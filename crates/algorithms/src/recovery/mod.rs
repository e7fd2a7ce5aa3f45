//! The plug-ins of the axis `recovery`.

mod duplicate_acks;
mod go_back_n;
pub mod newreno;
pub mod reno;
pub mod tahoe;
