//! The cause of a TCP transfer's duration, read off a capture of it.
//!
//! Packets pass through it in one direction:
//!
//! ```text
//! packet::captured ─► Packet ─► connections ─► one stream of data, as its sender saw it           read/
//!                                               │  (tcp::replay; ACKs wait until the sender has them)
//!                                               ├─► explain: why each segment was retransmitted    analyse/
//!                                               ├─► budget: the limit at every instant
//!                                               ├─► stalls: times in which nothing happened
//!                                               ├─► requests: turns of both streams, and their time
//!                                               ├─► path: round trip, rate, buffer, losses          path/
//!                                               └─► sender: recovery, control, timers               sender/
//!                                                     │
//!                                                     └─► findings ─► groups: sums by server; shared bottlenecks
//! ```
//!
//! Every analysis is told the same two things, in the order of the sender's time: a segment left
//! ([`Departure`]), an ACK came ([`Arrival`]). None keeps packets: what it holds is bounded, so that
//! captures of any length and thousands of connections fit. A figure, which needs every packet of one connection, reads
//! the capture once more and follows that connection ([`Analysis`]).
//!
//! This crate knows no words, no pages and no experiments: `dupack-diagnosis-tell` makes them of the findings.

pub mod analyse;
pub mod both;
pub mod consistency;
mod diagnose;
pub mod doubt;
pub mod findings;
mod grow;
pub mod path;
pub mod read;
mod selection;
pub mod sender;
pub mod shared;
#[cfg(test)]
mod testing;
pub mod told;
pub mod untold;

pub use analyse::cause::{Cause, Class, Need, Repeat, Retransmission};
pub use analyse::explain::Explainer;
pub use analyse::requests::{Request, Requests};
pub use diagnose::{Continue, Diagnosis, Extent, Watch, diagnose, each_packet};
pub use findings::{ConnectionFindings, Flow, StreamFindings};
pub use path::{Path, Survey};
pub use read::connection::Connection;
pub use read::counts::Counts;
pub use read::filter::{Filter, FilterError};
pub use read::follow::{Attention, Beginning, Follower, Nobody, Onlooker, StreamId, Timer};
pub use read::moment::{Analysis, Arrival, Departure, Explained, Stage};
pub use read::packet::Packet;
pub use read::side::{Both, Side};
pub use read::stream::Stream;
pub use read::table::{Limits, Table};
pub use read::time_range::{TimePoint, TimeRange};
pub use read::vantage::Vantage;
pub use selection::{LeftOut, Selection, Selector};
pub use told::Told;
