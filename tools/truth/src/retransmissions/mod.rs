//! Retransmissions, beside what a simulated sender knew of them.

pub mod record;
pub mod score;
pub mod told;
pub mod transfers;
