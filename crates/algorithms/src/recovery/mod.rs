//! The plug-ins of the axis `recovery`.

#[cfg(test)]
mod adversary;
mod ambiguity;
mod duplicate_acks;
pub mod fack;
mod go_back_n;
mod hole_cursor;
pub mod le;
pub mod momentary;
pub mod newreno;
pub mod prr;
pub mod rack;
pub mod reno;
mod reordering_window;
mod rto_policy;
pub mod sack;
mod sack_fall_floyd;
#[cfg(test)]
mod storm;
pub mod tahoe;
mod tlp;
mod two_lists;
