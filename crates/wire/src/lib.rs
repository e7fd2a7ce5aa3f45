//! TCP/IP on the wire: real connections over real packets, and capture files that other tools
//! read.
//!
//! [`emit`](emit()) writes a [connection](dupack_tcp::connection)'s segment as an IPv4 or IPv6
//! packet, [`parse`](parse()) reads one, [`parse_icmp`] what is said of one, and [`Secret`] makes the numbers that strangers must
//! not guess.
//!
//! On Linux there is the rest of a testbed, from the bottom up:
//!
//! | module | what it is |
//! | --- | --- |
//! | `namespace` | network namespaces that vanish with the process |
//! | `device` | where packets come from and go to: what the following stand on; a pair in memory |
//! | `tun` | a TUN device of the kernel's, with offload where it has it |
//! | `path` | the simulator's links in real time between two devices |
//! | `host` | connections over a device, and what uses them |
//! | `transfer` | one transfer over a path to a kernel that receives, every byte checked |
//!
//! A simulated flow has no headers and no payload. [`FlowCapture`] gives it both: it dresses up
//! what a sender and a receiver exchanged as one TCP connection, handshake included, and
//! [`capture`] writes the packets to a pcapng file, so that Wireshark and tcptrace analyse it as
//! they would a real one. The other way round, [`captured`] reads anybody's capture, packet by packet.

pub mod capture;
pub mod captured;
#[cfg(target_os = "linux")]
pub mod clock;
mod copy;
#[cfg(target_os = "linux")]
pub mod device;
pub mod emit;
mod family;
pub mod flow;
#[cfg(target_os = "linux")]
pub mod host;
pub mod icmp;
pub mod isn;
#[cfg(target_os = "linux")]
pub mod namespace;
pub mod options;
pub mod parse;
#[cfg(target_os = "linux")]
pub mod path;
#[cfg(target_os = "linux")]
mod poll;
#[cfg(target_os = "linux")]
mod processor;
#[cfg(target_os = "linux")]
pub mod transfer;
#[cfg(target_os = "linux")]
pub mod tun;

pub use capture::{CaptureError, CaptureTime, CaptureWriter, Snap};
pub use copy::CopyWriter;
pub use emit::{Checksum, EmitError, Envelope, emit};
pub use family::Family;
pub use flow::{Direction, Endpoints, FlowCapture, FlowConfig, Marking};
pub use icmp::{IcmpNotice, parse_icmp};
pub use isn::Secret;
pub use options::{Options, Order, Timestamps};
pub use parse::{ParseError, Parsed, Verify, parse};

/// The README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
