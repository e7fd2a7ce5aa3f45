//! TCP/IP on the wire: capture files that other tools read.
//!
//! A simulated flow has no headers and no payload. [`codec`] gives it both, [`capture`] writes
//! the packets to a pcapng file, and [`FlowCapture`] puts the two together: it dresses up what
//! a sender and a receiver exchanged as one TCP connection, handshake included, so that
//! Wireshark and tcptrace analyse it as they would a real one.
//!
//! Deliberately absent: the parsing of packets, and anything that touches a network.

pub mod capture;
pub mod codec;
pub mod flow;
pub mod options;

pub use capture::{CaptureError, CaptureTime, CaptureWriter, Snap};
pub use codec::{CodecError, Control, Direction, Endpoints, Packet, Route, WireSegment};
pub use flow::{FlowCapture, FlowConfig};
pub use options::{Options, Order, Timestamps};
