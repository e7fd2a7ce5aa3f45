//! Plug-ins of the axis `recovery`.

pub use duplicate_acks::DUPLICATE_ACKS;

#[cfg(test)]
mod adversary;
mod ambiguity;
pub mod bulk_repeat;
pub mod delayed_fast;
mod duplicate_acks;
pub mod fack;
mod go_back_n;
mod hole_cursor;
pub mod le;
pub mod momentary;
pub mod newreno;
pub mod prr;
pub mod rack;
mod rate_halving;
pub mod reno;
mod reordering_window;
pub mod robust;
pub mod rr_tcp;
mod rto_policy;
pub mod sack;
mod sack_fall_floyd;
pub mod shared;
#[cfg(test)]
mod storm;
pub mod tahoe;
pub mod tcp_dcr;
pub mod tcp_pr;
mod tlp;
mod two_lists;
mod window_reduction;
