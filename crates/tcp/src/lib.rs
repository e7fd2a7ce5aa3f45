//! Sans-I/O TCP endpoint: a [`Sender`] and a [`Receiver`] without clocks, sockets, threads, payload or random numbers,
//! and four plug-in traits for the sender's loss recovery and congestion control. A
//! [`Connection`](connection::Connection) combines both for real packets, and opens and closes as RFC 9293 specifies.
//!
//! The host passes in packets and the time, and takes out segments, ACKs and the time of the next wake-up. The same
//! code runs in a simulation and on real packets.
//!
//! ```text
//!             Stack: one choice on each axis
//!   Recovery   CongestionControl   Differentiation   Response
//!       │              │                 │               │
//!       └── values ────┴──── values ─────┴─── values ────┘
//!                              │
//!   Ack ──▶ Sender (scoreboard, RTT, timers, window) ──▶ Transmit
//!   DataSegment ──▶ Receiver (reassembly, delayed ACK, SACK) ──▶ Ack
//! ```
//!
//! Plug-ins get [`facts`] and a read-only view, and return values. A plug-in cannot change the sender, so each plug-in
//! can be read and tested alone.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod accurate_ecn;
pub mod congestion;
pub mod connection;
pub mod differentiation;
pub mod facts;
pub mod options;
mod reassembly;
pub mod receiver;
pub mod recovery;
pub mod replay;
pub mod response;
pub mod rtt;
pub mod scoreboard;
pub mod segment;
pub mod sender;
pub mod seq;
mod stack;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod undo;
pub mod window;

pub use receiver::{Receiver, ReceiverConfig};
pub use sender::{Sender, SenderConfig, Transmit};
pub use stack::Stack;

/// Tests the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Hash of this crate's sources: sixteen hexadecimal digits, computed by the build. A stored run contains this hash, so
/// that it cannot be mistaken for a run of different code.
pub const SOURCE_HASH: &str = env!("DUPACK_SOURCE_HASH");
