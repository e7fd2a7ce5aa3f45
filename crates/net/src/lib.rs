//! The deterministic simulated network: links, queues, loss, sources, topologies.
//!
//! Read it from the bottom up:
//!
//! | layer | modules | what it is |
//! | --- | --- | --- |
//! | values | [`ids`], [`units`], [`random`] | names of things, rates, probabilities, random streams |
//! | one link | [`link`] | sans-I/O: packets and times go in, verdicts and arrivals come out |
//! | one radio channel | [`wireless`] | sans-I/O: IEEE 802.11 stations that share a channel |
//! | the fabric | [`event`], [`packet`], [`route`], [`fabric`] | many links, one clock, packets that hop along routes |
//! | the map | [`topology`], [`shapes`] | nodes, links, shortest paths; dumbbell, chain, radio |
//! | flows | [`flow`], [`tcp_flow`], [`udp_flow`], [`udp`], [`media`], [`media_flow`], [`video`], [`web`] | TCP transfers, datagram sources, real-time media, a viewer, sizes of short flows |
//! | truth | [`truth`] | what really happened, beside what the sender believes |
//! | a run | [`network`], [`simulation`], [`report`] | set up, run, measure |
//! | measures | [`histogram`], [`series`], [`sampling`], [`observer`], [`trace_hash`] | what may be asked of a run |
//! | adversity | [`hostile`], [`misbehaviour`] | random networks that do everything wrong at once, for tests; receivers that lie |
//!
//! Three rules hold everywhere:
//!
//! * Time is integer nanoseconds. Two things due at the same nanosecond happen in the order in
//!   which they were inserted.
//! * A random number comes only from a [`random::Stream`], which depends on the run's seed and
//!   on the name of the component that draws, and on nothing else.
//! * Nothing grows with simulated time, and nothing is allocated per packet once queues have
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

/// The README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The hash of this crate's sources: sixteen hexadecimal digits, made when it is built. A stored run
/// names it, so that it is not taken for one of other code.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");
