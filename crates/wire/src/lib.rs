//! TCP/IP on the wire: packets of a real connection, and capture files that other tools read.
//!
//! [`emit`](emit()) writes a [connection](dupack_tcp::connection)'s segment as an IPv4 or IPv6
//! packet, [`parse`](parse()) reads one, and [`Secret`] makes the numbers that strangers must
//! not guess.
//!
//! A simulated flow has no headers and no payload. [`codec`] gives it both, [`capture`] writes
//! the packets to a pcapng file, and [`FlowCapture`] puts the two together: it dresses up what
//! a sender and a receiver exchanged as one TCP connection, handshake included, so that
//! Wireshark and tcptrace analyse it as they would a real one.

pub mod capture;
pub mod codec;
pub mod emit;
pub mod flow;
pub mod isn;
pub mod options;
pub mod parse;

pub use capture::{CaptureError, CaptureTime, CaptureWriter, Snap};
pub use codec::{CodecError, Control, Direction, Endpoints, Packet, Route, WireSegment};
pub use emit::{Checksum, EmitError, Envelope, emit};
pub use flow::{FlowCapture, FlowConfig};
pub use isn::Secret;
pub use options::{Options, Order, Timestamps};
pub use parse::{ParseError, Parsed, Verify, parse};
