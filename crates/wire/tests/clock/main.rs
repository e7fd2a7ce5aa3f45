//! Tests that use the wall clock: they run alone.

mod lone_peer;

mod forged_icmp;
mod room;
mod strangers;
mod time_wait;
mod two_hosts;
