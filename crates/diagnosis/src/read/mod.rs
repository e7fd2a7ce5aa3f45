//! Packets to events: packets are assigned to connections, and each stream is ordered by the time at its sender.
//!
//! A [`Table`](table::Table) finds the [`Connection`](connection::Connection) of a [`Packet`](packet::Packet). A
//! connection omits copies, reads the handshake, determines the capture point ([`Vantage`](vantage::Vantage)), and
//! passes data and ACKs to its two [`Stream`](stream::Stream)s, which report [`Departure`](moment::Departure)s and
//! [`Arrival`](moment::Arrival)s to their [`Follower`](follow::Follower).

pub mod connection;
pub(crate) mod copies;
pub mod counts;
pub mod ending;
pub mod filter;
pub mod follow;
pub mod handshake;
pub mod moment;
mod nearness;
pub mod order;
pub mod packet;
mod scale;
mod seen;
mod segment_size;
pub mod side;
pub mod silence;
pub mod stream;
pub mod table;
pub mod time_range;
pub mod turns;
pub mod vantage;
mod waiting;
mod ways;
pub(crate) mod workers;
