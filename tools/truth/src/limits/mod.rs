//! The budget of time and the stalls, beside what a simulated sender knew.

pub mod account;
pub mod cases;
pub mod dress;
pub mod lot;
pub mod off;
pub mod tape;
