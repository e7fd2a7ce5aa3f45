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

pub mod annotate;
pub mod asking;
pub mod budget;
pub mod cause;
pub mod compose;
pub mod connection;
mod copies;
pub mod counts;
pub mod explain;
pub mod figures;
pub mod film;
pub mod findings;
pub mod follow;
pub mod handshake;
mod headline;
pub mod keys;
pub mod moment;
pub mod numbers;
pub mod packet;
pub mod page;
pub mod path;
mod seen;
mod segment_size;
pub mod sender;
pub mod side;
pub mod stalls;
pub mod story;
pub mod stream;
pub mod summary;
pub mod table;
#[cfg(test)]
mod testing;
pub mod told;
pub mod vantage;
mod waiting;
mod ways;
pub mod whatif;
pub mod words;
mod workers;

pub use cause::{Cause, Class, Need, Repeat, Retransmission};
pub use compose::{Continue, Diagnosis, Extent, Watch, diagnose};
pub use connection::Connection;
pub use counts::Counts;
pub use explain::Explainer;
pub use findings::{ConnectionFindings, Flow, StreamFindings};
pub use follow::{Attention, Beginning, Follower, Nobody, Onlooker, StreamId, Timer};
pub use moment::{Analysis, Arrival, Departure, Explained, Stage};
pub use packet::Packet;
pub use path::{Path, Survey};
pub use side::{Both, Side};
pub use stream::Stream;
pub use table::{Limits, Table};
pub use told::Told;
pub use vantage::Vantage;
pub use whatif::WhatIf;
