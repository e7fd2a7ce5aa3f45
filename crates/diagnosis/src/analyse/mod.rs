//! Explanations of the events of a stream, and the limits of its time.
//!
//! [`explain`] comes first: it determines the cause of each retransmission and the stage of the sender. [`budget`],
//! [`stalls`] and [`signs`] use its results. [`requests`] observes the turns of both streams, and [`hints`] identifies
//! their protocols by their first bytes. [`groups`] adds up the findings of connections.

pub mod budget;
pub mod cause;
pub mod explain;
pub mod groups;
pub mod hints;
pub mod requests;
pub mod signs;
pub mod stalls;
