//! Integration tests of this crate, in a single program.

mod bbr;
mod goodput_over_time;
mod l4s;
mod misbehaving_receivers;
mod oracle;
mod paths_and_sources;
mod phase;
mod queues;
mod queues_both_ways;
mod trace_hashes;
mod trace_of_several;
