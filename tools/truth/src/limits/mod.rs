//! The time budget and the stalls, compared with the state of a simulated sender.

pub mod account;
pub mod cases;
pub mod dress;
pub mod lot;
pub mod off;
pub mod tape;
