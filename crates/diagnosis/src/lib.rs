//! Causes of the duration of TCP transfers, determined from a capture.
//!
//! Packets pass through the crate in one direction:
//!
//! ```text
//! packet::captured ─► Packet ─► connections ─► one data stream, as its sender saw it               read/
//!                                               │  (tcp::replay; ACKs wait until the sender has them)
//!                                               ├─► explain: cause of each retransmission          analyse/
//!                                               ├─► budget: the limit at every instant
//!                                               ├─► stalls: times without progress
//!                                               ├─► requests: turns of both streams, and their time
//!                                               ├─► path: round trip, rate, buffer, losses          path/
//!                                               └─► sender: recovery, control, timers               sender/
//!                                                     │
//!                                                     └─► findings ─► groups: totals by server; shared bottlenecks
//! ```
//!
//! Every analysis receives the same two events, in the order of the sender's time: the departure of a segment
//! ([`Departure`]) and the arrival of an ACK ([`Arrival`]). No analysis stores packets, so memory is bounded, and
//! captures of any length with thousands of connections can be analysed. A figure, which needs every packet of one
//! connection, reads the capture again and follows this connection ([`Analysis`]).
//!
//! This crate contains no texts, pages or experiments: `dupack-diagnosis-tell` produces these from the findings.

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
