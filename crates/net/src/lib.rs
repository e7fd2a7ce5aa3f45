//! Deterministic network simulator: links, queues, loss, sources, topologies.
//!
//! The modules, from the bottom up:
//!
//! | layer | modules | content |
//! | --- | --- | --- |
//! | values | [`ids`], [`units`], [`random`] | identifiers, rates, probabilities, random streams |
//! | one link | [`link`] | sans-I/O: packets and times go in, verdicts and arrivals come out |
//! | one radio channel | [`wireless`] | sans-I/O: IEEE 802.11 stations that share a channel |
//! | the fabric | [`event`], [`packet`], [`route`], [`fabric`] | many links, one clock, packets that hop along routes |
//! | the map | [`topology`], [`shapes`] | nodes, links, shortest paths; dumbbell, chain, radio |
//! | flows | [`flow`], [`tcp_flow`], [`udp_flow`], [`udp`], [`media`], [`media_flow`], [`video`], [`web`] | TCP transfers, datagram sources, real-time media, a video viewer, sizes of short flows |
//! | truth | [`truth`] | the actual fate of every packet, as opposed to the sender's beliefs |
//! | a run | [`network`], [`simulation`], [`report`] | set up, run, measure |
//! | measures | [`histogram`], [`series`], [`sampling`], [`observer`], [`trace_hash`] | statistics and traces of a run |
//! | adversity | [`hostile`], [`misbehaviour`] | random networks with every impairment at once, for tests; misbehaving receivers |
//!
//! Three rules hold everywhere:
//!
//! * Time is in integer nanoseconds. Two events that are due at the same nanosecond happen in the
//!   order in which they were inserted.
//! * All random numbers come from a [`random::Stream`], which depends only on the run's seed and on
//!   the name of the component that draws.
//! * No state grows with simulated time, and nothing is allocated per packet once the queues have
//!   reached their working size.

mod coalescing;
pub mod event;
pub mod fabric;
pub mod flow;
pub mod histogram;
pub mod hostile;
pub mod ids;
mod informed;
#[cfg(all(debug_assertions, not(test)))]
mod inner_loop;
pub mod link;
pub mod media;
pub mod media_flow;
pub mod misbehaviour;
pub mod network;
pub mod observer;
pub mod packet;
pub mod random;
mod reader;
pub mod report;
pub mod route;
pub mod sampling;
pub mod series;
pub mod shapes;
pub mod simulation;
pub mod tcp_flow;
pub mod topology;
pub mod trace_hash;
pub mod truth;
pub mod udp;
pub mod udp_flow;
pub mod units;
pub mod video;
pub mod web;
pub mod wireless;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Hash of this crate's sources, as sixteen hexadecimal digits, computed at build time. A stored run contains this
/// hash, so that it is not mistaken for a run of different code.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");
