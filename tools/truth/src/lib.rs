//! Simulated transfers with known truth, captured at both ends, and scores of their diagnoses.
//!
//! | module | compared with the truth |
//! | --- | --- |
//! | [`retransmissions`] | the cause and the need of each retransmission |
//! | [`limits`] | the budget of time, and the stalls |
//! | [`senders`] | recovery and congestion control |
//! | [`paths`] | round-trip time, rate, buffer and losses; the transfer times of other senders |
//! | [`several`] | several transfers in one capture, over one bottleneck or several |
//! | [`both`] | two captures, joined |
//! | [`script`] | captures written packet by packet |
//!
//! The tests run only some of the transfers. The programs in `validation/diagnosis` print tables of all transfers.

#![allow(
    missing_docs,
    reason = "support for tests: the names of measured quantities explain themselves"
)]

pub mod both;
pub mod limits;
pub mod paths;
pub mod retransmissions;
pub mod script;
pub mod senders;
pub mod several;
