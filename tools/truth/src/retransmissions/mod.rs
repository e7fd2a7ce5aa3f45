//! Diagnosed retransmissions, compared with the state of a simulated sender.

pub mod record;
pub mod score;
pub mod told;
pub mod transfers;
