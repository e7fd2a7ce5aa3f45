//! What limited a TCP transfer, read off a capture of it.
//!
//! Packets go one way through it:
//!
//! ```text
//! capture ─ wire::captured ─► Packet ─► connections ─► one stream of data, as its sender saw it
//!                                                        │  (tcp::replay; ACKs wait until they were there)
//!                                                        ├─► explain: why each segment was sent again
//!                                                        ├─► budget: what every instant was limited by
//!                                                        ├─► path: round trip, rate, buffer, losses
//!                                                        └─► sender: which one it was
//! ```
//!
//! Every analysis is told the same two things, in the order of the sender's time: a segment left
//! ([`Departure`]), an ACK came ([`Arrival`]). None keeps packets: what it holds is bounded, so that
//! captures of any length and thousands of connections fit. Who wants every packet of one connection, a
//! figure for example, reads the capture once more and looks on by itself ([`Analysis`]).

pub mod cause;
pub mod moment;
pub mod told;
pub mod vantage;

pub use cause::{Cause, Repeat, Retransmission};
pub use moment::{Analysis, Arrival, Departure, Explained, Stage};
pub use told::Told;
pub use vantage::Vantage;
