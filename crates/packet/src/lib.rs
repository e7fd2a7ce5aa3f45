//! TCP/IP packets as bytes, and capture files.
//!
//! | module | contents |
//! | --- | --- |
//! | [`emit`](mod@emit) | writes a segment of a [connection](dupack_tcp::connection) as an IPv4 or IPv6 packet |
//! | [`parse`](mod@parse) | parses a packet as a host does: complete, with lengths and checksums verified |
//! | [`options`] | TCP options, written and parsed |
//! | [`icmp`] | parses and writes the ICMP messages that concern a connection |
//! | [`captured`] | reads captures of any origin, packet by packet: any link type, truncated or damaged |
//! | [`capture`] | writes pcapng files that Wireshark and tcptrace can read |
//! | [`flow`] | adds headers and payload to a simulated flow, which has neither |
//!
//! The crate does not depend on sockets, devices or an operating system, and can be built for wasm32.

pub mod capture;
pub mod captured;
mod copy;
pub mod emit;
pub mod flow;
pub mod icmp;
pub mod options;
pub mod parse;

pub use capture::{CaptureError, CaptureTime, CaptureWriter, Snap};
pub use copy::CopyWriter;
pub use emit::{Checksum, EmitError, Envelope, emit};
pub use flow::{Direction, Endpoints, FlowCapture, FlowConfig, Marking};
pub use icmp::{IcmpNotice, parse_icmp};
pub use options::{Options, Order, Timestamps};
pub use parse::{ParseError, Parsed, Verify, parse};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
