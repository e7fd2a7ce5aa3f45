//! Explanations of the events of a stream, and the limits of its time.
//!
//! [`explain`] comes first: it says why each segment was retransmitted and where the sender stands. [`budget`], [`stalls`] and [`signs`]
//! build on its answers.
//! [`requests`] is told of the turns of both streams, and [`hints`] looks up what they begin with; [`groups`] add up the findings of
//! connections.

pub mod budget;
pub mod cause;
pub mod explain;
pub mod groups;
pub mod hints;
pub mod requests;
pub mod signs;
pub mod stalls;
