//! Simulated transfers whose truth is known, captured at both ends, and scores of what a diagnosis says of them.
//!
//! | module | what is held against the truth |
//! | --- | --- |
//! | [`retransmissions`] | the cause and the need of each retransmission |
//! | [`limits`] | the budget of time, and the stalls |
//! | [`senders`] | recovery and congestion control |
//! | [`paths`] | round trip, rate, buffer and losses; the time that other senders would have taken |
//! | [`several`] | several transfers in one capture, over one bottleneck or several |
//! | [`both`] | two captures, joined |
//! | [`script`] | captures written packet by packet |
//!
//! Tests run a part of them; the programs in `validation/` print the tables.

#![allow(
    missing_docs,
    reason = "a tool of the tests: names of measured quantities say what they are"
)]

pub mod both;
pub mod limits;
pub mod paths;
pub mod retransmissions;
pub mod script;
pub mod senders;
pub mod several;
