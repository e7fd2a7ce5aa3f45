//! Tests that depend on the wall clock and therefore run alone.

mod lone_peer;

mod forged_icmp;
mod room;
mod strangers;
mod time_wait;
mod two_hosts;
